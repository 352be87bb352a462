import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { gweiCeil } from '../../core/units/wei.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { followDevChain, type FollowedDevChain, type Promised } from './support/followed-dev-chain.js';

// Several promises for one nonce, of which the attacker mines the one that suits him.

let devChain: DevChain;
let it: FollowedDevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());
afterEach(() => it.stop());

const cheap = { callGasLimit: 50_000n };
const dear = { callGasLimit: 2_000_000n, preVerificationGas: 1_000_000n };

async function mined({ signed }: Promised) {
  return (await handleOp(devChain, it.profile.entryPointVersion, signed)).event;
}

// EntryPoint 0.6 takes no bundle with a payment that fails.
describe.each(['singleton-0.7', 'singleton-0.8'])('profile %s', (version) => {
  beforeEach(async () => {
    it = followDevChain(devChain, version);
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

  test('a thousand asks of strangers for a nonce neither bar its account nor spoil what it spent', async () => {
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
    it = followDevChain(devChain, version);
    await it.settle();
  });

  test('an operation that was signed with the leaked key stops the contract, also behind a promise for its nonce', async () => {
    const thief = await it.newAccount();
    await it.sponsor(thief, await it.operation(thief, cheap));
    await it.sponsor(thief, await it.operation(thief, { callGasLimit: 51_000n }));
    const other = followDevChain(devChain, version);
    try {
      await other.settle();
      const forged = await other.sponsor(thief, await it.operation(thief, dear));
      await mined(forged!);
      expect(await it.settle()).toMatchObject({ settled: 0, unattributed: 1 });
      // To the one that has promised it, it is an operation like any other.
      expect(await other.settle()).toMatchObject({ settled: 1, unattributed: 0 });
      const honest = await it.newAccount();
      expect(await it.sponsor(honest, await it.operation(honest))).toBeUndefined();
      expect(await other.sponsor(honest, await it.operation(honest))).toBeDefined();
    } finally {
      await other.stop();
    }
  });
});
