import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeUserOperationEvent } from '../../core/entry-point/user-operation-event.js';
import { toAddressKey } from '../../core/units/address.js';
import { gweiCeil } from '../../core/units/wei.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { wrappedHandleOpsData } from '../adversary/chain/handle-ops-data.js';
import type { BundledOperation } from '../adversary/chain/operations.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { tokenProfiles } from '../chain/support/tokens.js';
import { sharedPostgres, type SharedPostgres } from '../support/postgres.js';
import { until } from '../support/until.js';
import { followDevChain, type FollowedDevChain, type Promised } from './support/followed-dev-chain.js';
import { onOneProcess } from './support/stores.js';
import { aDeployedAccount } from './support/wallet.js';

// Offsets in call data count modulo 2^256, so they may point backwards. A bundle of that form hid which promise it carried: a
// sponsorship counted as the unpaid token payment of the same nonce, and its honest account was barred.

let devChain: DevChain;
let it: FollowedDevChain;
let postgres: SharedPostgres | undefined;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());
afterEach(() => it.stop());

/** Resolves with the operation's actual cost in gwei. */
async function minedWithWrappedOffsets({ signed }: Promised): Promise<number> {
  const { chain, deployments, transactor } = devChain;
  const { entryPointVersion: version } = it.profile;
  const to = deployments.entryPoints[version];
  const beneficiary = toAddressKey(devAccounts.treasury.address);
  const { number } = (await chain.block('latest'))!;
  await transactor.send('bundle', {
    to,
    data: wrappedHandleOpsData(version, [signed as BundledOperation], beneficiary),
  });
  await until('the bundle is mined', async () => (await chain.block('latest'))!.number > number);
  const logs = await chain.logs({ fromBlock: number + 1, toBlock: number + 1, address: to });
  const [event] = logs.flatMap((log) => decodeUserOperationEvent(log) ?? []);
  if (event === undefined) throw new Error('the bundle holds no operation');
  return gweiCeil(event.actualGasCost);
}

describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    postgres = store === 'the embedded store' ? undefined : await sharedPostgres();
  });
  afterAll(() => postgres?.stop());

  describe.each(tokenProfiles)('profile %s', (version) => {
    beforeEach(async () => {
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
    });

    test('a sponsorship counts as a sponsorship, although a token payment was promised for its nonce', async () => {
      const account = await aDeployedAccount(devChain, version);
      const sponsored = await it.sponsor(account, await it.operation(account));
      await it.promiseTokens(account, await it.operation(account));
      const cost = await minedWithWrappedOffsets(sponsored!);
      expect(await it.settle()).toMatchObject({ settled: 1, unpaid: 0, unattributed: 0 });
      expect(await it.losses(account)).toEqual([0, 0]);
      expect(await it.used()).toEqual([1, cost]);

      const next = await it.newAccount();
      const served = await it.sponsor(next, await it.operation(next));
      const { event } = await handleOp(devChain, it.profile.entryPointVersion, served!.signed);
      expect(await it.settle()).toMatchObject({ settled: 1, unattributed: 0 });
      expect(await it.used()).toEqual([2, cost + gweiCeil(event.actualGasCost)]);
    });
  });

  // Where the contract collects after the call and undoes a call that does not pay, nothing is mined unpaid.
  describe.each(['singleton-0.7', 'singleton-0.8'])('profile %s', (version) => {
    beforeEach(async () => {
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
    });

    test('a token payment that paid nothing is a loss, although a sponsorship was promised for its nonce', async () => {
      const account = await it.newAccount();
      await it.sponsor(account, await it.operation(account));
      const attack = await it.promiseTokens(account, await it.operation(account));
      const cost = await minedWithWrappedOffsets(attack!);
      expect(await it.settle()).toMatchObject({ settled: 1, unpaid: 1, unattributed: 0 });
      expect(await it.losses(account)).toEqual([cost, cost]);
      expect(await it.used()).toEqual([0, 0]);
    });
  });
});
