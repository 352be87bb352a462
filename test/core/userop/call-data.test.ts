import { describe, expect, test } from '@jest/globals';
import { AbiCoder, Interface, concat, toBeHex } from 'ethers';
import fc from 'fast-check';
import { accountFunctions, multiSendContracts } from '../../../core/userop/account-functions.js';
import { decodeCalls } from '../../../core/userop/call-data.js';
import { maxCalls } from '../../../core/userop/call.js';
import { decodedHex } from '../../../core/units/hex.js';
import type { Hex } from '../../../core/units/hex.js';

type PlainCall = { readonly target: string; readonly value: bigint; readonly data: string };

const targets = ['0x00000000000000000000000000000000000000aa', '0xffffffffffffffffffffffffffffffffffffffff'];
const aCall = (over: Partial<PlainCall> = {}): PlainCall => ({
  target: '0x1111111111111111111111111111111111111111',
  value: 0n,
  data: '0xa9059cbb',
  ...over,
});

const anyHex = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);
const anyAddress = fc.oneof(
  fc.constantFrom(...targets),
  fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`),
);
const anyCall: fc.Arbitrary<PlainCall> = fc.record({
  target: anyAddress,
  value: fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })),
  data: anyHex(100),
});
const anyBatch = fc.array(anyCall, { maxLength: 6 });

// Parsing an ABI costs ethers more than using it.
const abis = new Map<string, Interface>();
function abiOf(signature: string): Interface {
  const abi = abis.get(signature) ?? new Interface([`function ${signature}`]);
  abis.set(signature, abi);
  return abi;
}

function encode(signature: string, values: readonly unknown[]): Hex {
  return abiOf(signature).encodeFunctionData(signature.slice(0, signature.indexOf('(')), values) as Hex;
}

const batchValues = (calls: readonly PlainCall[]) => [
  calls.map(({ target }) => target),
  calls.map(({ value }) => value),
  calls.map(({ data }) => data),
];
const tuples = (calls: readonly PlainCall[]) => calls.map(({ target, value, data }) => [target, value, data]);
const tupleType = 'tuple(address,uint256,bytes)[]';
const mode = (text: string) => `0x${text.padEnd(64, '0')}`;
const packed7579 = ({ target, value, data }: PlainCall) => concat([target, toBeHex(value, 32), data]);

/** Every form of call data in which an account gets its calls, encoded by ethers. */
const singleForms: readonly { readonly name: string; readonly encode: (call: PlainCall) => Hex }[] = [
  ...['execute', 'execute_ncC', 'executeCall'].map((name) => ({
    name,
    encode: ({ target, value, data }: PlainCall) =>
      encode(`${name}(address,uint256,bytes)`, [target, value, data]),
  })),
  ...['executeUserOp', 'executeUserOpWithErrorString'].map((name) => ({
    name,
    encode: ({ target, value, data }: PlainCall) =>
      encode(`${name}(address,uint256,bytes,uint8)`, [target, value, data, 0]),
  })),
  ...['00', '0001', 'fe'].map((type) => ({
    name: `ERC-7579 mode ${type}`,
    encode: (call: PlainCall) => encode('execute(bytes32,bytes)', [mode(type), packed7579(call)]),
  })),
];
const batchForms: readonly {
  readonly name: string;
  readonly encode: (calls: readonly PlainCall[]) => Hex;
}[] = [
  ...['executeBatch', 'executeBatch_y6U', 'executeBatchCall'].map((name) => ({
    name,
    encode: (calls: readonly PlainCall[]) =>
      encode(`${name}(address[],uint256[],bytes[])`, batchValues(calls)),
  })),
  {
    name: 'executeBatch of structs',
    encode: (calls) => encode(`executeBatch(${tupleType})`, [tuples(calls)]),
  },
  ...['01', '0101'].map((type) => ({
    name: `ERC-7579 mode ${type}`,
    encode: (calls: readonly PlainCall[]) =>
      encode('execute(bytes32,bytes)', [
        mode(type),
        AbiCoder.defaultAbiCoder().encode([tupleType], [tuples(calls)]),
      ]),
  })),
];

const packTransaction = (call: PlainCall, operation = 0) =>
  concat([
    toBeHex(operation, 1),
    call.target,
    toBeHex(call.value, 32),
    toBeHex((call.data.length - 2) / 2, 32),
    call.data,
  ]);
const multiSend = (transactions: readonly string[], address = [...multiSendContracts][0]) =>
  encode('executeUserOp(address,uint256,bytes,uint8)', [
    address,
    0n,
    encode('multiSend(bytes)', [concat(transactions)]),
    1,
  ]);

/** The decoded calls with their data read back through the ranges. */
function plain(callData: Hex): readonly PlainCall[] | string {
  const decoded = decodeCalls(callData);
  if (decoded.outcome === 'refused') return decoded.reason;
  return decoded.calls.map(({ target, value, selector, data }) => {
    const text = callData.slice(2 + 2 * data.start, 2 + 2 * data.end);
    expect(selector).toBe(`0x${text.slice(0, 8)}`);
    return { target, value, data: `0x${text}` };
  });
}

describe('what ethers encodes is read back', () => {
  test.each(singleForms)('$name', (form) => {
    fc.assert(fc.property(anyCall, (call) => expect(plain(form.encode(call))).toEqual([call])));
  });

  test.each(batchForms)('$name', (form) => {
    fc.assert(fc.property(anyBatch, (calls) => expect(plain(form.encode(calls))).toEqual(calls)));
  });

  test('executeBatch(address[],bytes[]) sends no value', () => {
    fc.assert(
      fc.property(anyBatch, (calls) => {
        const [to, , data] = batchValues(calls);
        const callData = encode('executeBatch(address[],bytes[])', [to, data]);
        expect(plain(callData)).toEqual(calls.map((call) => ({ ...call, value: 0n })));
      }),
    );
  });

  test('executeBatch(address[],uint256[],bytes[]) without values sends none', () => {
    const callData = encode('executeBatch(address[],uint256[],bytes[])', [[targets[0]], [], ['0x01']]);
    expect(plain(callData)).toEqual([{ target: targets[0], value: 0n, data: '0x01' }]);
  });

  test('MultiSend is expanded at each known address', () => {
    fc.assert(
      fc.property(anyBatch, fc.constantFrom(...multiSendContracts), (calls, address) => {
        const callData = multiSend(
          calls.map((call) => packTransaction(call)),
          address,
        );
        expect(plain(callData)).toEqual(calls);
      }),
    );
  });

  test('empty callData contains no call', () => {
    expect(decodeCalls('0x')).toMatchObject({ outcome: 'calls', calls: [] });
  });

  test('bytes that were passed along count only if they belong to this callData', () => {
    const [callData, other] = [targets[0], targets[1]].map((target) =>
      encode('execute(address,uint256,bytes)', [target, 1n, '0x01']),
    ) as [Hex, Hex];
    const decoded = decodeCalls(callData);
    expect(decodeCalls(callData, decodedHex(callData))).toEqual(decoded);
    expect(decodeCalls(callData, decodedHex(other))).toEqual(decoded);
    expect(decodeCalls(callData, decodedHex('0x'))).toEqual(decoded);
  });

  test('bytes after the arguments are ignored, as accounts ignore them', () => {
    const callData = encode('execute(address,uint256,bytes)', [targets[0], 1n, '0x01']);
    expect(plain(`${callData}c0ffee`)).toEqual([{ target: targets[0], value: 1n, data: '0x01' }]);
  });
});

test('the table’s selectors are those of its signatures', () => {
  for (const [selector, { signature }] of accountFunctions) {
    const name = signature.slice(0, signature.indexOf('('));
    expect(new Interface([`function ${signature}`]).getFunction(name)?.selector).toBe(selector);
  }
});

describe('what is refused', () => {
  const execute = encode('execute(address,uint256,bytes)', [
    '0x1111111111111111111111111111111111111111',
    0n,
    '0xa9059cbb',
  ]);
  const word = (index: number, value: string): Hex =>
    `${execute.slice(0, 10 + 64 * index)}${value.padStart(64, '0')}${execute.slice(10 + 64 * (index + 1))}` as Hex;
  const many = Array.from({ length: maxCalls + 1 }, () => aCall());

  test.each<{ name: string; callData: Hex; reason: string }>([
    { name: 'less than a selector', callData: '0xb61d27', reason: 'CALLDATA_UNDECODABLE' },
    { name: 'an unknown selector', callData: '0xdeadbeef', reason: 'ACCOUNT_UNKNOWN' },
    { name: 'a selector alone', callData: '0xb61d27f6', reason: 'CALLDATA_UNDECODABLE' },
    {
      name: 'a cut-off address',
      callData: '0xb61d27f6000000000000000000000000deaddead01',
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'dirty address padding',
      callData: word(0, `01${'11'.repeat(20)}`),
      reason: 'CALLDATA_UNDECODABLE',
    },
    { name: 'an offset outside', callData: word(2, '1000'), reason: 'CALLDATA_UNDECODABLE' },
    { name: 'an offset into the head', callData: word(2, '20'), reason: 'CALLDATA_UNDECODABLE' },
    { name: 'a huge offset', callData: word(2, 'f'.repeat(64)), reason: 'CALLDATA_UNDECODABLE' },
    { name: 'a length outside', callData: word(3, '21'), reason: 'CALLDATA_UNDECODABLE' },
    { name: 'a huge length', callData: word(3, 'f'.repeat(64)), reason: 'CALLDATA_UNDECODABLE' },
    { name: 'bytes without padding', callData: execute.slice(0, -56) as Hex, reason: 'CALLDATA_UNDECODABLE' },
    {
      name: 'a batch of unequal lengths',
      callData: encode('executeBatch(address[],bytes[])', [targets, ['0x']]),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'more values than targets',
      callData: encode('executeBatch(address[],uint256[],bytes[])', [[targets[0]], [0n, 1n], ['0x']]),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'too many calls in a batch',
      callData: encode(`executeBatch(${tupleType})`, [tuples(many)]),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'too many calls in multiSend',
      callData: multiSend(many.map((call) => packTransaction(call))),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'a delegate call of a Safe',
      callData: encode('executeUserOp(address,uint256,bytes,uint8)', [targets[0], 0n, '0x01020304', 1]),
      reason: 'DELEGATE_CALL',
    },
    {
      name: 'multiSend at an unknown address',
      callData: multiSend([packTransaction(aCall())], targets[0]),
      reason: 'DELEGATE_CALL',
    },
    {
      name: 'another function of MultiSend',
      callData: encode('executeUserOp(address,uint256,bytes,uint8)', [
        [...multiSendContracts][0],
        0n,
        '0x01020304',
        1,
      ]),
      reason: 'DELEGATE_CALL',
    },
    {
      name: 'a delegate call inside multiSend',
      callData: multiSend([packTransaction(aCall(), 1)]),
      reason: 'DELEGATE_CALL',
    },
    {
      name: 'an unknown operation inside multiSend',
      callData: multiSend([packTransaction(aCall(), 2)]),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'target 0 inside multiSend',
      callData: multiSend([packTransaction(aCall({ target: `0x${'00'.repeat(20)}` }))]),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'a cut-off transaction in multiSend',
      callData: multiSend([packTransaction(aCall()), '0x00']),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'a length beyond multiSend',
      callData: multiSend([packTransaction(aCall()).slice(0, -2)]),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'a Safe operation above 1',
      callData: encode('executeUserOp(address,uint256,bytes,uint8)', [targets[0], 0n, '0x', 2]),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'an ERC-7579 delegate call',
      callData: encode('execute(bytes32,bytes)', [mode('ff'), '0x']),
      reason: 'DELEGATE_CALL',
    },
    {
      name: 'an unknown ERC-7579 call type',
      callData: encode('execute(bytes32,bytes)', [mode('02'), packed7579(aCall())]),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'an unknown ERC-7579 exec type',
      callData: encode('execute(bytes32,bytes)', [mode('0002'), packed7579(aCall())]),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'an ERC-7821 mode',
      callData: encode('execute(bytes32,bytes)', [
        mode('01000000000078210001'),
        AbiCoder.defaultAbiCoder().encode([tupleType], [tuples([aCall()])]),
      ]),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'a short ERC-7579 single',
      callData: encode('execute(bytes32,bytes)', [mode('00'), `0x${'11'.repeat(51)}`]),
      reason: 'CALLDATA_UNDECODABLE',
    },
  ])('$name is $reason', ({ callData, reason }) => {
    const decoded = decodeCalls(callData);
    expect(decoded).toMatchObject({ outcome: 'refused', reason });
    expect(decoded.outcome === 'refused' && decoded.detail.length).toBeGreaterThan(10);
  });
});

describe('nothing is accepted that ethers reads otherwise', () => {
  /** Calls by ethers alone; throws what ethers throws. */
  const byEthers: Readonly<Record<string, (callData: Hex) => readonly PlainCall[]>> = {
    'execute(address,uint256,bytes)': (callData) => {
      const [target, value, data] = decodeDeep('execute(address,uint256,bytes)', callData);
      return [{ target, value, data } as PlainCall];
    },
    'executeBatch(address[],uint256[],bytes[])': (callData) => {
      const [to, values, datas] = decodeDeep('executeBatch(address[],uint256[],bytes[])', callData) as [
        string[],
        bigint[],
        string[],
      ];
      return to.map((target, i) => ({ target, value: values[i] ?? 0n, data: datas[i] ?? '0x' }));
    },
    'executeBatch((address,uint256,bytes)[])': (callData) => {
      const [calls] = decodeDeep(`executeBatch(${tupleType})`, callData) as [[string, bigint, string][]];
      return calls.map(([target, value, data]) => ({ target, value, data }));
    },
  };

  function decodeDeep(signature: string, callData: Hex): unknown[] {
    const name = signature.slice(0, signature.indexOf('('));
    return abiOf(signature).decodeFunctionData(name, callData).toArray(true);
  }

  const mutations = fc.array(
    fc.record({
      at: fc.nat(2000),
      to: fc.constantFrom('00', '01', '20', '40', '60', '80', 'a0', 'ff'),
    }),
    { minLength: 1, maxLength: 3 },
  );
  // Bytes that matter most: the last of each word, where offsets and lengths have theirs.
  const mutate = (callData: Hex, changes: readonly { at: number; to: string }[]): Hex => {
    const words = Math.floor((callData.length - 10) / 64);
    return changes.reduce((text, { at, to }) => {
      const end = 10 + 64 * (1 + (at % Math.max(words, 1)));
      return `${text.slice(0, end - 2)}${to}${text.slice(end)}` as Hex;
    }, callData);
  };

  test.each(Object.keys(byEthers))('%s, offsets and lengths changed at random', (signature) => {
    const seen = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(fc.array(anyCall, { minLength: 1, maxLength: 4 }), mutations, (calls, changes) => {
        const original =
          signature === 'execute(address,uint256,bytes)'
            ? encode(signature, tuples(calls)[0] ?? [])
            : signature.includes('((')
              ? encode(`executeBatch(${tupleType})`, [tuples(calls)])
              : encode(signature, batchValues(calls));
        const mutated = mutate(original, changes);
        const ours = plain(mutated);
        if (typeof ours === 'string') {
          seen.refused += 1;
          return;
        }
        seen.accepted += 1;
        const theirs = byEthers[signature]?.(mutated) ?? [];
        expect(ours).toEqual(theirs.map((call) => ({ ...call, target: call.target.toLowerCase() })));
      }),
      { numRuns: 200 },
    );
    // Both outcomes occur often, so neither half of the property is empty.
    expect(seen.accepted).toBeGreaterThan(15);
    expect(seen.refused).toBeGreaterThan(15);
  });
});
