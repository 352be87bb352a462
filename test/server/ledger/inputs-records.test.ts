import { expect, test } from '@jest/globals';
import type { LedgerRecord } from '../../../core/ledger/record.js';
import { silentLogger } from '../../../core/log.js';
import type { EpochMs } from '../../../core/units/time.js';
import { createInputsRecords } from '../../../server/ledger/inputs-records.js';
import { createOffers } from '../../../server/ledger/offers.js';

const of = {
  id: '01a3f4c0-0000-7000-8000-000000000000',
  at: 1_800_000_000_000 as EpochMs,
  organisation: 'acme',
  paymasterId: 'shop',
};

test('a decision for which the usage store was not asked has the newest place of its chain that was seen', () => {
  const added: LedgerRecord[] = [];
  const add = (record: LedgerRecord) => {
    added.push(record);
    return true;
  };
  const inputs = createInputsRecords({ offers: { add }, dropped: () => {} });
  const orders = [undefined, 7, undefined, 5, undefined, undefined];
  for (const [i, order] of orders.entries())
    inputs.add({ ...of, chainId: i === 5 ? 2 : 1 }, order, `{"n":${i}}`);
  expect(added).toEqual(
    [0, 7, 7, 5, 7, 0].map((sequence, i) => ({
      kind: 'inputs',
      ...of,
      chainId: i === 5 ? 2 : 1,
      sequence,
      body: `{"n":${i}}`,
    })),
  );
});

test('inputs without room are counted', async () => {
  let dropped = 0;
  const offers = createOffers({
    ledger: { add: () => Promise.reject(new Error('the store is away')) },
    log: silentLogger,
  });
  const inputs = createInputsRecords({ offers, dropped: () => (dropped += 1) });
  // Sixteen MiB may wait.
  for (let i = 0; i < 20; i++) inputs.add({ ...of, chainId: 1 }, i, 'x'.repeat(1_048_576));
  expect(dropped).toBe(5);
  await offers.stop();
});

test('inputs are written half a MiB at a time, whatever their number, and each once', async () => {
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
  const inputs = createInputsRecords({ offers, dropped: () => {} });
  const lengths = [...Array.from({ length: 200 }, () => 16_000), 1_000_000, 16_000];
  for (const [i, length] of lengths.entries()) inputs.add({ ...of, chainId: 1 }, i, 'x'.repeat(length));
  await offers.stop();
  const written = batches.map((batch) =>
    batch.map((record) => (record.kind === 'inputs' ? record.body.length : 0)),
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
  const offer = (): void => void offers.add({ kind: 'inputs', ...of, chainId: 1, sequence: 1, body: '{}' });
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
  const inputs = createInputsRecords({ offers, dropped: () => {} });
  for (let i = 0; i < 100; i++) {
    inputs.add({ ...of, chainId: 1 }, i, 'x'.repeat(16_000));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(asked).toBe(1);
  await offers.stop();
});
