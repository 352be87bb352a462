import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { inDollars, type NativePriceSpec } from '../../core/pricing/native-price.js';
import { startJsonHost, type JsonHost } from '../adapters/price/support/json-host.js';
import { aLimitConfig } from '../build/configs.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { until } from '../support/until.js';
import { sponsored } from './support/owner.js';
import { startService, type Served, type Service } from './support/service.js';
import { onReplicas } from './support/stores.js';
import { aDeployedAccount, ask, increment, type Asked } from './support/wallet.js';

// Somebody has a price source answer that a coin costs next to nothing. Every limit in dollars would be open: under a limit of $5
// operations worth $246 were signed.

const version = 'singleton-0.7';

let devChain: DevChain;
let host: JsonHost;
beforeAll(async () => {
  devChain = await startDevChain();
  host = await startJsonHost();
});
afterAll(async () => {
  await host.stop();
  await devChain.stop();
});

describe.each(onReplicas)('on %s', (store) => {
  let service: Service;
  let shop: Served;
  beforeAll(async () => {
    service = await startService(store, { devChain, versions: [version] });
    shop = await service.paymaster('shop', {
      configGeneration: service.now(),
      limits: [aLimitConfig({ thresholdType: 'USD', threshold: '100000000' })],
    });
  });
  afterAll(() => service.stop());

  /** What the source says from now on, in dollars. It is read again when ten seconds have passed. */
  const say = async (usd: number): Promise<void> => {
    host.say(JSON.stringify({ usd }));
    await service.pass(11);
  };
  const readsFrom = (more: Partial<NativePriceSpec> = {}) =>
    service.changeChain((chain) => ({
      ...chain,
      nativePrice: inDollars({ http: { url: host.origin, path: 'usd' }, ...more }),
    }));

  async function asked(replica: number): Promise<Asked> {
    const account = await aDeployedAccount(devChain, version);
    const op = await buildUserOp(account, [increment(devChain)]);
    return ask(shop.urlAt(replica), op, sponsored, account);
  }
  /** Waits until every replica answers so; undefined: it signs. */
  async function allAnswer(reason: string | undefined): Promise<void> {
    for (const replica of [0, 1, 2]) {
      let last: unknown = 'nothing yet';
      await until(
        () => `replica ${replica} answers ${reason}, and not ${String(last)}`,
        async () => {
          last = (await asked(replica)).reason;
          return last === reason;
        },
      );
    }
  }

  /**
   * Waits until every replica has judged what the source says: before that it knows no price, and refuses for that alone. The second
   * reading of a replica begins when its first one is judged.
   */
  async function allHaveRead(): Promise<void> {
    for (let reading = 0; reading < 2; reading += 1) {
      const before = host.received.length;
      await service.pass(11);
      await until('the source is asked by every replica', () => host.received.length >= before + 3);
    }
  }

  test('a tiny price opens no limit: not at once, not after a restart, not on another replica', async () => {
    await say(3_000);
    await readsFrom();
    await allAnswer(undefined);
    await say(0.000_000_01);
    await allAnswer('PRICE_STALE');
    await service.restart(() => undefined);
    await allHaveRead();
    await allAnswer('PRICE_STALE');
    // Another source of the same coin is compared with the same price.
    await readsFrom({ maxFallPercent: 60 });
    await allHaveRead();
    await allAnswer('PRICE_STALE');
  });

  test('a price near the last one ends it, and a person may say that a fall is real', async () => {
    await say(1_600);
    await readsFrom();
    await allAnswer(undefined);
    await say(300);
    await allAnswer('PRICE_STALE');
    await readsFrom({ acceptedAt: new Date(service.now()).toISOString() });
    await allAnswer(undefined);
    await say(3);
    await allAnswer('PRICE_STALE');
  });

  test('below its floor no price is accepted, whatever was before', async () => {
    await say(120);
    await readsFrom({ floor: '100', acceptedAt: new Date(service.now()).toISOString() });
    await allAnswer(undefined);
    await say(99);
    await allAnswer('PRICE_STALE');
    await say(101);
    await allAnswer(undefined);
  });
});
