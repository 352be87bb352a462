import { describe, expect, test } from '@jest/globals';
import { Interface, TypedDataEncoder, hashMessage, recoverAddress, toBeHex, zeroPadValue } from 'ethers';
import fc from 'fast-check';
import type { LayoutId, SponsorshipTerms } from '../../../core/paymaster/layout.js';
import type { PaymasterGas } from '../../../core/entry-point/user-operation.js';
import { layoutIds } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { stubSignature } from '../../../core/paymaster/signature.js';
import { parseAddress, toAddressKey } from '../../../core/units/address.js';
import { bytesToHex, decodedHex } from '../../../core/units/hex.js';
import type { Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import {
  accountGasLimits,
  byEthers,
  byViem,
  gasFees,
  hybrid09Hash,
  paymasterGas,
  singleton06Hash,
  singleton07Hash,
  type Library,
} from './abi-libraries.js';
import { request, requestTypes } from './open-zeppelin-request.js';
import { anExampleOperation, anyOperation, anySignature, anyTerms, exampleTerms } from './operations.js';

type Encoding = (
  library: Library,
  op: FinalUserOperation,
  terms: SponsorshipTerms,
  gas: PaymasterGas,
) => { hash: Hex; data: (signature: Hex) => Hex };

const encodings: Readonly<Record<LayoutId, Encoding>> = {
  'vendor-1.1.0': ({ abi, packed, keccak }, op, terms) => ({
    hash: keccak(
      abi(
        'address,uint256,bytes32,bytes32,uint256,uint256,uint256,uint256,uint256,uint256,address,address,uint48,uint48',
        [
          op.sender,
          op.nonce,
          keccak(op.initCode),
          keccak(op.callData),
          op.callGasLimit,
          op.verificationGasLimit,
          op.preVerificationGas,
          op.maxFeePerGas,
          op.maxPriorityFeePerGas,
          terms.chainId,
          terms.paymaster,
          terms.fundingAddress,
          terms.validUntil,
          terms.validAfter,
        ],
      ),
    ),
    data: (signature) =>
      packed(
        ['bytes', 'bytes'],
        [
          terms.paymaster,
          abi('address,uint48,uint48,bytes', [
            terms.fundingAddress,
            terms.validUntil,
            terms.validAfter,
            signature,
          ]),
        ],
      ),
  }),
  'vendor-2.x': ({ abi, packed, keccak }, op, terms, gas) => ({
    hash: keccak(
      abi(
        'address,uint256,bytes32,bytes32,bytes32,uint256,uint256,bytes32,uint256,address,address,uint48,uint48,uint32',
        [
          op.sender,
          op.nonce,
          keccak(op.initCode),
          keccak(op.callData),
          accountGasLimits(packed, op),
          BigInt(paymasterGas(packed, gas)),
          op.preVerificationGas,
          gasFees(packed, op),
          terms.chainId,
          terms.paymaster,
          terms.fundingAddress,
          terms.validUntil,
          terms.validAfter,
          terms.options.priceMarkup,
        ],
      ),
    ),
    data: (signature) =>
      packed(
        ['bytes', 'bytes', 'bytes', 'uint48', 'uint48', 'uint32', 'bytes'],
        [
          terms.paymaster,
          paymasterGas(packed, gas),
          terms.fundingAddress,
          terms.validUntil,
          terms.validAfter,
          terms.options.priceMarkup,
          signature,
        ],
      ),
  }),
  'singleton-0.6': (library, op, terms) => {
    const { packed } = library;
    const unsigned = packed(
      ['bytes', 'uint8', 'uint48', 'uint48'],
      [terms.paymaster, 1, terms.validUntil, terms.validAfter],
    );
    return {
      hash: singleton06Hash(library, op, terms, unsigned),
      data: (signature) => packed(['bytes', 'bytes'], [unsigned, signature]),
    };
  },
  'singleton-0.7': singleton07,
  'singleton-0.8': singleton07,
  'verifying-0.7': verifying,
  'verifying-0.9': verifying,
  'hybrid-0.9': ({ abi, packed, keccak }, op, terms, gas) => {
    const unsigned = packed(
      ['bytes', 'bytes', 'uint8', 'bytes', 'uint48', 'uint48', 'uint32'],
      [
        terms.paymaster,
        paymasterGas(packed, gas),
        0,
        terms.fundingAddress,
        terms.validUntil,
        terms.validAfter,
        terms.options.priceMarkup,
      ],
    );
    return {
      hash: hybrid09Hash({ abi, packed, keccak }, op, terms, unsigned),
      data: (signature) => packed(['bytes', 'bytes'], [unsigned, signature]),
    };
  },
  'openzeppelin-0.7': openZeppelin,
  'openzeppelin-0.8': openZeppelin,
  'openzeppelin-0.9': openZeppelin,
};

function verifying(
  { abi, packed, keccak }: Library,
  op: FinalUserOperation,
  terms: SponsorshipTerms,
  gas: PaymasterGas,
) {
  return {
    hash: keccak(
      abi('address,uint256,bytes32,bytes32,bytes32,uint256,uint256,bytes32,uint256,address,uint48,uint48', [
        op.sender,
        op.nonce,
        keccak(op.initCode),
        keccak(op.callData),
        accountGasLimits(packed, op),
        BigInt(paymasterGas(packed, gas)),
        op.preVerificationGas,
        gasFees(packed, op),
        terms.chainId,
        terms.paymaster,
        terms.validUntil,
        terms.validAfter,
      ]),
    ),
    data: (signature: Hex) =>
      packed(
        ['bytes', 'bytes', 'bytes', 'bytes'],
        [
          terms.paymaster,
          paymasterGas(packed, gas),
          abi('uint48,uint48', [terms.validUntil, terms.validAfter]),
          signature,
        ],
      ),
  };
}

function openZeppelin(
  { abi, packed, keccak }: Library,
  op: FinalUserOperation,
  terms: SponsorshipTerms,
  gas: PaymasterGas,
) {
  const struct = TypedDataEncoder.hashStruct('UserOperationRequest', requestTypes, request(op, terms, gas));
  return {
    hash: keccak(abi('bytes32,uint256,address', [struct, terms.chainId, terms.paymaster])),
    data: (signature: Hex) =>
      packed(
        ['bytes', 'bytes', 'uint48', 'uint48', 'bytes'],
        [terms.paymaster, paymasterGas(packed, gas), terms.validAfter, terms.validUntil, signature],
      ),
  };
}

function singleton07(library: Library, op: FinalUserOperation, terms: SponsorshipTerms, gas: PaymasterGas) {
  const { packed } = library;
  const unsigned = packed(
    ['bytes', 'bytes', 'uint8', 'uint48', 'uint48'],
    [terms.paymaster, paymasterGas(packed, gas), 1, terms.validUntil, terms.validAfter],
  );
  return {
    hash: singleton07Hash(library, op, terms, unsigned),
    data: (signature: Hex) => packed(['bytes', 'bytes'], [unsigned, signature]),
  };
}

describe.each(layoutIds)('%s', (id) => {
  const { sponsorship } = layouts[id];

  test.each([
    { library: 'ethers', reference: byEthers },
    { library: 'viem', reference: byViem },
  ])('hashes and encodes any operation as $library does', ({ reference }) => {
    fc.assert(
      fc.property(anyOperation, anyTerms, anySignature, (op, terms, signature) => {
        const want = encodings[id](reference, op, terms, sponsorship.gas(terms.options));
        expect(bytesToHex(sponsorship.hash(op, terms))).toBe(want.hash);
        expect(sponsorship.encode(op, terms, signature)).toBe(want.data(bytesToHex(signature)).toLowerCase());
      }),
      { numRuns: 60 },
    );
  });

  test('decodes what it encodes', () => {
    fc.assert(
      fc.property(anyOperation, anyTerms, anySignature, (op, terms, signature) => {
        const decoded = sponsorship.decode(sponsorship.encode(op, terms, signature));
        expect(decoded).toMatchObject({
          paymaster: terms.paymaster.toLowerCase(),
          validUntil: terms.validUntil,
          validAfter: terms.validAfter,
          signature: bytesToHex(signature),
        });
        if (decoded.fundingAddress !== undefined) expect(decoded.fundingAddress).toBe(terms.fundingAddress);
        if (decoded.priceMarkup !== undefined) expect(decoded.priceMarkup).toBe(terms.options.priceMarkup);
        if (decoded.paymasterGas !== undefined)
          expect(decoded.paymasterGas).toEqual(sponsorship.gas(terms.options));
      }),
    );
  });

  test('names its sponsor exactly where its contract keeps balances per sponsor', () => {
    const { fundingAddress } = sponsorship.decode(
      sponsorship.encode(anExampleOperation, exampleTerms, stubSignature()),
    );
    const keepsBalances = sponsorship.fundingBalanceCall !== undefined;
    expect(fundingAddress !== undefined).toBe(keepsBalances);
    expect(layouts[id].chargeEvent !== undefined).toBe(keepsBalances);
    expect(sponsorship.need(anExampleOperation, exampleTerms.options).funding !== undefined).toBe(
      keepsBalances,
    );
  });

  test.each(['0x', '0x12', `0x${'00'.repeat(500)}`, '0xzz'] as const)(
    'refuses to decode other bytes: %.10s',
    (bytes) => {
      expect(() => sponsorship.decode(bytes)).toThrow(RangeError);
    },
  );

  test('refuses a signature of another length', () => {
    for (const length of [0, 64, 66])
      expect(() => sponsorship.encode(anExampleOperation, exampleTerms, new Uint8Array(length))).toThrow(
        RangeError,
      );
  });

  test('a change of any covered field changes the hash', () => {
    const changedOps: readonly Partial<FinalUserOperation>[] = [
      { sender: toAddressKey('0x1234567890abcdef1234567890abcdef12345679') },
      { nonce: anExampleOperation.nonce + 1n },
      { nonce: anExampleOperation.nonce + (1n << 64n) },
      { initCode: '0x' },
      { callData: '0xb61d27f7' },
      { callGasLimit: 123_458n },
      { verificationGasLimit: 234_568n },
      { preVerificationGas: 56_790n },
      { maxFeePerGas: 3_000_000_008n },
      { maxPriorityFeePerGas: 1_000_000_004n },
      // Swapped neighbouring values, since the order matters.
      { callGasLimit: 234_567n, verificationGasLimit: 123_457n },
      { maxFeePerGas: 1_000_000_003n, maxPriorityFeePerGas: 3_000_000_007n },
      { callData: anExampleOperation.initCode, initCode: anExampleOperation.callData },
    ];
    const changedTerms: readonly Partial<SponsorshipTerms>[] = [
      { chainId: 80003 },
      { paymaster: parseAddress('0x3284b8394Ac082e4212af752B3FDA80777076c06') },
      { validUntil: exampleTerms.validUntil + 1 },
      { validAfter: exampleTerms.validAfter + 1 },
      { validUntil: exampleTerms.validAfter, validAfter: exampleTerms.validUntil },
      ...(sponsorship.fundingBalanceCall === undefined
        ? []
        : [{ fundingAddress: toAddressKey('0x95857bffc1cd833cd196af29eb0f61dbc66db4ae') }]),
      ...(id === 'vendor-2.x' || id === 'hybrid-0.9'
        ? [{ options: { ...exampleTerms.options, priceMarkup: 1_100_001 } }]
        : []),
      ...(id === 'vendor-2.x' ? [{ options: { ...exampleTerms.options, unaccountedGas: 50_001 } }] : []),
    ];
    const hashes = [
      sponsorship.hash(anExampleOperation, exampleTerms),
      ...changedOps.map((change) => sponsorship.hash({ ...anExampleOperation, ...change }, exampleTerms)),
      ...changedTerms.map((change) => sponsorship.hash(anExampleOperation, { ...exampleTerms, ...change })),
    ].map(bytesToHex);
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  test('the callData that is signed is the one of the operation, whatever bytes it was copied with', () => {
    fc.assert(
      fc.property(anyOperation, anyTerms, anyOperation, (op, terms, { callData }) => {
        const hash = bytesToHex(sponsorship.hash(op, terms));
        for (const callDataBytes of [decodedHex(op.callData), decodedHex(callData)])
          expect(bytesToHex(sponsorship.hash({ ...op, callDataBytes }, terms))).toBe(hash);
      }),
    );
  });

  test('what is not covered does not change the hash', () => {
    const resigned = { ...anExampleOperation, signature: '0x00' as const };
    expect(sponsorship.hash(resigned, exampleTerms)).toEqual(
      sponsorship.hash(anExampleOperation, exampleTerms),
    );
  });

  test('getHashCall carries the operation and the terms', () => {
    // Contracts without a view of the hash have one of their EIP-712 domain.
    if (sponsorship.getHashCall === undefined) {
      expect(sponsorship.domainCall).toBeDefined();
      return;
    }
    const data = sponsorship.getHashCall(anExampleOperation, exampleTerms);
    expect(data).toContain(anExampleOperation.sender.slice(2));
    expect(data).toContain(exampleTerms.validUntil.toString(16));
    expect(data.length).toBeGreaterThan(500);
  });

  test('signerCall accepts the signer only', () => {
    const signer = parseAddress('0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC');
    const { data, isAuthorised } = sponsorship.signerCall(signer);
    const asksForSet = data.length > 10;
    const yes = asksForSet ? toBeHex(1, 32) : zeroPadValue(signer, 32);
    const no = asksForSet ? toBeHex(0, 32) : zeroPadValue(exampleTerms.paymaster, 32);
    expect(isAuthorised(yes as Hex)).toBe(true);
    expect(isAuthorised(no as Hex)).toBe(false);
    expect(() => isAuthorised('0x')).toThrow(RangeError);
  });
});

describe('the need of deposit', () => {
  const op = {
    ...anExampleOperation,
    callGasLimit: 100_000n,
    verificationGasLimit: 200_000n,
    preVerificationGas: 50_000n,
    maxFeePerGas: 7n,
  };
  const options = { priceMarkup: 1_100_000, unaccountedGas: 60_000 };
  const prefund07 = (gas: bigint) => (350_000n + gas) * 7n;

  test.each<{ id: LayoutId; entryPoint: bigint; funding: bigint | undefined }>([
    { id: 'vendor-1.1.0', entryPoint: 750_000n * 7n, funding: 750_000n * 7n },
    // (prefund + 60,000 x 7) x 1.1 + 10 % of (100,000 + 60,000) x 7
    { id: 'vendor-2.x', entryPoint: prefund07(110_000n), funding: 4_004_000n + 112_000n },
    { id: 'singleton-0.6', entryPoint: 750_000n * 7n, funding: undefined },
    { id: 'singleton-0.7', entryPoint: prefund07(40_000n), funding: undefined },
    { id: 'singleton-0.8', entryPoint: prefund07(40_000n), funding: undefined },
    { id: 'verifying-0.7', entryPoint: prefund07(30_000n), funding: undefined },
    { id: 'verifying-0.9', entryPoint: prefund07(30_000n), funding: undefined },
    // (prefund + 10,000 x 7) x 1.1; no fine on 40,000
    { id: 'hybrid-0.9', entryPoint: prefund07(90_000n), funding: 3_465_000n },
    { id: 'openzeppelin-0.9', entryPoint: prefund07(40_000n), funding: undefined },
  ])('of $id', ({ id, entryPoint, funding }) => {
    expect(layouts[id].sponsorship.need(op, options)).toEqual({ entryPoint, funding });
  });

  test('of vendor-2.x is never below the contract’s own figure, and at most 2 wei above it', () => {
    fc.assert(
      fc.property(anyOperation, anyTerms, (any, { options: anyOptions }) => {
        const gas = layouts['vendor-2.x'].sponsorship.gas(anyOptions);
        const post = gas.paymasterPostOpGasLimit;
        const limits =
          any.callGasLimit +
          any.verificationGasLimit +
          any.preVerificationGas +
          gas.paymasterVerificationGasLimit +
          post;
        const overhead = BigInt(anyOptions.unaccountedGas) * any.maxFeePerGas;
        const contract =
          ((limits * any.maxFeePerGas + overhead) * BigInt(anyOptions.priceMarkup)) / 1_000_000n +
          ((any.callGasLimit + post) * any.maxFeePerGas * 10n) / 100n;
        const need = layouts['vendor-2.x'].sponsorship.need(any, anyOptions).funding ?? 0n;
        expect(need - contract).toBeGreaterThanOrEqual(0n);
        expect(need - contract).toBeLessThanOrEqual(2n);
      }),
    );
  });

  test('postOp of vendor-2.x gets at least what the contract demands', () => {
    for (const unaccountedGas of [0, 50_000, 60_000])
      expect(
        layouts['vendor-2.x'].sponsorship.gas({ priceMarkup: 1_000_000, unaccountedGas })
          .paymasterPostOpGasLimit,
      ).toBe(BigInt(Math.max(50_000, unaccountedGas)));
  });
});

describe('events by which contracts name the sponsor they charged', () => {
  const sponsor = exampleTerms.fundingAddress;
  test.each<{ id: LayoutId; event: string; values: readonly unknown[] }>([
    {
      id: 'vendor-1.1.0',
      event: 'event GasBalanceDeducted(address indexed id, uint256 indexed charge)',
      values: [sponsor, 5n],
    },
    {
      id: 'vendor-2.x',
      event: 'event GasBalanceDeducted(address indexed id, uint256 indexed charge, uint256 indexed premium)',
      values: [sponsor, 5n, 6n],
    },
    {
      id: 'hybrid-0.9',
      event: 'event GasBalanceDeducted(address indexed id, uint256 indexed charge, uint256 indexed premium)',
      values: [sponsor, 5n, 6n],
    },
  ])('$id', ({ id, event, values }) => {
    const log = new Interface([event]).encodeEventLog('GasBalanceDeducted', values);
    const { chargeEvent } = layouts[id];
    expect(chargeEvent?.topic0).toBe(log.topics[0]);
    expect(chargeEvent?.fundingAddress({ topics: log.topics as Hex[], data: '0x' })).toBe(sponsor);
  });
});

test('the stub signature is recoverable, with low s and no zero byte', () => {
  const stub = stubSignature();
  expect(stub).toHaveLength(65);
  expect([...stub]).not.toContain(0);
  for (const text of ['a', 'b', 'c'])
    expect(recoverAddress(hashMessage(text), bytesToHex(stub))).toMatch(/^0x/);
  expect(BigInt(bytesToHex(stub.subarray(32, 64)))).toBeLessThan(2n ** 255n);
});
