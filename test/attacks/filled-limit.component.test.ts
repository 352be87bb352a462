import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { aLimitConfig } from '../build/configs.js';
import { buildAccount } from '../chain/support/account.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { startService, type Served, type Service } from './support/service.js';
import { onReplicas } from './support/stores.js';
import { askForNobody, expectServed, increment } from './support/wallet.js';

// An attacker fills a limit of 1,000 operations at once, for free, with promises that nobody mines. The limit was then locked for
// two hours.

const version = 'singleton-0.7';
const threshold = 1_000;
/** The longest expiry that can be requested; the service grants ten minutes. */
const forADay = { mode: 'SPONSORED', expiryDuration: 86_400 };

describe.each(onReplicas)('on %s', (store) => {
  let service: Service;
  let shop: Served;
  let neighbour: Served;
  beforeAll(async () => {
    service = await startService(store, { versions: [version] });
    const limit = (policyId: string) =>
      aLimitConfig({ policyId, thresholdType: 'COUNT', threshold: String(threshold) });
    shop = await service.paymaster('shop', { limits: [limit('of-shop')], maxExpirySeconds: 86_400 });
    neighbour = await service.paymaster('neighbour', { limits: [limit('of-neighbour')] });
  });
  afterAll(() => service.stop());

  test('never more than the limit is promised, other limits are unaffected, and all of it is free again after ten minutes', async () => {
    const { devChain } = service;
    const template = await buildUserOp(await buildAccount(devChain, '0.7'), [increment(devChain)]);
    const reasons = await askForNobody(() => shop.url, template, { count: threshold + 100, mode: forADay });
    expect(reasons.filter((reason) => reason === undefined)).toHaveLength(threshold);
    expect(new Set(reasons)).toEqual(new Set([undefined, 'LIMIT_REACHED']));
    await expectServed(service.devChain, version, neighbour.url);

    await service.pass(600 + 60);
    await service.settled();
    await expectServed(service.devChain, version, shop.url);
  });
});
