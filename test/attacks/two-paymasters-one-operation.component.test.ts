import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { gweiCeil } from '../../core/units/wei.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { tokenProfiles } from '../chain/support/tokens.js';
import { sharedPostgres, type SharedPostgres } from '../support/postgres.js';
import { followDevChain, type FollowedDevChain } from './support/followed-dev-chain.js';
import { mineRelayed } from './support/relayed.js';
import { onReplicas } from './support/stores.js';
import { aDeployedAccount } from './support/wallet.js';

// Two paymasters of one contract that promise the same operation in the same second sign the same bytes: nothing on the chain shows
// whose promise was mined.

let devChain: DevChain;
let it: FollowedDevChain;
let postgres: SharedPostgres | undefined;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());
afterEach(() => it.stop());

describe.each(onReplicas)('on %s', (store) => {
  beforeAll(async () => {
    postgres = store === 'the embedded store' ? undefined : await sharedPostgres();
  });
  afterAll(() => postgres?.stop());

  describe.each(tokenProfiles)('profile %s', (version) => {
    beforeEach(async () => {
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
    });

    test('a sponsorship counts for both, for at most what each has reserved, and bars nobody', async () => {
      const account = await aDeployedAccount(devChain, version);
      const op = await it.operation(account);
      const validUntil = (await devChain.time()) + 600;
      const first = await it.sponsor(account, op, { validUntil, paymasterId: 'pm-1' });
      const second = await it.sponsor(account, op, { validUntil, paymasterId: 'pm-2' });
      expect(second!.request.promise.digest).toBe(first!.request.promise.digest);
      // The stranger's paymaster has promised a token payment besides.
      await it.promiseTokens(account, op, { validUntil, paymasterId: 'pm-2' });
      const { event } = await handleOp(devChain, it.profile.entryPointVersion, first!.signed);
      expect(await it.settle()).toMatchObject({ settled: 2, unpaid: 0, unattributed: 0 });
      expect(await it.losses(account)).toEqual([0, 0]);
      // The limits of this test are shared by both paymasters.
      expect(await it.used()).toEqual([2, 2 * gweiCeil(event.actualGasCost)]);
      expect(await it.live()).toBe(0);
    });
  });

  // EntryPoints that take bundles from contracts.
  describe.each(['1.1.0', '2.0.0', 'singleton-0.6', 'singleton-0.7'])('profile %s', (version) => {
    beforeEach(async () => {
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
    });

    test('so does one of which nobody can read the bytes, although one of them has promised a token payment too', async () => {
      const account = await aDeployedAccount(devChain, version);
      const op = await it.operation(account);
      const validUntil = (await devChain.time()) + 600;
      const first = await it.sponsor(account, op, { validUntil, paymasterId: 'pm-1' });
      await it.sponsor(account, op, { validUntil, paymasterId: 'pm-2' });
      await it.promiseTokens(account, op, { validUntil, paymasterId: 'pm-2' });
      const cost = await mineRelayed(devChain, it.profile.entryPointVersion, first!.signed);
      expect(await it.settle()).toMatchObject({ settled: 2, unpaid: 0, unattributed: 0 });
      expect(await it.losses(account)).toEqual([0, 0]);
      expect(await it.used()).toEqual([2, 2 * cost]);
    });
  });

  // Where the contract collects after the call and undoes a call that does not pay, nothing is mined unpaid.
  describe.each(['singleton-0.7', 'singleton-0.8'])('profile %s', (version) => {
    beforeEach(async () => {
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
    });

    test('a token payment that paid nothing is one loss, although two have promised it', async () => {
      const account = await it.newAccount();
      const op = await it.operation(account);
      const validUntil = (await devChain.time()) + 600;
      const first = await it.promiseTokens(account, op, { validUntil, paymasterId: 'pm-1' });
      await it.promiseTokens(account, op, { validUntil, paymasterId: 'pm-2' });
      const { event } = await handleOp(devChain, it.profile.entryPointVersion, first!.signed);
      const cost = gweiCeil(event.actualGasCost);
      expect(await it.settle()).toMatchObject({ settled: 2, unpaid: 1, unattributed: 0 });
      expect(await it.losses(account)).toEqual([cost, cost]);
      expect(await it.live()).toBe(0);
    });
  });
});
