import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatDecision } from '../../../core/ledger/decision-text.js';
import { packDecision } from '../../../core/ledger/packed-decision.js';
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
      const written = formatDecision(decision);
      expect(written).not.toContain('\n');
      expect(parseRecord(written)).toEqual(decision);
      expect(JSON.parse(written)).toEqual(JSON.parse(formatRecord(decision)));
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
      expect(packed.length).toBeLessThan(formatDecision(decision).length);
    }),
    runs(200),
  );
});

test.each(['[]', '[3,"of a newer release"]', '[2]', '[2,"not an id"]', '[2,null]', 'null', '7', '{"v":2}'])(
  'a text that this release cannot read is not a record: %s',
  (text) => {
    expect(readRecord(text)).toBeUndefined();
  },
);
