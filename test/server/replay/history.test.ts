import { expect, test } from '@jest/globals';
import { pastOf, type PastPromise } from '../../../server/replay/history.js';
import { toSeconds } from '../../../core/units/time.js';
import { aLimitConfig, someNow } from '../../build/configs.js';
import { aDecision, anUnusedEnd, aSettlement, at, reservationOf } from '../../conformance/ledger-records.js';
import { createMemoryLedger } from '../../fakes/memory-ledger.js';

test('the past of a range is what its windows hold: mined, or still live; nothing of earlier windows or others', async () => {
  const ledger = createMemoryLedger();
  const time = (clock: string) => at(`2026-03-02T${clock}Z`);
  const paymasterId = '7a1c7c2e-1111-5222-8333-444455556666';
  const validUntil = toSeconds(time('12:40:00'));
  const decide = (clock: string, nonce: bigint, other = {}) =>
    aDecision('acme', time(clock), { nonce, paymasterId, validUntil, ...other });
  const mined = decide('12:10:00', 1n);
  const minedLater = decide('12:20:00', 2n);
  const expired = decide('12:11:00', 3n);
  const live = decide('12:29:59', 4n);
  const ofTokens = decide('12:12:00', 5n, { mode: 'ERC20' });
  const earlier = decide('11:59:59', 6n);
  const inRange = decide('12:30:00', 7n);
  const foreign = aDecision('other', time('12:10:00'), { nonce: 8n, paymasterId, validUntil });
  await ledger.append([
    ...[mined, minedLater, expired, live, ofTokens, earlier, inRange, foreign].flatMap((one) =>
      reservationOf(one),
    ),
    { record: aSettlement(mined, time('12:10:09')), reservation: mined.id },
    { record: aSettlement(minedLater, time('12:30:00')), reservation: minedLater.id },
    { record: anUnusedEnd(expired, time('12:25:00')), reservation: expired.id },
  ]);
  // Windows of an hour that begin at noon.
  const limits = [aLimitConfig({ durationMs: 3_600_000, startMs: someNow })];
  const promises: PastPromise[] = [];
  for await (const past of pastOf(ledger, 'acme', [{ paymasterId, limits }], time('12:30:00'))) {
    expect(past.isComplete).toBe(true);
    promises.push(...past.promises);
  }
  expect(promises.map(({ key, spentWei }) => [key.nonce, spentWei !== undefined])).toEqual([
    [4n, false],
    [2n, false],
    [1n, true],
  ]);
});

test('a paymaster without limits has no past', async () => {
  const found: unknown[] = [];
  for await (const past of pastOf(
    createMemoryLedger(),
    'acme',
    [{ paymasterId: 'any', limits: [] }],
    someNow,
  ))
    found.push(past);
  expect(found).toEqual([]);
});
