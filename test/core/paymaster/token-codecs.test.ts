import { describe, expect, test } from '@jest/globals';
import { EventFragment, Interface } from 'ethers';
import fc from 'fast-check';
import type { LayoutId, TokenCodec, TokenTerms } from '../../../core/paymaster/layout.js';
import type { PaymasterGas } from '../../../core/entry-point/user-operation.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { stubSignature } from '../../../core/paymaster/signature.js';
import { parseAddress, toAddressKey, zeroAddress } from '../../../core/units/address.js';
import { bytesToHex } from '../../../core/units/hex.js';
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
import {
  anExampleOperation,
  anyOperation,
  anySignature,
  anyTokenTerms,
  exampleTokenTerms,
} from './operations.js';

const tokenLayouts = [
  'vendor-1.1.0',
  'vendor-2.x',
  'singleton-0.6',
  'singleton-0.7',
  'singleton-0.8',
  'hybrid-0.9',
] as const;
type TokenLayout = (typeof tokenLayouts)[number];

function codecOf(id: LayoutId): TokenCodec {
  const { token } = layouts[id];
  if (token === undefined) throw new Error(`layout ${id} has no token mode`);
  return token;
}

type Encoding = (
  library: Library,
  op: FinalUserOperation,
  terms: TokenTerms,
  gas: PaymasterGas,
) => { hash: Hex; data: (signature: Hex) => Hex };

const encodings: Readonly<Record<TokenLayout, Encoding>> = {
  'vendor-1.1.0': ({ abi, packed, keccak }, op, terms) => {
    const tail = 'uint48,uint48,address,address,uint256,uint32';
    const values = [
      terms.validUntil,
      terms.validAfter,
      terms.token,
      zeroAddress,
      terms.exchangeRate,
      terms.priceMarkup,
    ];
    return {
      hash: keccak(
        abi(
          `address,uint256,bytes32,bytes32,uint256,uint256,uint256,uint256,uint256,uint256,address,uint8,${tail}`,
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
            0,
            ...values,
          ],
        ),
      ),
      data: (signature) =>
        packed(['bytes', 'uint8', 'bytes', 'bytes'], [terms.paymaster, 0, abi(tail, values), signature]),
    };
  },
  'vendor-2.x': ({ abi, packed, keccak }, op, terms, gas) => ({
    hash: keccak(
      abi(
        'address,uint256,bytes32,bytes32,bytes32,uint256,uint256,bytes32,uint256,address,uint48,uint48,address,uint256,uint32',
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
          terms.validUntil,
          terms.validAfter,
          terms.token,
          terms.exchangeRate,
          terms.priceMarkup,
        ],
      ),
    ),
    data: (signature) =>
      packed(
        ['bytes', 'bytes', 'uint8', 'uint48', 'uint48', 'bytes', 'uint256', 'uint32', 'bytes'],
        [
          terms.paymaster,
          paymasterGas(packed, gas),
          0,
          terms.validUntil,
          terms.validAfter,
          terms.token,
          terms.exchangeRate,
          terms.priceMarkup,
          signature,
        ],
      ),
  }),
  'singleton-0.6': (library, op, terms) => {
    const { packed } = library;
    const unsigned = packed(['bytes', 'bytes'], [terms.paymaster, singletonTail(library, terms, 65_000n)]);
    return {
      hash: singleton06Hash(library, op, terms, unsigned),
      data: (signature) => packed(['bytes', 'bytes'], [unsigned, signature]),
    };
  },
  'singleton-0.7': singleton07,
  'singleton-0.8': singleton07,
  'hybrid-0.9': (library, op, terms, gas) => {
    const { packed } = library;
    const unsigned = packed(
      ['bytes', 'bytes', 'uint8', 'uint48', 'uint48', 'bytes', 'uint256', 'uint32'],
      [
        terms.paymaster,
        paymasterGas(packed, gas),
        1,
        terms.validUntil,
        terms.validAfter,
        terms.token,
        terms.exchangeRate,
        terms.priceMarkup,
      ],
    );
    return {
      hash: hybrid09Hash(library, op, terms, unsigned),
      data: (signature) => packed(['bytes', 'bytes'], [unsigned, signature]),
    };
  },
};

function singleton07(library: Library, op: FinalUserOperation, terms: TokenTerms, gas: PaymasterGas) {
  const { packed } = library;
  const unsigned = packed(
    ['bytes', 'bytes', 'bytes'],
    [terms.paymaster, paymasterGas(packed, gas), singletonTail(library, terms, 65_000n)],
  );
  return {
    hash: singleton07Hash(library, op, terms, unsigned),
    data: (signature: Hex) => packed(['bytes', 'bytes'], [unsigned, signature]),
  };
}

/** From the mode byte to the last option. The premium is in the rate; without a constant fee one base unit is charged more. */
function singletonTail({ packed }: Library, terms: TokenTerms, postOpGas: bigint): Hex {
  const { treasury, preFund, recipient } = terms.options;
  const rate = (terms.exchangeRate * BigInt(terms.priceMarkup) + 999_999n) / 1_000_000n;
  const constantFee = terms.options.constantFee ?? 1n;
  const flags = 1 + (recipient === undefined ? 0 : 2) + (preFund === undefined ? 0 : 4);
  return packed(
    [
      'uint8',
      'uint8',
      'uint48',
      'uint48',
      'bytes',
      'uint128',
      'uint256',
      'uint128',
      'bytes',
      'bytes',
      'bytes',
      'bytes',
    ],
    [
      3,
      flags,
      terms.validUntil,
      terms.validAfter,
      terms.token,
      postOpGas,
      rate,
      1n,
      treasury,
      preFund === undefined ? '0x' : packed(['uint128'], [preFund]),
      packed(['uint128'], [constantFee]),
      recipient ?? '0x',
    ],
  );
}

describe.each(tokenLayouts)('%s', (id) => {
  const codec = codecOf(id);
  const hasMarkup = !id.startsWith('singleton');

  test.each([
    { library: 'ethers', reference: byEthers },
    { library: 'viem', reference: byViem },
  ])('hashes and encodes any operation as $library does', ({ reference }) => {
    fc.assert(
      fc.property(anyOperation, anyTokenTerms, anySignature, (op, terms, signature) => {
        const want = encodings[id](reference, op, terms, codec.gas(terms.options));
        expect(bytesToHex(codec.hash(op, terms))).toBe(want.hash);
        expect(codec.encode(op, terms, signature)).toBe(want.data(bytesToHex(signature)).toLowerCase());
      }),
      { numRuns: 60 },
    );
  });

  test('decodes what it encodes', () => {
    fc.assert(
      fc.property(anyOperation, anyTokenTerms, anySignature, (op, terms, signature) => {
        const decoded = codec.decode(codec.encode(op, terms, signature));
        expect(decoded).toMatchObject({
          paymaster: terms.paymaster.toLowerCase(),
          token: terms.token,
          validUntil: terms.validUntil,
          validAfter: terms.validAfter,
          signature: bytesToHex(signature),
        });
        expect(decoded.priceMarkup).toBe(hasMarkup ? terms.priceMarkup : undefined);
        expect(decoded.treasury).toBe(hasMarkup ? undefined : terms.options.treasury?.toLowerCase());
        expect(
          decoded.exchangeRate * (hasMarkup ? BigInt(terms.priceMarkup) : 1_000_000n),
        ).toBeGreaterThanOrEqual(terms.exchangeRate * BigInt(terms.priceMarkup));
      }),
    );
  });

  test.each(['0x', '0x12', `0x${'00'.repeat(250)}`, `0x${'03'.repeat(500)}`, '0xzz'] as const)(
    'refuses to decode other bytes: %.10s',
    (bytes) => {
      expect(() => codec.decode(bytes)).toThrow(RangeError);
    },
  );

  test('refuses data of another mode and with flags that it does not know', () => {
    const good = codec.encode(anExampleOperation, exampleTokenTerms, stubSignature());
    const modeAt = id.endsWith('0.6') || id === 'vendor-1.1.0' ? 20 : 52;
    // No layout has a mode 2 here.
    for (const [offset, byte] of [[modeAt, 2], ...(hasMarkup ? [] : [[modeAt + 1, 8] as const])] as const) {
      const bytes = Buffer.from(good.slice(2), 'hex');
      bytes[offset] = byte;
      expect(() => codec.decode(bytesToHex(bytes))).toThrow(RangeError);
    }
  });

  test('refuses a signature of another length', () => {
    for (const length of [0, 64, 66])
      expect(() => codec.encode(anExampleOperation, exampleTokenTerms, new Uint8Array(length))).toThrow(
        RangeError,
      );
  });

  test.each<{ name: string; change: Partial<TokenTerms> }>([
    { name: 'a rate of 0', change: { exchangeRate: 0n } },
    { name: 'a negative rate', change: { exchangeRate: -1n } },
    { name: 'a rate wider than a word', change: { exchangeRate: 2n ** 256n } },
    { name: 'a discount', change: { priceMarkup: 999_999 } },
    { name: 'a premium above 100 %', change: { priceMarkup: 2_000_001 } },
    { name: 'half a part per million', change: { priceMarkup: 1_000_000.5 } },
  ])('never signs $name', ({ change }) => {
    const terms = { ...exampleTokenTerms, ...change };
    expect(() => codec.hash(anExampleOperation, terms)).toThrow(RangeError);
    expect(() => codec.encode(anExampleOperation, terms, stubSignature())).toThrow(RangeError);
    expect(() => codec.maxTokenCharge(anExampleOperation, terms)).toThrow(RangeError);
  });

  test('needs a treasury exactly where its data names one', () => {
    const terms = { ...exampleTokenTerms, options: {} };
    const hash = () => codec.hash(anExampleOperation, terms);
    expect(codec.namesTreasury).toBe(!hasMarkup);
    if (codec.namesTreasury) expect(hash).toThrow('options.treasury must be given');
    else expect(hash()).toHaveLength(32);
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
      { callGasLimit: 234_567n, verificationGasLimit: 123_457n },
      { callData: anExampleOperation.initCode, initCode: anExampleOperation.callData },
    ];
    const other = parseAddress('0x3284b8394Ac082e4212af752B3FDA80777076c06');
    const { options } = exampleTokenTerms;
    const changedTerms: readonly Partial<TokenTerms>[] = [
      { chainId: 80003 },
      { paymaster: other },
      { token: toAddressKey(other) },
      { exchangeRate: exampleTokenTerms.exchangeRate + 1n },
      { priceMarkup: 1_100_001 },
      { validUntil: exampleTokenTerms.validUntil + 1 },
      { validAfter: exampleTokenTerms.validAfter + 1 },
      ...(hasMarkup
        ? []
        : [
            { options: { treasury: other } },
            { options: { ...options, constantFee: 5n } },
            { options: { ...options, preFund: 5n } },
            { options: { ...options, recipient: other } },
          ]),
    ];
    const hashes = [
      codec.hash(anExampleOperation, exampleTokenTerms),
      ...changedOps.map((change) => codec.hash({ ...anExampleOperation, ...change }, exampleTokenTerms)),
      ...changedTerms.map((change) => codec.hash(anExampleOperation, { ...exampleTokenTerms, ...change })),
    ].map(bytesToHex);
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  test('the contract has no token account exactly where no balance is drawn on but its own deposit', () => {
    const { funding } = codec.need(anExampleOperation, exampleTokenTerms.options);
    expect(funding === undefined).toBe(codec.tokenAccountCall === undefined);
  });
});

describe('events that say what was charged', () => {
  const userOpHash: Hex = `0x${'ab'.repeat(32)}`;
  const paymaster = toAddressKey(exampleTokenTerms.paymaster);
  const { token } = exampleTokenTerms;
  const sender = anExampleOperation.sender;
  const paidGas =
    'event PaidGasInTokens(address indexed sender, address indexed token, uint256 gasCost, uint256 tokenCharge, uint32 markup, uint256 rate, bytes32 userOpHash)';
  const sponsored =
    'event UserOperationSponsored(bytes32 indexed userOpHash, address indexed user, uint8 mode, address token, uint256 amount, uint256 rate)';
  const oldVendor =
    'event TokenPaymasterOperation(address indexed sender, address indexed token, uint256 indexed totalCharge, address oracleAggregator, uint32 priceMarkup, bytes32 userOpHash, uint256 exchangeRate, uint8 priceSource)';

  type Row = { id: TokenLayout; event: string; values: (amount: bigint) => readonly unknown[] };
  const rows: readonly Row[] = [
    {
      id: 'vendor-1.1.0',
      event: paidGas,
      values: (amount) => [sender, token, 7n, amount, 1, 9n, userOpHash],
    },
    {
      id: 'vendor-1.1.0',
      event: oldVendor,
      values: (amount) => [sender, token, amount, zeroAddress, 1, userOpHash, 9n, 0],
    },
    { id: 'vendor-2.x', event: paidGas, values: (amount) => [sender, token, 7n, amount, 1, 9n, userOpHash] },
    { id: 'hybrid-0.9', event: paidGas, values: (amount) => [sender, token, 7n, amount, 1, 9n, userOpHash] },
    ...(['singleton-0.6', 'singleton-0.7', 'singleton-0.8'] as const).map((id) => ({
      id,
      event: sponsored,
      values: (amount: bigint) => [userOpHash, sender, 1, token, amount, 9n],
    })),
  ];

  test.each(rows)('$id: $event', ({ id, event, values }) => {
    const codec = codecOf(id);
    const abi = new Interface([event]);
    const logOf = (amount: bigint) => {
      const { data, topics } = abi.encodeEventLog(EventFragment.from(event), values(amount));
      return { address: paymaster, topics: topics as Hex[], data: data as Hex };
    };
    const log = logOf(55n);
    expect(codec.chargeTopics).toContain(log.topics[0]);
    const operation = { paymaster, userOpHash };
    const unrelated = { ...log, topics: [`0x${'00'.repeat(32)}` as Hex], data: '0x' as const };
    expect(codec.chargeOf([unrelated, log], operation)).toEqual({ token, amount: 55n });
    expect(codec.chargeOf([{ ...log, address: exampleTokenTerms.paymaster }], operation)).toBeDefined();

    expect(codec.chargeOf([], operation)).toBeUndefined();
    expect(codec.chargeOf([logOf(0n)], operation)).toBeUndefined();
    expect(codec.chargeOf([{ ...log, address: token }], operation)).toBeUndefined();
    expect(codec.chargeOf([log], { paymaster, userOpHash: `0x${'ac'.repeat(32)}` })).toBeUndefined();
    expect(
      codec.chargeOf([{ ...log, data: '0x', topics: log.topics.slice(0, 1) }], operation),
    ).toBeUndefined();
  });
});
