import { expect, test } from '@jest/globals';
import { DomainError } from '../../../core/errors.js';
import type { Decision, Gap, LedgerRecord } from '../../../core/ledger/record.js';
import { silentLogger } from '../../../core/log.js';
import type { EpochMs } from '../../../core/units/time.js';
import { createGaps } from '../../../server/ledger/gaps.js';
import { createOffers } from '../../../server/ledger/offers.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import { createRefusalRecords } from '../../../server/ledger/refusal-records.js';
import { aDecision } from './decisions.js';

const shop = { organisation: 'acme', paymasterId: 'shop', chainId: 1 };
const toy = { organisation: 'acme', paymasterId: 'toy', chainId: 1 };

test('refusals beyond the rate of a paymaster and reason are counted, and those of others are not affected', async () => {
  const world = aWorld();
  for (let each = 0; each < 1_000; each += 1) world.refuse(shop, 'LIMIT_REACHED');
  world.refuse(shop, 'FEE_TOO_HIGH');
  world.refuse(toy, 'LIMIT_REACHED');
  world.clock.now += 1_000;
  for (let each = 0; each < 1_000; each += 1) world.refuse(shop, 'LIMIT_REACHED');
  await world.stop();
  expect(world.count(shop, 'LIMIT_REACHED')).toBe(200 + 20);
  expect(world.count(shop, 'FEE_TOO_HIGH')).toBe(1);
  expect(world.count(toy, 'LIMIT_REACHED')).toBe(1);
  expect(world.gaps()).toEqual([
    expect.objectContaining({ ...shop, cause: 'rate', reason: 'LIMIT_REACHED', count: 1_780 }),
  ]);
  expect(world.dropped).toEqual({ rate: 1_780, space: 0 });
});

test('the rate is a setting', async () => {
  const world = aWorld(3);
  for (let each = 0; each < 100; each += 1) world.refuse(shop, 'LIMIT_REACHED');
  await world.stop();
  expect(world.count(shop, 'LIMIT_REACHED')).toBe(30);
  expect(world.dropped).toEqual({ rate: 70, space: 0 });
});

test('a store that does not answer costs a bounded memory, and what it missed is counted', async () => {
  const world = aWorld();
  world.isDown = true;
  const long = 'x'.repeat(100_000);
  for (let each = 0; each < 400; each += 1) {
    world.clock.now += 1_000;
    world.refuse(shop, 'WEBHOOK_REFUSED', long);
  }
  expect(world.dropped.space).toBeGreaterThan(200);
  world.isDown = false;
  await world.stop();
  expect(world.count(shop, 'WEBHOOK_REFUSED')).toBe(400 - world.dropped.space);
});

test('what the store did not take is written again', async () => {
  const world = aWorld();
  world.failures = 1;
  for (let each = 0; each < 1_200; each += 1) {
    world.clock.now += 100;
    world.refuse(shop, 'LIMIT_REACHED');
  }
  await world.stop();
  await world.stop();
  expect(world.failures).toBe(0);
  expect(world.count(shop, 'LIMIT_REACHED')).toBe(1_200);
  expect(world.offers.add(aDecision({ ...shop, ...world.ids.next() }))).toBe(false);
});

function aWorld(perSecond?: number) {
  const clock = { now: 1_800_000_000_000 };
  const time = { now: () => clock.now as EpochMs };
  const ids = createRecordIds(time);
  const stored = new Map<string, LedgerRecord>();
  const dropped = { rate: 0, space: 0 };
  const world = {
    isDown: false,
    /** So many offers fail, then they work. */
    failures: 0,
    clock,
    stored,
    dropped,
    ids,
    offers: createOffers({
      ledger: {
        async add(records) {
          const isFailing = world.isDown || world.failures > 0;
          world.failures = Math.max(0, world.failures - 1);
          if (isFailing) throw new DomainError('UNAVAILABLE', 'no connection');
          for (const record of records) stored.set(record.id, record);
        },
      },
      log: silentLogger,
    }),
    refuse(of: typeof shop, reason: string, detail = '') {
      refusals.add(of, reason, () => ({
        ...aDecision({ ...of, ...ids.next() }),
        verdict: 'refused',
        reason,
        detail,
      }));
    },
    count: (of: typeof shop, reason: string): number =>
      [...stored.values()].filter(
        (record): record is Decision =>
          record.kind === 'decision' && record.paymasterId === of.paymasterId && record.reason === reason,
      ).length,
    gaps: (): readonly Gap[] => [...stored.values()].filter((record): record is Gap => record.kind === 'gap'),
    async stop() {
      gaps.stop();
      await world.offers.stop();
    },
  };
  const gaps = createGaps({ offers: world.offers, ids, dropped: (cause) => void (dropped[cause] += 1) });
  const refusals = createRefusalRecords({
    offers: world.offers,
    gaps,
    clock: time,
    ...(perSecond !== undefined && { perSecond }),
  });
  return world;
}
