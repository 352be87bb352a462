import type { FinalUserOperation } from '../entry-point/user-operation.js';
import { hexToBytes, type Hex } from '../units/hex.js';
import type { SponsorshipCodec, SponsorshipTerms, TokenCodec, TokenTerms } from './layout.js';
import { stubSignature } from './signature.js';

// Stub data for gas estimates: as long as the data that will be signed, and never with more zero bytes. A zero byte of calldata
// costs 4 gas instead of 16, so limits that were estimated with more zeros would be too low.

/**
 * Open since 1970 and for ages, in bytes that are not zero where a real window may have any. The bytes at the top of
 * `validUntil`, which are zero in real windows, make up for figures in signed data that have grown by a byte since.
 */
const stubValidity = { validUntil: 0x01ff_ffff_ffff, validAfter: 0x0101_0101 } as const;

/** Stub data of mode SPONSORED. */
export function sponsorshipStub(
  codec: Pick<SponsorshipCodec, 'encode'>,
  op: FinalUserOperation,
  terms: Omit<SponsorshipTerms, keyof typeof stubValidity>,
): Hex {
  return codec.encode(op, { ...terms, ...stubValidity }, stubSignature());
}

type StubTokenTerms = Omit<TokenTerms, keyof typeof stubValidity>;

/** Stub data of mode ERC20, for data that will be signed at this rate. Throws RangeError as the codec does. */
export function tokenStub(
  codec: Pick<TokenCodec, 'encode' | 'encodeStub'>,
  op: FinalUserOperation,
  terms: StubTokenTerms,
): Hex {
  const encode = codec.encodeStub ?? codec.encode;
  return encode(op, { ...terms, ...stubValidity }, stubSignature());
}

/**
 * As {@link tokenStub}, for data that will be signed later: with limits that nobody knows yet, at a rate near the one
 * in the terms.
 */
export function tokenStubForLater(
  codec: Pick<TokenCodec, 'encode' | 'encodeStub'>,
  op: FinalUserOperation,
  terms: StubTokenTerms,
): Hex {
  const unestimated = { ...op, ...minLimits };
  const encode = (exchangeRate: bigint): Hex => tokenStub(codec, unestimated, { ...terms, exchangeRate });
  const plain = encode(terms.exchangeRate);
  let best = { data: plain, zeros: zeroBytes(plain) };
  for (const rate of ratesNear(terms.exchangeRate)) {
    const data = encodeAt(encode, rate);
    if (data?.length !== plain.length) continue;
    const zeros = zeroBytes(data);
    if (zeros < best.zeros) best = { data, zeros };
  }
  return best.data;
}

/**
 * For amounts in the data that follow from the limits: less than any operation uses, so that no contract has anything to
 * give back while the stub is simulated, and not so much less that such an amount is many bytes shorter.
 */
const minLimits = { callGasLimit: 0n, verificationGasLimit: 0n, preVerificationGas: 20_000n } as const;

/** A rate beside one that may be used can be too large for the contract. */
function encodeAt(encode: (rate: bigint) => Hex, rate: bigint): Hex | undefined {
  try {
    return encode(rate);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const steps = 16n;

/**
 * Rates at most some two percent away, without zero bytes. Several, because what a layout writes is computed from the
 * rate, and may have a zero byte where the rate has none.
 */
function* ratesNear(rate: bigint): Generator<bigint> {
  const step = rate >> 10n || 1n;
  for (let index = 0n; index < steps; index += 1n) {
    yield withoutZeroBytes(rate + index * step);
    if (rate > index * step) yield below(rate - index * step);
  }
}

/** The value with 0x01 in place of each zero byte. */
function withoutZeroBytes(value: bigint): bigint {
  return BigInt(`0x${toEvenHex(value).replace(/../g, (byte) => (byte === '00' ? '01' : byte))}`);
}

function toEvenHex(value: bigint): string {
  const text = value.toString(16);
  return text.padStart(text.length + (text.length % 2), '0');
}

/** A lower value with 0xff from the highest zero byte on, where there is one. */
function below(value: bigint): bigint {
  const bytes = toEvenHex(value);
  const [before] = /^(?:(?!00)..)*/.exec(bytes) ?? [''];
  const weight = 1n << BigInt(4 * (bytes.length - before.length));
  return before.length === bytes.length ? value : (value / weight) * weight - 1n;
}

function zeroBytes(data: Hex): number {
  return hexToBytes(data).reduce((zeros, byte) => (byte === 0 ? zeros + 1 : zeros), 0);
}
