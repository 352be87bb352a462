import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { SponsorshipTerms, TokenOptions, TokenTerms } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { sponsorshipStub, tokenStub, tokenStubForLater } from '../../../core/paymaster/stub.js';
import { hexToBytes, type Hex } from '../../../core/units/hex.js';
import { anyOperation, anyTerms, anyTokenTerms } from './operations.js';

const anySignature = fc.uint8Array({ minLength: 65, maxLength: 65 });
const begin2024 = 1_704_067_200;
const begin2100 = 4_102_444_800;
/** A window as it is signed: from a minute ago, for at most a day. */
const anyWindow = fc
  .record({
    now: fc.integer({ min: begin2024, max: begin2100 }),
    seconds: fc.integer({ min: 1, max: 86_400 }),
  })
  .map(({ now, seconds }) => ({ validAfter: now - 60, validUntil: now + seconds }));
/** Limits and fees that a node would take. */
const anyRealOperation = fc
  .record({
    op: anyOperation,
    callGasLimit: fc.bigInt({ min: 0n, max: 12_000_000n }),
    verificationGasLimit: fc.bigInt({ min: 0n, max: 8_000_000n }),
    preVerificationGas: fc.bigInt({ min: 0n, max: 1_000_000n }),
    maxFeePerGas: fc.bigInt({ min: 1n, max: 10n ** 13n }),
  })
  .map(({ op, ...limits }) => ({ ...op, ...limits }));
const unestimated = { callGasLimit: 0n, verificationGasLimit: 0n, preVerificationGas: 0n };
/** From tokens of which one base unit is worth half a coin to tokens that are worth next to nothing. */
const anyRealRate = fc.oneof(
  fc.bigInt({ min: 2n, max: 10n ** 30n }),
  fc.nat(30).map((digits) => 10n ** BigInt(digits) + 1n),
  fc.nat(90).map((bits) => 2n ** BigInt(bits) + 1n),
  fc.constantFrom(3_000_000_000n, 10n ** 9n, 10n ** 9n + 1n, 256n, 255n, 65_536n, 2_500n * 10n ** 18n),
);
const zeroBytes = (data: Hex): number => hexToBytes(data).filter((byte) => byte === 0).length;

describe.each(Object.values(layouts))('stub data of layout $id', ({ sponsorship, token }) => {
  test('SPONSORED: as long as the signed data, without more zero bytes', () => {
    fc.assert(
      fc.property(anyRealOperation, anyTerms, anyWindow, anySignature, (op, any, window, signature) => {
        const terms: SponsorshipTerms = { ...any, ...window };
        const stub = sponsorshipStub(sponsorship, { ...op, ...unestimated }, terms);
        const signed = sponsorship.encode(op, terms, signature);
        expect(stub).toHaveLength(signed.length);
        expect(zeroBytes(stub)).toBeLessThanOrEqual(zeroBytes(signed));
      }),
    );
  });

  if (token === undefined) return;
  const modes: readonly {
    readonly name: string;
    readonly options: TokenOptions;
    readonly signedInAdvance?: true;
  }[] = [
    { name: 'after the call', options: {} },
    { name: 'after the call, where it could be in advance', options: { takesPreFund: true } },
    { name: 'in advance', options: { takesPreFund: true }, signedInAdvance: true },
    { name: 'with a constant fee', options: { constantFee: 12_345n } },
  ];
  // When a stub is made, nobody knows whether the account can pay in advance: its stub is that of a payment after the call.
  test.each(modes)('ERC20, paid $name: the same, whatever the rate', ({ options, signedInAdvance }) => {
    fc.assert(
      fc.property(
        fc.record({ op: anyRealOperation, any: anyTokenTerms, exchangeRate: anyRealRate }),
        anyWindow,
        anySignature,
        ({ op, any, exchangeRate }, window, signature) => {
          const { treasury = any.paymaster } = any.options;
          const { inAdvance: _any, ...rest } = any;
          const terms: TokenTerms = {
            ...rest,
            ...window,
            exchangeRate,
            options: { ...options, treasury },
          };
          const advance = signedInAdvance === true ? { inAdvance: signedInAdvance } : {};
          const stub = tokenStubForLater(token, op, terms);
          const signed = token.encode(op, { ...terms, ...advance }, signature);
          expect(stub).toHaveLength(signed.length);
          expect(zeroBytes(stub)).toBeLessThanOrEqual(zeroBytes(signed));
        },
      ),
    );
  });

  test('ERC20: the same after the rate has moved by two percent', () => {
    const anyPercent = fc.bigInt({ min: -2n, max: 2n });
    fc.assert(
      fc.property(
        fc.record({ op: anyRealOperation, any: anyTokenTerms, exchangeRate: anyRealRate }),
        anyPercent,
        anySignature,
        ({ op, any, exchangeRate }, percent, signature) => {
          const { treasury = any.paymaster } = any.options;
          const options = { constantFee: 1n, treasury };
          const { inAdvance: _any, ...rest } = any;
          const terms: TokenTerms = { ...rest, exchangeRate, options };
          const stub = tokenStubForLater(token, op, terms);
          const moved = exchangeRate + (exchangeRate * percent) / 100n;
          const signed = token.encode(
            op,
            { ...terms, exchangeRate: moved, validUntil: begin2100, validAfter: begin2024 },
            signature,
          );
          expect(stub).toHaveLength(signed.length);
          expect(zeroBytes(stub)).toBeLessThanOrEqual(zeroBytes(signed));
        },
      ),
    );
  });

  test('ERC20: the rate in a stub is at most some two percent away, so that accounts that can pay pass its simulation', () => {
    fc.assert(
      fc.property(
        anyRealOperation,
        anyTokenTerms,
        fc.bigInt({ min: 10_000n, max: 10n ** 30n }),
        (op, any, exchangeRate) => {
          const { treasury = any.paymaster } = any.options;
          const terms = { ...any, exchangeRate, options: { treasury } };
          const [exact, near] = [tokenStub(token, op, terms), tokenStubForLater(token, op, terms)].map(
            (data) => token.decode(data).exchangeRate,
          );
          if (exact === undefined || near === undefined) throw new Error('both stubs must decode');
          const difference = exact > near ? exact - near : near - exact;
          expect(difference * 50n).toBeLessThanOrEqual(exact);
        },
      ),
    );
  });
});
