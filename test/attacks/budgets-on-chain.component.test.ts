import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { LimitConfig } from '../../core/policy/spending-limit/schema.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { aLimitConfig } from '../build/configs.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOps, refusalOf } from '../chain/support/handle-ops.js';
import { revertTo } from '../chain/support/revert-to.js';
import { approval, mint, transfer } from '../chain/support/tokens.js';
import { buildUserOp, type SignedUserOp } from '../chain/support/user-op.js';
import { until } from '../support/until.js';
import { askingAsOwner, priceAt, sponsored } from './support/owner.js';
import { startService, type Served, type Service } from './support/service.js';
import { onReplicas } from './support/stores.js';
import { sendAs } from '../chain/support/send-as.js';
import { aDeployedAccount, explain, increment } from './support/wallet.js';

// A budget of an organisation, which its tenants share. One of them, or somebody with his key, tries to have it count less than the
// chain took, or to keep it from the others.

const version = 'singleton-0.7';
const entryPoint = '0.7';
const gwei = 10n ** 9n;
const fees = { maxFeePerGas: 40n * gwei };
const plenty = 10n ** 12n;

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

describe.each(onReplicas)('on %s', (store) => {
  let service: Service;
  const { request, mine, used, askOnceRead } = askingAsOwner(version, () => service);
  beforeAll(async () => {
    service = await startService(store, { devChain, versions: [version] });
    await price('3000');
  });
  afterAll(() => service.stop());

  const price = (rate: string) => service.changeChain((chain) => ({ ...chain, nativePrice: priceAt(rate) }));

  /** A paymaster under the budget of its organisation that has this name. */
  function under(name: string, paymasterId: string, change: Partial<LimitConfig> = {}): Promise<Served> {
    const budget = { policyId: `budget-${name}`, name, budget: true, thresholdType: 'USD' } as const;
    return service.paymaster('organisation', {
      paymasterId,
      objectName: paymasterId,
      configGeneration: service.now(),
      limits: [aLimitConfig({ ...budget, threshold: '2000', ...change })],
    });
  }

  /** Each settlement is rounded up, to a gwei and to a micro-dollar. */
  async function expectUsed(url: string, dollars: number): Promise<void> {
    expect(Math.abs((await used(url)) - dollars)).toBeLessThan(1e-4);
  }

  async function promised(shop: Served): Promise<SignedUserOp> {
    const { signed, reason } = await request(shop.url, fees);
    if (signed === undefined) throw new Error(`nothing was signed: ${String(reason)}`);
    return signed;
  }

  /** Promises until one is refused. */
  async function promisedUntilRefused(shop: Served) {
    const [ops, promises]: [FinalUserOperation[], SignedUserOp[]] = [[], []];
    for (;;) {
      const { reason, signed, op } = await request(shop.url, fees);
      if (signed === undefined || promises.length === 200) return { ops, promises, refusal: reason };
      ops.push(op);
      promises.push(signed);
    }
  }

  test('one key holds at most a quarter by promises, all paymasters of the organisation count, and what the chain took stays', async () => {
    const [stolen, honest] = [
      await under('month', 'stolen-of-budget'),
      await under('month', 'honest-of-budget'),
    ];
    const { promises, refusal } = await promisedUntilRefused(stolen);
    expect(refusal).toBe('BUDGET_SHARE_FULL');
    expect(await used(stolen.url)).toBeLessThanOrEqual(500);
    expect((await request(honest.url, fees)).reason).toBeUndefined();

    const dollars = dollarsOf(await mine(promises, 'stolen-of-budget'), 3000);
    // The honest paymaster's promise is still held.
    expect(await used(honest.url)).toBeGreaterThanOrEqual(dollars);
    // What was mined is held no longer. The thief can go on with new operations until the budget itself is spent.
    await service.deletePaymaster('stolen-of-budget');
    const again = await under('month', 'stolen-of-budget');
    expect(await used(again.url)).toBeGreaterThanOrEqual(dollars);
    const threshold = String(Math.floor(dollars));
    for (const paymasterId of ['stolen-of-budget', 'honest-of-budget'])
      await under('month', paymasterId, { threshold });
    for (const { url } of [again, honest])
      await until(
        'the smaller budget is in force',
        async () => (await request(url, fees)).reason === 'BUDGET_REACHED',
      );
  });

  test('promises that nobody mines leave the budget when they expire, and hold no more when they are asked for again', async () => {
    const [stolen, honest] = [await under('block', 'blocking'), await under('block', 'blocked')];
    const { ops, promises, refusal } = await promisedUntilRefused(stolen);
    expect(refusal).toBe('BUDGET_SHARE_FULL');
    const held = await used(honest.url);
    // The same operation again, from every replica.
    const [first] = ops;
    for (let nth = 0; nth < 3; nth += 1)
      expect((await askOnceRead(stolen.url, first!, sponsored)).reason).toBeUndefined();
    // With more gas it would hold more than the quarter has left.
    const dearer = { ...first!, callGasLimit: 4n * first!.callGasLimit + 1_000_000n };
    expect((await askOnceRead(stolen.url, dearer, sponsored)).reason).toBe('BUDGET_SHARE_FULL');
    expect(await used(honest.url)).toBe(held);

    await service.pass(700);
    await service.settled(0, 'blocking');
    expect(await used(honest.url)).toBe(0);
    expect(await refusalOf(devChain, entryPoint, [promises[0]!])).toContain('AA32');
    expect((await request(stolen.url, fees)).reason).toBeUndefined();
  });

  test('over a reorganisation an operation that is mined again counts once, and one that is not counts no longer', async () => {
    const { chain } = devChain;
    const shop = await under('reorganised', 'reorganised');
    const [again, lost] = [await promised(shop), await promised(shop)];
    const held = await used(shop.url);
    const before = await chain.request('evm_snapshot', []);
    await expectUsed(shop.url, dollarsOf(await mine([again, lost], 'reorganised'), 3000));

    await revertTo(chain, before);
    await chain.request('anvil_mine', ['0x1']);
    await service.settled(2, 'reorganised');
    expect(await used(shop.url)).toBe(held);
    // What is held again is a part of the quarter again.
    expect(await quarterOf(shop.url)).toBe(held);

    const { actualGasCost } = await mineOne(again, 1);
    await service.pass(700);
    await service.settled(0, 'reorganised');
    await expectUsed(shop.url, dollarsOf(actualGasCost, 3000));
    expect(await quarterOf(shop.url)).toBe(0);
  });

  test('what was promised before a jump of the price counts at the price of its promise, up and down, and the next at the new one', async () => {
    const shop = await under('jump', 'jump', { threshold: '20000' });
    const [cheap, other] = [await promised(shop), await promised(shop)];
    try {
      await price('12000');
      const dear = await promised(shop);
      let dollars = dollarsOf(await mineOf(cheap, 2), 3000);
      await price('30');
      dollars += dollarsOf(await mineOf(dear, 1), 12_000);
      dollars += dollarsOf(await mineOf(other, 0), 3000);
      await expectUsed(shop.url, dollars);
      dollars += dollarsOf(await mineOf(await promised(shop), 0), 30);
      await expectUsed(shop.url, dollars);
    } finally {
      await price('3000');
    }

    async function mineOf(op: SignedUserOp, left: number): Promise<bigint> {
      return (await mineOne(op, left, 'jump')).actualGasCost;
    }
  });

  test('what users pay for in tokens takes nothing of it, paid or not, and a sponsorship of the same nonce counts only when it is the one that is mined', async () => {
    const { feeToken } = devChain.deployments;
    const inTokens = { mode: 'ERC20', tokenInfo: { feeTokenAddress: feeToken.address } };
    // Nothing is left of it.
    const empty = await under('empty', 'empty-of-tokens', { threshold: '0' });
    const shop = await under('tokens', 'tokens');
    const payer = await aPayer();
    const op = await buildUserOp(payer, [increment(devChain)]);
    expect((await askOnceRead(empty.url, op, sponsored)).reason).toBe('BUDGET_REACHED');
    const paid = await askOnceRead(empty.url, op, inTokens, payer);
    await mine([paid.signed!], 'empty-of-tokens');
    expect(await used(empty.url)).toBe(0);

    // Both were promised, and the payment is mined: unpaid, it is a loss of the token mode.
    const thief = await aPayer();
    const both = await buildUserOp(thief, [increment(devChain)]);
    const unpaid = await askOnceRead(shop.url, both, inTokens, thief);
    expect((await askOnceRead(shop.url, both, sponsored)).reason).toBeUndefined();
    expect(await used(shop.url)).toBeGreaterThan(0);
    await sendAs(devChain, thief.address, transfer(feeToken.address, devChain.deployments.treasury, plenty));
    await mine([unpaid.signed!], 'tokens');
    expect(await used(shop.url)).toBe(0);
    expect(await lostOf(shop.url, both, inTokens)).toBeGreaterThan(0);

    // Both were promised, and the sponsorship is mined.
    const honest = await aPayer();
    const again = await buildUserOp(honest, [increment(devChain)]);
    const free = await askOnceRead(shop.url, again, sponsored, honest);
    expect((await askOnceRead(shop.url, again, inTokens)).reason).toBeUndefined();
    await expectUsed(shop.url, dollarsOf(await mine([free.signed!], 'tokens'), 3000));

    async function aPayer() {
      const account = await aDeployedAccount(devChain, version);
      await mint(devChain, feeToken.address, account.address, plenty);
      await sendAs(devChain, account.address, approval(feeToken.address, devChain.profile(version), plenty));
      return account;
    }
  });

  /** Mines one operation while so many promises of the paymaster are left. */
  async function mineOne(op: SignedUserOp, left: number, of = 'reorganised') {
    const { events } = await handleOps(devChain, entryPoint, [op]);
    await service.settled(left, of);
    return events[0]!;
  }

  /** Dollars of the quarter that the paymaster's promises hold. */
  async function quarterOf(url: string): Promise<number> {
    const op = await buildUserOp(await aDeployedAccount(devChain, version), [increment(devChain)]);
    let taken: number | undefined;
    await until('bounds are shown', async () => {
      const bounds = (await explain(url, op, sponsored))['bounds'] as readonly Bound[];
      taken = bounds.filter(({ unit }) => unit === 'dollars').map((bound) => Number(bound.taken))[0];
      return taken !== undefined;
    });
    return taken!;
  }
});

type Bound = { readonly unit: string; readonly taken: string };

/** Coins that the token mode of the contract has lost today. */
async function lostOf(...of: Parameters<typeof explain>): Promise<number> {
  const { losses } = await explain(...of);
  const [contract] = (losses as readonly { of: string; lost: string }[]).filter(
    ({ of }) => of === 'contract',
  );
  return Number(contract?.lost);
}

/** As budgets count what the chain took. */
function dollarsOf(wei: bigint, usdPerCoin: number): number {
  return (Number(wei) / 1e18) * usdPerCoin * 1.01;
}
