import { expect, test } from '@jest/globals';
import { parseRecord } from '../../../core/ledger/record-text.js';
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
  const added: (readonly [number, unknown])[] = [];
  const add = (chainId: number, text: string) => {
    added.push([chainId, parseRecord(text)]);
    return true;
  };
  const inputs = createInputsRecords({ offers: { add }, dropped: () => {} });
  const orders = [undefined, 7, undefined, 5, undefined, undefined];
  for (const [i, order] of orders.entries())
    inputs.add({ ...of, chainId: i === 5 ? 2 : 1 }, order, `{"n":${i}}`);
  expect(added).toEqual(
    [0, 7, 7, 5, 7, 0].map((sequence, i) => {
      const chainId = i === 5 ? 2 : 1;
      return [chainId, { kind: 'inputs', ...of, chainId, sequence, body: `{"n":${i}}` }];
    }),
  );
});

test('inputs without room are counted, and those that are offered may use their share of the room only', async () => {
  const shares: unknown[] = [];
  let dropped = 0;
  const offers = createOffers({
    feed: {
      offer: (_chainId, _texts, share) => {
        shares.push(share);
        return Promise.reject(new Error('no room'));
      },
    },
    log: silentLogger,
    share: 0.25,
  });
  const inputs = createInputsRecords({ offers, dropped: () => (dropped += 1) });
  // Sixteen MiB may wait.
  for (let i = 0; i < 20; i++) inputs.add({ ...of, chainId: 1 }, i, 'x'.repeat(1_048_576));
  expect(dropped).toBe(5);
  await offers.stop();
  expect(new Set(shares)).toEqual(new Set([0.25]));
});
