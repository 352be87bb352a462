import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatInputsRecord } from '../../../core/ledger/inputs-text.js';
import { formatRecord } from '../../../core/ledger/record-text.js';
import type { DecisionInputs } from '../../../core/ledger/record.js';
import type { EpochMs } from '../../../core/units/time.js';
import { runs } from '../../support/property.js';

const text = fc.string({ unit: 'binary', maxLength: 60 });
const inputs: fc.Arbitrary<DecisionInputs> = fc.record({
  kind: fc.constant('inputs' as const),
  id: fc.uuid({ version: 7 }),
  at: fc.nat().map((at) => at as EpochMs),
  organisation: text,
  paymasterId: text,
  chainId: fc.nat(),
  sequence: fc.maxSafeNat(),
  body: text,
});

test('the text of inputs is that of any record', () => {
  fc.assert(
    fc.property(inputs, (record) => {
      expect(formatInputsRecord(record)).toBe(formatRecord(record));
    }),
    runs(200),
  );
});
