import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { toAddressKey, type Address } from '../../core/units/address.js';
import { gweiCeil, divideUp } from '../../core/units/wei.js';
import { maxLost } from '../../core/paymaster/token-payment.js';
import { followDevChain, type FollowedDevChain } from '../attacks/support/followed-dev-chain.js';
import { mineRelayed } from '../attacks/support/relayed.js';
import { sendAs } from './support/send-as.js';
import { runs } from '../support/property.js';
import { balanceOf, sponsorBalance } from './support/balances.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { aFickleWallet, unlimited, type FickleWallet } from './support/fickle-wallet.js';
import { handleOps } from './support/handle-ops.js';
import { owedIn } from './support/hybrid.js';
import {
  approval,
  deployToken,
  mint,
  tokenCodecOf,
  tokenContract,
  tokenProfiles,
  tokenTerms,
  type Manners,
} from './support/tokens.js';
import { buildUserOp } from './support/user-op.js';

// What the usage store counts as lost, and the funds that it knows, against the balances on the chain: to the wei, operation by operation.

const gwei = 10n ** 9n;
const plenty = 10n ** 12n;
const manners = [
  'plain',
  'refusing',
  'frozen',
  'hungry',
  'exploding',
  'bombing',
  'idle',
] as const satisfies readonly Manners[];

const operation = fc.record({
  token: fc.oneof({ weight: 3, arbitrary: fc.constant('plain' as const) }, fc.constantFrom(...manners)),
  /** Whether the wallet allows the tokens before its operation. */
  isAllowedBefore: fc.boolean(),
  /** What its call leaves of the allowance, and of its tokens. */
  allowed: fc.constantFrom(0n, 777n, 100_000n, unlimited, unlimited),
  kept: fc.constantFrom(0n, 5_000n, unlimited, unlimited),
  fails: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
  /** Demanded in validation, where the contract can. */
  inAdvance: fc.boolean(),
  /** Without it a singleton contract cannot give back what it took too much. */
  doesTreasuryAllow: fc.boolean(),
  isRelayed: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
  callGasLimit: fc.bigInt({ min: 120_000n, max: 600_000n }),
  verificationGasLimit: fc.bigInt({ min: 200_000n, max: 1_500_000n }),
  preVerificationGas: fc.bigInt({ min: 21_000n, max: 200_000n }),
  maxFeeGwei: fc.bigInt({ min: 2n, max: 60n }),
  tipThousandths: fc.constantFrom(1n, 1_000n, 2_000n),
});
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

describe.each(tokenProfiles)('profile %s', (version) => {
  let followed: FollowedDevChain;
  const wallets = new Map<Manners, FickleWallet>();
  const tokens = new Map<Manners, Address>();
  let nonceKey = 0n;
  beforeAll(async () => {
    followed = await followDevChain(devChain, version);
    await followed.settle();
    for (const behaviour of manners) {
      const token = await deployToken(devChain, 6, behaviour);
      tokens.set(behaviour, token);
      const { entryPointVersion } = devChain.profile(version);
      const paymaster = tokenContract(devChain.profile(version));
      wallets.set(
        behaviour,
        await aFickleWallet(devChain, { version: entryPointVersion, token, paymaster, salt: 1 }),
      );
    }
  });
  afterAll(() => followed.stop());

  test('losses and funds follow the balances of contract and account to the wei, whatever wallets, tokens and bundlers do', async () => {
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(operation, async (chosen) => {
        const outcome = await mine(chosen);
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      }),
      { ...runs(50), endOnFailure: true },
    );
    // On 0.6 a singleton contract fails the bundle of an operation that does not pay.
    const outcomes = version === 'singleton-0.6' ? ['paid'] : ['paid', 'unpaid'];
    // A call that does not pay in full is undone there: what it left is not known then.
    const inPart = isHybrid() && version !== '1.1.0' ? ['paid in part'] : [];
    expect([...seen.keys()]).toEqual(expect.arrayContaining([...outcomes, ...inPart]));
  }, 400_000);

  /** Mines one operation, settles it, and compares. */
  async function mine(chosen: Operation): Promise<string> {
    const profile = devChain.profile(version);
    // A token that answers and moves nothing is believed in validation, and everywhere by contracts that are not ours. The platform
    // lists the tokens, and signs only where a simulated payment arrives.
    const isBelieved = !isHybrid() || chosen.isAllowedBefore;
    const behaviour = chosen.token === 'idle' && isBelieved ? 'refusing' : chosen.token;
    const [token, wallet] = [tokens.get(behaviour)!, wallets.get(behaviour)!];
    const { treasury } = devChain.deployments;
    await mint(devChain, token, wallet.address, plenty);
    await wallet.intend(chosen);
    await wallet.allowNow(chosen.isAllowedBefore ? unlimited : 0n);
    if (!isHybrid())
      await sendAs(devChain, treasury, approval(token, profile, chosen.doesTreasuryAllow ? unlimited : 0n));

    nonceKey += 1n;
    const op = await buildUserOp(wallet, [], {
      nonce: nonceKey << 64n,
      callData: await wallet.encodeCalls([]),
      callGasLimit: chosen.callGasLimit,
      verificationGasLimit: chosen.verificationGasLimit,
      preVerificationGas: chosen.preVerificationGas,
      maxFeePerGas: chosen.maxFeeGwei * gwei,
      maxPriorityFeePerGas: (chosen.tipThousandths * gwei) / 1_000n,
    });
    const inAdvance = chosen.inAdvance && version !== 'singleton-0.6';
    const plain = await tokenTerms(devChain, profile);
    const terms = {
      ...plain,
      token: toAddressKey(token),
      ...(inAdvance ? { inAdvance: true as const } : {}),
      options: isHybrid() ? plain.options : { ...plain.options, takesPreFund: true as const },
    };
    const promised = await followed.promiseTokens(wallet, op, terms);
    if (promised === undefined) return 'refused';
    const held = maxLost(tokenCodecOf(profile), op, terms, {
      need: tokenCodecOf(profile).need(op, terms.options),
      payer: isHybrid() ? toAddressKey(treasury) : undefined,
    });
    const before = await onChain(token);
    const counted = await lost();
    const canRelay = ['0.6', '0.7'].includes(profile.entryPointVersion);
    const owed = await (
      chosen.isRelayed && canRelay
        ? mineRelayed(devChain, profile.entryPointVersion, promised.signed).then(() => undefined)
        : handleOps(devChain, profile.entryPointVersion, [promised.signed]).then(
            ({ logs }) => owedIn(logs)[0],
          )
    ).catch(() => 'refused' as const);
    if (owed === 'refused') return 'refused';
    await followed.settle();

    const after = await onChain(token);
    const fell = before.worth - after.worth;
    const received = after.tokens - before.tokens;
    // A contract that did not get all says how much was due. Nobody reads the logs of a relayed operation here: all or nothing.
    const due = owed?.due ?? received;
    const unpaid =
      received > 0n && received >= due ? 0n : received === 0n ? fell : divideUp(fell * (due - received), due);
    expect(unpaid).toBeLessThanOrEqual(held);
    expect((await lost()) - counted).toBe(gweiCeil(unpaid));
    expect(await followed.funds()).toEqual(after.funds);
    return unpaid === 0n ? 'paid' : received > 0n ? 'paid in part' : 'unpaid';
  }

  const isHybrid = (): boolean => tokenCodecOf(devChain.profile(version)).tokenAccountCall !== undefined;

  async function lost(): Promise<number> {
    return (await followed.losses(wallets.get('plain')!))[0]!;
  }

  async function onChain(token: Address) {
    const { entryPoint, ...profile } = devChain.profile(version);
    const { treasury } = devChain.deployments;
    const contract = tokenContract({ entryPoint, ...profile });
    const deposit = await balanceOf(devChain, entryPoint, contract);
    const inside = isHybrid() ? await sponsorBalance(devChain, contract, treasury) : undefined;
    return {
      worth: inside ?? deposit,
      funds: [deposit, ...(inside === undefined ? [] : [inside])].map((wei) => Number(wei / gwei)),
      tokens: await balanceOf(devChain, token, treasury),
    };
  }
});
