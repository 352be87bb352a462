import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { gweiCeil } from '../../core/units/wei.js';
import { encodeWith } from '../chain/support/account.js';
import { sendAs } from '../chain/support/send-as.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { sharedPostgres, type SharedPostgres } from '../support/postgres.js';
import { followDevChain, type FollowedDevChain } from './support/followed-dev-chain.js';
import { onOneProcess } from './support/stores.js';

// A node answers `eth_getLogs` with an empty list; it may be one of several nodes behind one URL. The limits and deposits of an
// operation that it hides must not be promised again.

let devChain: DevChain;
let it: FollowedDevChain;
let postgres: SharedPostgres | undefined;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

const onceADay = { count: 1 };
const nothing = { logs: () => Promise.resolve([]) };

describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    postgres = store === 'the embedded store' ? undefined : await sharedPostgres();
  });
  afterAll(() => postgres?.stop());

  describe.each(['1.1.0', '2.0.0', 'singleton-0.8', 'verifying-0.7'])('profile %s', (version) => {
    beforeEach(async () => {
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
    });
    afterEach(() => it.stop());

    test('an operation that was mined behind empty answers still fills its limit, and settles from the logs of another node', async () => {
      const account = await it.newAccount();
      const promised = await it.sponsor(account, await it.operation(account), onceADay);
      it.lie(nothing);
      const { event } = await handleOp(devChain, it.profile.entryPointVersion, promised!.signed);
      await it.settle();
      await it.pass(4_000);
      expect(await it.settle()).toMatchObject({ settled: 0, released: 0, forfeited: 0 });
      const next = await it.newAccount();
      expect(await it.sponsor(next, await it.operation(next), onceADay)).toBeUndefined();

      // The service asks the honest connection some blocks later.
      await it.pass(60, 5);
      expect(await it.settle()).toMatchObject({ settled: 1, released: 0, unattributed: 0 });
      expect(await it.used()).toEqual([1, gweiCeil(event.actualGasCost)]);
      expect(await it.sponsor(next, await it.operation(next), onceADay)).toBeUndefined();
    });

    test('an operation that was never mined is still released, and an honest user is served', async () => {
      const account = await it.newAccount();
      await it.sponsor(account, await it.operation(account), onceADay);
      it.lie(nothing);
      await it.pass(4_000);
      expect(await it.settle()).toMatchObject({ released: 1 });
      const next = await it.newAccount();
      expect(await it.sponsor(next, await it.operation(next), onceADay)).toBeDefined();
    });
  });

  describe('a nonce that an account uses up without an operation', () => {
    beforeEach(async () => {
      it = await followDevChain(devChain, '2.0.0', postgres);
      await it.settle();
    });
    afterEach(() => it.stop());

    test('keeps the maximum of its limits, and frees deposits 64 blocks later', async () => {
      const account = await it.newAccount();
      const promised = await it.sponsor(account, await it.operation(account), onceADay);
      const abi = new Interface(['function incrementNonce(uint192 key)']);
      await sendAs(devChain, account.address, {
        to: devChain.deployments.entryPoints[it.profile.entryPointVersion],
        data: encodeWith(abi, 'incrementNonce', [0]),
      });
      await it.pass(4_000);
      expect(await it.settle()).toMatchObject({ released: 0, forfeited: 0 });
      expect(await it.live()).toBe(1);
      for (const blocks of [5, 20, 60]) {
        await it.pass(60, blocks);
        await it.settle();
      }
      expect(await it.live()).toBe(0);
      expect(await it.used()).toEqual([1, gweiCeil(promised!.request.promise.prefundWei)]);
      const next = await it.newAccount();
      expect(await it.sponsor(next, await it.operation(next), onceADay)).toBeUndefined();
    });
  });
});
