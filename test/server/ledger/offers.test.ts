import { expect, test } from '@jest/globals';
import type { Decision, LedgerRecord } from '../../../core/ledger/record.js';
import { silentLogger } from '../../../core/log.js';
import { createOffers } from '../../../server/ledger/offers.js';
import { aRefusal, at } from '../../conformance/ledger-records.js';

function ofLength(length: number): Decision {
  return aRefusal('acme', at('2026-11-22T12:00:00Z'), { detail: 'x'.repeat(length) });
}

test('records without room are not taken', async () => {
  let dropped = 0;
  const offers = createOffers({
    ledger: { add: () => Promise.reject(new Error('the store is away')) },
    log: silentLogger,
  });
  // Sixteen MiB may wait.
  for (let i = 0; i < 20; i++) if (!offers.add(ofLength(1_048_576))) dropped += 1;
  expect(dropped).toBe(5);
  await offers.stop();
});

test('records are written half a MiB at a time, whatever their number, and each once', async () => {
  const batches: (readonly LedgerRecord[])[] = [];
  const offers = createOffers({
    ledger: {
      add: (records) => {
        batches.push(records);
        return Promise.resolve();
      },
    },
    log: silentLogger,
  });
  const lengths = [...Array.from({ length: 200 }, () => 16_000), 1_000_000, 16_000];
  for (const length of lengths) offers.add(ofLength(length));
  await offers.stop();
  const written = batches.map((batch) =>
    batch.map((record) => (record.kind === 'decision' ? (record.detail?.length ?? 0) : 0)),
  );
  expect(written.flat()).toEqual(lengths);
  // One that is larger is alone.
  expect(written.filter((batch) => batch.includes(1_000_000))).toEqual([[1_000_000]]);
  const sizes = written.map((batch) => batch.reduce((sum, length) => sum + length, 0));
  expect(Math.max(...sizes.filter((size) => size !== 1_000_000))).toBeLessThanOrEqual(512 * 1_024);
  expect(batches.length).toBeLessThanOrEqual(10);
});

test('what comes while records are written waits for more, and is written with the next ones', async () => {
  const batches: number[] = [];
  const add = (records: readonly LedgerRecord[]): Promise<void> => {
    batches.push(records.length);
    if (batches.length < 10) offer();
    return Promise.resolve();
  };
  const offers = createOffers({ ledger: { add }, log: silentLogger });
  const offer = (): void => void offers.add(ofLength(2));
  for (let i = 0; i < 500; i++) offer();
  await new Promise((resolve) => setImmediate(resolve));
  expect(batches).toEqual([500]);
  await offers.stop();
  expect(batches).toEqual([500, 1]);
});

test('a store that fails is not asked again with every record beyond half a MiB', async () => {
  let asked = 0;
  const add = () => {
    asked += 1;
    return Promise.reject(new Error('the store is away'));
  };
  const offers = createOffers({ ledger: { add }, log: silentLogger });
  for (let i = 0; i < 100; i++) {
    offers.add(ofLength(16_000));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(asked).toBe(1);
  await offers.stop();
});
