import { expect, test } from '@jest/globals';
import { DomainError } from '../../../core/errors.js';
import type { EpochMs } from '../../../core/units/time.js';
import { createFairLedger } from '../../../server/dashboard/ledger/fair-ledger.js';
import { createMemoryLedger } from '../../fakes/memory-ledger.js';

const memory = createMemoryLedger();
const query = (organisation: string) => ({ organisation, from: 0 as EpochMs, to: 1 as EpochMs, limit: 1 });

test('an organisation that asks much delays no question of another one', async () => {
  const gate = Promise.withResolvers<void>();
  const fair = createFairLedger({
    ...memory,
    decisions: async (asked) => {
      if (asked.organisation === 'acme') await gate.promise;
      return memory.decisions(asked);
    },
  });
  const many = Array.from({ length: 200 }, () => fair('acme').decisions(query('acme')));
  expect(await fair('other').decisions(query('other'))).toEqual({ decisions: [], next: undefined });
  gate.resolve();
  expect(await Promise.all(many)).toHaveLength(200);
});

test('a question that fails gives its turn back', async () => {
  const fair = createFairLedger({
    ...memory,
    usage: async () => {
      throw new DomainError('UNAVAILABLE', 'away');
    },
  });
  const usage = { paymasterId: undefined, step: 'day', groupBy: undefined } as const;
  for (let each = 0; each < 5; each += 1)
    await expect(fair('acme').usage({ ...query('acme'), ...usage })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
  expect(await fair('acme').decisions(query('acme'))).toEqual({ decisions: [], next: undefined });
});
