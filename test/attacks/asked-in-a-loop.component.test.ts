import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { aLimitConfig } from '../build/configs.js';
import type { TestAccount } from '../chain/support/account.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOps } from '../chain/support/handle-ops.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { unlessUnavailable } from '../../core/errors.js';
import { until } from '../support/until.js';
import { startService, type Served, type Service } from './support/service.js';
import { onReplicas } from './support/stores.js';
import { aDeployedAccount, ask, increment } from './support/wallet.js';

// While operations are mined, an attacker requests them again and again, as fast as the service answers. Every request changes the
// record that a settlement is about to remove: on the store of that time nearly every step failed, and balances became stale.

const version = 'singleton-0.7';
const sponsored = { mode: 'SPONSORED' };
const gwei = 10n ** 9n;
const operations = 24;

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

describe.each(onReplicas)('on %s', (store) => {
  let service: Service;
  let shop: Served;
  let stranger: Served;
  beforeAll(async () => {
    service = await startService(store, { devChain, versions: [version] });
    const limit = aLimitConfig({ policyId: 'of-shop', thresholdType: 'NATIVE_ASSET', threshold: '1' });
    shop = await service.paymaster('shop', { limits: [limit] });
    stranger = await service.paymaster('stranger');
  });
  afterAll(() => service.stop());

  test('mined operations settle at their cost while the requests go on, and others are served', async () => {
    const accounts: TestAccount[] = [];
    for (let nth = 0; nth < operations; nth += 1) accounts.push(await aDeployedAccount(devChain, version));
    const ops = await Promise.all(
      accounts.map((account) => buildUserOp(account, [increment(devChain)], { maxFeePerGas: 4n * gwei })),
    );
    const signed = await Promise.all(
      ops.map(async (op, nth) => (await ask(shop.url, op, sponsored, accounts[nth])).signed),
    );

    // An operation that is asked for again after it was mined is promised once more, until its nonce is seen to be spent. So the
    // test reads settled usage without promises.
    const [promised] = await service.usage.reservations(devChain.chainId);
    const counter = promised?.limits[0]?.counter ?? '';
    const used = async (): Promise<number> => {
      const wanted = [{ counter, unit: 'NATIVE_ASSET' }] as const;
      const states = await unlessUnavailable(service.usage.counters(devChain.chainId, wanted));
      return states?.[0]?.used ?? 0;
    };

    let isAsking = true;
    let asks = 0;
    const loops = Array.from({ length: 16 }, async (_, lane) => {
      for (let nth = lane; isAsking; nth += 1) {
        const op = ops[nth % ops.length];
        if (op === undefined) throw new Error('no operation was made');
        // Another paymaster promises cheaper ones too, so the mined operation has more candidates.
        const other = { ...op, callGasLimit: op.callGasLimit - BigInt(1 + (nth % 100)) };
        await (nth % 2 === 0 ? ask(shop.url, op, sponsored) : ask(stranger.url, other, sponsored));
        asks += 1;
      }
    });
    try {
      await until('they ask', () => asks > 100);
      let cost = 0n;
      for (let from = 0; from < operations; from += 8) {
        const bundle = signed.slice(from, from + 8).flatMap((each) => each ?? []);
        const { events } = await handleOps(devChain, '0.7', bundle);
        cost += events.reduce((sum, { actualGasCost }) => sum + actualGasCost, 0n);
      }
      const least = Number(cost / gwei);
      await until('all are settled while they ask', async () => (await used()) >= least);
      const honest = await aDeployedAccount(devChain, version);
      const op = await buildUserOp(honest, [increment(devChain)]);
      const served = await ask(shop.url, op, sponsored, honest);
      expect(served.reason).toBeUndefined();
      if (served.signed === undefined) throw new Error('nothing was signed');
      expect((await handleOps(devChain, '0.7', [served.signed])).events).toMatchObject([{ success: true }]);
    } finally {
      isAsking = false;
      await Promise.all(loops);
    }
  });
});
