import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { gweiCeil } from '../../core/units/wei.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { sharedPostgres, type SharedPostgres } from '../support/postgres.js';
import { followDevChain, type FollowedDevChain } from './support/followed-dev-chain.js';
import { onOneProcess } from './support/stores.js';
import { revertTo } from '../chain/support/revert-to.js';

// A reorganisation removes blocks that were already settled, and a more expensive operation is mined in their place.

let devChain: DevChain;
let it: FollowedDevChain;
let postgres: SharedPostgres | undefined;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());
afterEach(() => it.stop());

describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    postgres = store === 'the embedded store' ? undefined : await sharedPostgres();
  });
  afterAll(() => postgres?.stop());

  describe.each(['1.1.0', 'singleton-0.7'])('profile %s', (version) => {
    beforeEach(async () => {
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
    });

    test('the more expensive promise of a nonce counts in full when it is mined after the reorganisation', async () => {
      const { chain } = devChain;
      const account = await it.newAccount();
      const cheap = await it.sponsor(account, await it.operation(account));
      const dear = await it.sponsor(account, await it.operation(account, { preVerificationGas: 900_000n }));
      const before = await chain.request('evm_snapshot', []);
      const first = await handleOp(devChain, it.profile.entryPointVersion, cheap!.signed);
      await it.settle();
      expect(await it.used()).toEqual([1, gweiCeil(first.event.actualGasCost)]);

      await revertTo(chain, before);
      await chain.request('anvil_mine', ['0x1']);
      const second = await handleOp(devChain, it.profile.entryPointVersion, dear!.signed);
      expect(second.event.actualGasCost).toBeGreaterThan(first.event.actualGasCost);
      expect(await it.settle()).toMatchObject({ restored: 1, settled: 1, unattributed: 0 });
      expect(await it.used()).toEqual([1, gweiCeil(second.event.actualGasCost)]);
    });

    test('a promise that was released in removed blocks counts when it is mined after all, even above the limit, which then refuses', async () => {
      const { chain } = devChain;
      const account = await it.newAccount();
      const once = { count: 1, validUntil: (await devChain.time()) + 300 };
      const first = await it.sponsor(account, await it.operation(account), once);
      const before = await chain.request('evm_snapshot', []);
      await it.pass(400);
      expect(await it.settle()).toMatchObject({ released: 1 });
      const next = await it.newAccount();
      expect(await it.sponsor(next, await it.operation(next), { count: 1 })).toBeDefined();

      await revertTo(chain, before);
      await chain.request('anvil_mine', ['0x1']);
      await handleOp(devChain, it.profile.entryPointVersion, first!.signed);
      await chain.request('anvil_mine', ['0x1']);
      expect(await it.settle()).toMatchObject({ restored: 1, settled: 1 });
      expect((await it.used())[0]).toBe(2);
      const third = await it.newAccount();
      expect(await it.sponsor(third, await it.operation(third), { count: 1 })).toBeUndefined();
    });
  });
});
