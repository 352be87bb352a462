import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { packContext, packDecision, packOwn } from '../../../core/ledger/packed-decision.js';
import { createLineReader, formatLines } from '../../../core/ledger/record-lines.js';
import { recordTime } from '../../../core/ledger/record-id.js';
import type { Decision } from '../../../core/ledger/record.js';
import { formatRecord, parseRecord, readRecord } from '../../../core/ledger/record-text.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import { runs } from '../../support/property.js';

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const hexOf = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((value): Hex => `0x${Buffer.from(value).toString('hex')}`);
const address = hexOf(20).map((text) => text as string as AddressKey);
const text = fc.string({ unit: 'binary', maxLength: 40 });
const time = fc.integer({ min: 0, max: 2 ** 45 });

const decisions: fc.Arbitrary<Decision> = fc.record({
  kind: fc.constant('decision' as const),
  id: fc.uuid({ version: 7 }),
  at: time.map((at) => at as EpochMs),
  organisation: text,
  paymasterId: text,
  chainId: fc.nat(),
  entryPoint: address,
  contract: maybe(address),
  fundingAddress: maybe(address),
  mode: fc.constantFrom('SPONSORED' as const, 'ERC20' as const, undefined),
  method: text,
  requestId: text,
  callerRequestId: maybe(text),
  sender: address,
  nonce: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  userOpHash: maybe(hexOf(32)),
  digest: maybe(hexOf(16)),
  calls: fc.array(
    fc.record(
      { target: address, selector: hexOf(4), contractId: text, name: text },
      { requiredKeys: ['target', 'selector'] },
    ),
    { maxLength: 3 },
  ),
  verdict: fc.constantFrom('sponsored' as const, 'refused' as const, 'committed' as const),
  reason: fc.constantFrom('LIMIT_REACHED', undefined),
  detail: maybe(text),
  policies: fc.array(
    fc.record({
      policyId: text,
      effect: fc.constantFrom('counted' as const, 'refused' as const, 'would-refuse' as const),
    }),
    { maxLength: 3 },
  ),
  maxCostWei: maybe(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })),
  validUntil: maybe(time.map((at) => at as EpochSeconds)),
  token: maybe(address),
});

test('a decision reads back from its text, whatever callers and hosts put into it', () => {
  fc.assert(
    fc.property(decisions, (decision) => {
      const written = formatRecord(decision);
      expect(written).not.toContain('\n');
      expect(parseRecord(written)).toEqual(decision);
    }),
    runs(200),
  );
});

test('a packed decision reads back as well, and is shorter', () => {
  fc.assert(
    fc.property(decisions, (made) => {
      const decision = { ...made, at: recordTime(made.id) };
      const packed = packDecision(decision);
      expect(packed).not.toContain('\n');
      expect(parseRecord(packed)).toEqual(decision);
      expect(packed.length).toBeLessThan(formatRecord(decision).length);
    }),
    runs(200),
  );
});

test.each([
  '[]',
  '[4,"of a newer release"]',
  '[3]',
  '[3,[],7]',
  '[3,[],[]]',
  '[2]',
  '[2,"not an id"]',
  '[2,null]',
  'null',
  '7',
  '{"v":2}',
])('a text that this release cannot read is not a record: %s', (text) => {
  expect(readRecord(text)).toBeUndefined();
});

test('lines read back as they were added, each with its reservation', () => {
  const added = fc.record({
    decision: decisions.map((made) => ({ ...made, at: recordTime(made.id) })),
    reservation: maybe(fc.uuid({ version: 7 })),
    isWhole: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(added, { minLength: 1, maxLength: 5 }), (list) => {
      const lines = formatLines(
        [...list, ...list].map(({ decision, reservation, isWhole }) =>
          isWhole
            ? { reservation, text: formatRecord(decision) }
            : { reservation, context: packContext(decision), text: packOwn(decision) },
        ),
      );
      const found = createLineReader().read({ text: lines });
      expect(found.map((one) => [one?.record, one?.reservation])).toEqual(
        [...list, ...list].map(({ decision, reservation }) => [decision, reservation]),
      );
    }),
    runs(200),
  );
});

test('of lines that this release cannot read, the others are read', () => {
  const newer = '{"v":99,"kind":"gap"}';
  const gap = '{"v":1,"kind":"reversal","id":"a"}';
  const lines = formatLines([newer, gap, '[4]'].map((text) => ({ reservation: undefined, text })));
  const found = createLineReader().read({ text: lines });
  expect(found.map((one) => one?.record.kind)).toEqual([undefined, 'reversal', undefined]);
});

test.each(['', '7', '2\n[]', 'x\n\t\t{}', '0\nno tabs', '0\n\t5\t[]', '1\n[]\n\t0\t[]', '1\n{\n\t0\t["id"]'])(
  'lines that nothing can be read from are not records, and do not throw: %j',
  (text) => {
    const found = createLineReader().read({ text });
    expect(found.every((one) => one === undefined)).toBe(true);
  },
);
