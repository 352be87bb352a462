import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeUserOperationEvent } from '../../core/entry-point/user-operation-event.js';
import { parseAddress } from '../../core/units/address.js';
import { gweiCeil } from '../../core/units/wei.js';
import { asHex } from '../chain/support/account.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { encodeHandleOps, handleOp } from '../chain/support/handle-ops.js';
import { sharedPostgres, type SharedPostgres } from '../support/postgres.js';
import { followDevChain, type FollowedDevChain, type Promised } from './support/followed-dev-chain.js';
import { onReplicas } from './support/stores.js';

// An attacker gets several promises for one nonce and mines the one that suits him.

let devChain: DevChain;
let it: FollowedDevChain;
let postgres: SharedPostgres | undefined;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());
afterEach(() => it.stop());

const cheap = { callGasLimit: 50_000n };
const dear = { callGasLimit: 2_000_000n, preVerificationGas: 1_000_000n };

/** Calls the address in the first word with the rest of its call data. */
const forwarder = parseAddress(`0x${'f0'.repeat(20)}`);
const forwarderCode = '0x602036038060206000376000600082600060006000355af115601d57005b60006000fd';

/** Through another contract: the transaction does not call the EntryPoint itself, so its data do not show the operation's bytes. */
async function minedThroughAnother({ signed }: Promised) {
  const { chain, deployments, transactor } = devChain;
  const { entryPointVersion } = it.profile;
  await chain.request('anvil_setCode', [forwarder, forwarderCode]);
  const target = deployments.entryPoints[entryPointVersion].slice(2).toLowerCase().padStart(64, '0');
  const data = asHex(`0x${target}${encodeHandleOps(entryPointVersion, [signed]).slice(2)}`);
  const hash = await transactor.send('bundle', { to: forwarder, data });
  const { number } = (await chain.block('latest'))!;
  const logs = await chain.logs({ fromBlock: number, toBlock: number });
  const ofBundle = logs.filter(({ transactionHash }) => transactionHash === hash);
  const [event] = ofBundle.flatMap((log) => decodeUserOperationEvent(log) ?? []);
  if (event === undefined) throw new Error('the bundle holds no operation');
  return event;
}

async function mined({ signed }: Promised) {
  return (await handleOp(devChain, it.profile.entryPointVersion, signed)).event;
}

describe.each(onReplicas)('on %s', (store) => {
  beforeAll(async () => {
    postgres = store === 'the embedded store' ? undefined : await sharedPostgres();
  });
  afterAll(() => postgres?.stop());

  // EntryPoint 0.6 takes no bundle with a payment that fails.
  describe.each(['singleton-0.7', 'singleton-0.8'])('profile %s', (version) => {
    beforeEach(async () => {
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
    });

    test('an unpaid token operation is a loss, whatever sponsorships were asked for its nonce', async () => {
      const account = await it.newAccount();
      const of = (change: object) => it.operation(account, change);
      await it.sponsor(account, await of(cheap));
      const attack = await it.promiseTokens(account, await of(dear));
      await it.promiseTokens(account, await of({ ...cheap, callGasLimit: 60_000n }));
      const { actualGasCost } = await mined(attack!);
      expect(await it.settle()).toMatchObject({ settled: 1, unpaid: 1, unattributed: 0 });
      expect(await it.losses(account)).toEqual([gweiCeil(actualGasCost), gweiCeil(actualGasCost)]);
      expect(await it.used()).toEqual([0, 0]);
    });

    test('a thousand requests of strangers for a nonce neither bar its account nor falsify what it spent', async () => {
      const account = await it.newAccount();
      const honest = await it.sponsor(account, await it.operation(account));
      for (let ask = 0; ask < 40; ask++)
        await it.promiseTokens(account, await it.operation(account, { callGasLimit: 70_000n + BigInt(ask) }));
      const { actualGasCost } = await mined(honest!);
      expect(await it.settle()).toMatchObject({ settled: 1, unpaid: 0, unattributed: 0 });
      expect(await it.used()).toEqual([1, gweiCeil(actualGasCost)]);
      expect(await it.losses(account)).toEqual([0, 0]);
    });
  });

  describe.each(['1.1.0', '2.0.0', 'singleton-0.7', 'verifying-0.7'])('profile %s', (version) => {
    beforeEach(async () => {
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
    });

    test('an operation that was signed with the leaked key stops the contract, also when its nonce was promised', async () => {
      const thief = await it.newAccount();
      await it.sponsor(thief, await it.operation(thief, cheap));
      await it.sponsor(thief, await it.operation(thief, { callGasLimit: 51_000n }));
      const other = await followDevChain(devChain, version, postgres);
      try {
        await other.settle();
        const forged = await other.sponsor(thief, await it.operation(thief, dear));
        await mined(forged!);
        expect(await it.settle()).toMatchObject({ settled: 0, unattributed: 1 });
        // For the paymaster that has promised it, it is an ordinary operation.
        expect(await other.settle()).toMatchObject({ settled: 1, unattributed: 0 });
        const honest = await it.newAccount();
        expect(await it.sponsor(honest, await it.operation(honest))).toBeUndefined();
        expect(await other.sponsor(honest, await it.operation(honest))).toBeDefined();
      } finally {
        await other.stop();
      }
    });
  });

  describe('through another contract, where the bytes cannot be read', () => {
    beforeEach(async () => {
      it = await followDevChain(devChain, 'singleton-0.7', postgres);
      await it.settle();
    });

    test('an unpaid token operation is a loss, and the cheaper promise is not charged', async () => {
      const account = await it.newAccount();
      await it.sponsor(
        account,
        await it.operation(account, {
          ...cheap,
          preVerificationGas: 30_000n,
          verificationGasLimit: 300_000n,
        }),
      );
      const attack = await it.promiseTokens(account, await it.operation(account, dear));
      const { actualGasCost } = await minedThroughAnother(attack!);
      expect(await it.settle()).toMatchObject({ settled: 1, unpaid: 1, unattributed: 0 });
      expect(await it.losses(account)).toEqual([gweiCeil(actualGasCost), gweiCeil(actualGasCost)]);
      expect(await it.used()).toEqual([0, 0]);
    });

    test('an operation that may be of either mode counts as both', async () => {
      const account = await it.newAccount();
      await it.sponsor(account, await it.operation(account, dear));
      const attack = await it.promiseTokens(account, await it.operation(account, dear));
      const { actualGasCost } = await minedThroughAnother(attack!);
      expect(await it.settle()).toMatchObject({ settled: 1, unpaid: 1 });
      // It may have been sponsored, so nobody is barred for it.
      expect(await it.losses(account)).toEqual([gweiCeil(actualGasCost), 0]);
      expect(await it.used()).toEqual([1, gweiCeil(actualGasCost)]);
    });

    test('control: an ordinary sponsorship in a bundle of a contract settles at what it cost', async () => {
      const account = await it.newAccount();
      const honest = await it.sponsor(account, await it.operation(account));
      const { actualGasCost } = await minedThroughAnother(honest!);
      expect(await it.settle()).toMatchObject({ settled: 1, unpaid: 0, unattributed: 0 });
      expect(await it.used()).toEqual([1, gweiCeil(actualGasCost)]);
    });

    test.each(['2.0.0', 'singleton-0.7'])(
      'an operation that was signed with the leaked key of %s stops the contract',
      async (version) => {
        await it.stop();
        it = await followDevChain(devChain, version, postgres);
        await it.settle();
        const other = await followDevChain(devChain, version, postgres);
        try {
          await other.settle();
          const thief = await it.newAccount();
          await minedThroughAnother((await other.sponsor(thief, await it.operation(thief)))!);
          expect(await it.settle()).toMatchObject({ unattributed: 1 });
          const honest = await it.newAccount();
          expect(await it.sponsor(honest, await it.operation(honest))).toBeUndefined();
        } finally {
          await other.stop();
        }
      },
    );
  });
});
