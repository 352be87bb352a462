import fc from 'fast-check';
import type { SponsorshipTerms, TokenTerms } from '../../../core/paymaster/layout.js';
import { initCodeHashes } from '../../../core/paymaster/openzeppelin/options.js';
import { parseAddress, toAddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';

export const anyBytes = (min: number, max: number): fc.Arbitrary<Hex> =>
  fc
    .uint8Array({ minLength: min, maxLength: max })
    .map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`);
const anyAddress = anyBytes(20, 20);
// Values on both sides of every width that the encoders treat apart.
const anyGas = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 120n - 1n }),
  fc.constantFrom(0n, 1n, 2n ** 53n, 2n ** 64n - 1n, 2n ** 64n, 2n ** 120n - 1n),
);

export const anyOperation: fc.Arbitrary<FinalUserOperation> = fc.record({
  sender: anyAddress.map(toAddressKey),
  nonce: fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    fc.constantFrom(0n, 2n ** 64n, 2n ** 256n - 1n),
  ),
  initCode: fc.oneof(fc.constant<Hex>('0x'), anyBytes(20, 100)),
  callData: anyBytes(0, 300),
  callGasLimit: anyGas,
  verificationGasLimit: anyGas,
  preVerificationGas: anyGas,
  maxFeePerGas: anyGas,
  maxPriorityFeePerGas: anyGas,
  signature: anyBytes(0, 100),
});

const anySeconds = fc.integer({ min: 0, max: 2 ** 48 - 1 });

export const anyTerms: fc.Arbitrary<SponsorshipTerms> = fc.record({
  chainId: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  paymaster: anyAddress.map(parseAddress),
  fundingAddress: anyAddress.map(toAddressKey),
  validUntil: anySeconds,
  validAfter: anySeconds,
  options: fc.record({
    priceMarkup: fc.integer({ min: 1_000_000, max: 2_000_000 }),
    unaccountedGas: fc.integer({ min: 0, max: 100_000 }),
    openZeppelin: fc.record({
      domainName: fc.string({ minLength: 1 }),
      domainVersion: fc.string({ minLength: 1 }),
      initCodeHash: fc.constantFrom(...initCodeHashes),
      readsPaymasterSignature: fc.boolean(),
    }),
  }),
});

const anyUint128 = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n });
/** Markups fit into any rate here: 2^254 doubled is still a word. */
const anyRate = fc.oneof(
  fc.bigInt({ min: 1n, max: 2n ** 254n }),
  fc.constantFrom(1n, 10n ** 9n, 10n ** 9n + 1n, 2n ** 64n, 2n ** 254n),
);

export const anyTokenTerms: fc.Arbitrary<TokenTerms> = fc.record({
  chainId: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  paymaster: anyAddress.map(parseAddress),
  token: anyAddress.map(toAddressKey),
  exchangeRate: anyRate,
  priceMarkup: fc.integer({ min: 1_000_000, max: 2_000_000 }),
  validUntil: anySeconds,
  validAfter: anySeconds,
  options: fc.record(
    {
      treasury: anyAddress.map(parseAddress),
      constantFee: anyUint128,
      preFund: anyUint128,
      recipient: anyAddress.map(parseAddress),
    },
    { requiredKeys: ['treasury'] },
  ),
});

export const anySignature = fc.uint8Array({ minLength: 65, maxLength: 65 });

/** One operation for cases that change a field of it. */
export const anExampleOperation: FinalUserOperation = {
  sender: toAddressKey('0x1234567890abcdef1234567890abcdef12345678'),
  nonce: 0x70000000000000005n,
  initCode: `0x${'91'.repeat(20)}5fbfb9cf`,
  callData: '0xb61d27f6',
  callGasLimit: 123_457n,
  verificationGasLimit: 234_567n,
  preVerificationGas: 56_789n,
  maxFeePerGas: 3_000_000_007n,
  maxPriorityFeePerGas: 1_000_000_003n,
  signature: '0xffff',
};

export const exampleTerms: SponsorshipTerms = {
  chainId: 80002,
  paymaster: parseAddress('0x3284b8394Ac082e4212af752B3FDA80777076c05'),
  fundingAddress: toAddressKey('0x95857bffc1cd833cd196af29eb0f61dbc66db4ad'),
  validUntil: 1_893_456_000,
  validAfter: 1_700_000_000,
  options: {
    priceMarkup: 1_100_000,
    unaccountedGas: 50_000,
    openZeppelin: {
      domainName: 'MyPaymasterECDSASigner',
      domainVersion: '1',
      initCodeHash: 'AsGiven',
      readsPaymasterSignature: false,
    },
  },
};

export const exampleTokenTerms: TokenTerms = {
  chainId: 80002,
  paymaster: parseAddress('0x3284b8394Ac082e4212af752B3FDA80777076c05'),
  token: toAddressKey('0x9a676e781a523b5d0c0e43731313a708cb607508'),
  exchangeRate: 3_000_000_001n,
  priceMarkup: 1_100_000,
  validUntil: 1_893_456_000,
  validAfter: 1_700_000_000,
  options: { treasury: parseAddress('0x00000000000000000000000000000000000000AA') },
};
