import { describe, expect, test } from '@jest/globals';
import { AbiCoder, Interface, concat, id, toBeHex } from 'ethers';
import fc from 'fast-check';
import {
  accountFunctions,
  kernelMultiSend,
  multiSendContracts,
  shapeArguments,
  unreadFunctions,
} from '../../../core/userop/account-functions.js';
import { compileFunctions, serveFunctions } from '../../../core/userop/added-functions.js';
import { decodeCalls as decodeIn } from '../../../core/userop/call-data.js';
import { decodeCalls, plainContext } from '../../build/decoded.js';
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
const someCalls = fc.array(anyCall, { minLength: 1, maxLength: 6 });

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
const erc7821 = '01000000000078210001';
const batches7821 = '01000000000078210002';
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
  {
    name: 'execute of a struct',
    encode: ({ target, value, data }) =>
      encode('execute(tuple(address,uint256,bytes))', [[target, value, data]]),
  },
  {
    name: 'execute4337Op',
    encode: ({ target, value, data }) =>
      encode('execute4337Op(address,uint256,bytes)', [target, value, data]),
  },
  {
    name: 'execute of Kernel 0.2',
    encode: ({ target, value, data }) =>
      encode('execute(address,uint256,bytes,uint8)', [target, value, data, 0]),
  },
  ...['00', '0001'].map((type) => ({
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
  {
    name: 'execute4337Ops',
    encode: (calls) => encode(`execute4337Ops(${tupleType})`, [tuples(calls)]),
  },
  ...[true, false].map((flag) => ({
    name: `execute of Calibur, flag ${flag}`,
    encode: (calls: readonly PlainCall[]) =>
      encode(`execute(tuple(${tupleType} calls,bool flag))`, [[tuples(calls), flag]]),
  })),
  ...['01', '0101', erc7821].map((type) => ({
    name: `ERC-7579 mode ${type}`,
    encode: (calls: readonly PlainCall[]) =>
      encode('execute(bytes32,bytes)', [
        mode(type),
        AbiCoder.defaultAbiCoder().encode([tupleType], [tuples(calls)]),
      ]),
  })),
];

const coder = AbiCoder.defaultAbiCoder();
const encodedCalls = (calls: readonly PlainCall[]) => coder.encode([tupleType], [tuples(calls)]);
const withOpData = (calls: readonly PlainCall[], opData: string) =>
  coder.encode([tupleType, 'bytes'], [tuples(calls), opData]);
const execute7579 = (type: string, data: string) => encode('execute(bytes32,bytes)', [mode(type), data]);
const wrapped = (data: string): Hex => `0x8dd7712f${data.slice(2)}`;

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

  test('ERC-7821 calls are read beside opData, whatever these are', () => {
    fc.assert(
      fc.property(someCalls, anyHex(100), (calls, opData) =>
        expect(plain(execute7579(erc7821, withOpData(calls, opData)))).toEqual(calls),
      ),
    );
  });

  test('ERC-7821 batches of batches are one list of calls', () => {
    fc.assert(
      fc.property(fc.array(someCalls, { minLength: 1, maxLength: 3 }), anyHex(70), (batches, opData) => {
        const data = batches.map((calls, index) =>
          index % 2 === 0 ? encodedCalls(calls) : withOpData(calls, opData),
        );
        expect(plain(execute7579(batches7821, coder.encode(['bytes[]'], [data])))).toEqual(batches.flat());
      }),
    );
  });

  test('executeUserOp hands on the call of every other function', () => {
    fc.assert(
      fc.property(someCalls, anyCall, fc.nat(100), (calls, call, pick) => {
        const single = singleForms[pick % singleForms.length]!;
        const batch = batchForms[pick % batchForms.length]!;
        expect(plain(wrapped(single.encode(call)))).toEqual([call]);
        expect(plain(wrapped(batch.encode(calls)))).toEqual(calls);
      }),
    );
  });

  test('executeUserOp of Calibur has the batch alone', () => {
    fc.assert(
      fc.property(someCalls, fc.boolean(), (calls, flag) =>
        expect(plain(wrapped(coder.encode([`tuple(${tupleType},bool)`], [[tuples(calls), flag]])))).toEqual(
          calls,
        ),
      ),
    );
  });

  test('target 0 is the account itself, in every form', () => {
    const own = aCall({ target: `0x${'00'.repeat(20)}` });
    const read = [{ ...own, target: plainContext.account }];
    for (const form of singleForms) expect([form.name, plain(form.encode(own))]).toEqual([form.name, read]);
    for (const form of batchForms) expect([form.name, plain(form.encode([own]))]).toEqual([form.name, read]);
    expect(plain(multiSend([packTransaction(own)]))).toEqual(read);
  });

  test('MultiSend is expanded at each known address', () => {
    fc.assert(
      fc.property(someCalls, fc.constantFrom(...multiSendContracts), (calls, address) => {
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

describe('rows', () => {
  test('have the selectors of their signatures', () => {
    for (const [selector, { signature }] of [...accountFunctions, ...unreadFunctions])
      expect([signature, id(signature).slice(0, 10)]).toEqual([signature, selector]);
  });

  test('have the arguments of their shapes, and no function is both read and unread', () => {
    for (const [selector, row] of [...accountFunctions, ...unreadFunctions]) {
      if ('shape' in row && Object.hasOwn(shapeArguments, row.shape))
        expect(row.signature.slice(row.signature.indexOf('('))).toBe(
          shapeArguments[row.shape as keyof typeof shapeArguments],
        );
      expect(accountFunctions.has(selector) && unreadFunctions.has(selector)).toBe(false);
    }
  });
});

describe('rows of a Chain and a Paymaster', () => {
  const added = (name: string, shape: keyof typeof shapeArguments) =>
    serveFunctions(compileFunctions([{ signature: `${name}${shapeArguments[shape]}`, shape }]).served);
  const call = aCall();
  const values: Readonly<Record<keyof typeof shapeArguments, readonly unknown[]>> = {
    call: [call.target, call.value, call.data],
    'call-struct': [[call.target, call.value, call.data]],
    'call-or-delegate-call': [call.target, call.value, call.data, 0],
    batch: batchValues([call]),
    'batch-without-values': [[call.target], [call.data]],
    'batch-of-structs': [tuples([call])],
    'batch-of-structs-and-flag': [[tuples([call]), true]],
  };
  const shapes = Object.keys(shapeArguments) as (keyof typeof shapeArguments)[];
  const encodedIn = (shape: keyof typeof shapeArguments, of = values[shape]): Hex =>
    encode(`own${shapeArguments[shape]}`, of);

  test.each(shapes)('make a function readable: %s', (shape) => {
    const callData = encodedIn(shape);
    expect(decodeCalls(callData)).toMatchObject({ outcome: 'refused', reason: 'ACCOUNT_UNKNOWN' });
    for (const place of ['ofChain', 'ofPaymaster'] as const) {
      const context = { ...plainContext, [place]: added('own', shape) };
      expect(decodeIn(callData, context)).toMatchObject({
        outcome: 'calls',
        calls: [{ target: call.target, value: call.value, selector: call.data }],
      });
      // Also after the selector of executeUserOp.
      expect(decodeIn(wrapped(callData), context)).toMatchObject({
        outcome: 'calls',
        calls: [{ target: call.target }],
      });
    }
  });

  test('that claim the selector of a built-in row, or one of a row before them, have no effect', () => {
    const execute = { signature: 'execute(address,uint256,bytes)', shape: 'call' } as const;
    const own = { signature: 'own(address,uint256,bytes)', shape: 'call' } as const;
    const ofChain = compileFunctions([own]);
    expect(ofChain.ignored).toBeUndefined();
    const { served, ignored } = compileFunctions(
      [
        execute,
        own,
        { ...own, signature: 'other(address,uint256,bytes)' },
        { ...own, signature: 'other(address,uint256,bytes)' },
      ],
      ofChain.served,
    );
    expect(served.map(({ signature }) => signature)).toEqual(['other(address,uint256,bytes)']);
    expect(ignored?.message).toBe(
      'spec.accountFunctions[0] execute(address,uint256,bytes): it is built in; spec.accountFunctions[1] own(address,uint256,bytes): the Chain has a row for it; spec.accountFunctions[3] other(address,uint256,bytes): an earlier row has its selector.',
    );
  });

  test('never let a delegate call through, also to a library of Safe', () => {
    const context = { ...plainContext, ofPaymaster: added('own', 'call-or-delegate-call') };
    for (const target of [targets[0], ...multiSendContracts, kernelMultiSend]) {
      const inner = encode('multiSend(bytes)', [packTransaction(aCall())]);
      const callData = encodedIn('call-or-delegate-call', [target, 0n, inner, 1]);
      expect(decodeIn(callData, context)).toMatchObject({ outcome: 'refused', reason: 'DELEGATE_CALL' });
    }
  });

  test('do not make an empty batch a mere deployment', () => {
    for (const [shape, empty] of [
      ['batch', [[], [], []]],
      ['batch-without-values', [[], []]],
      ['batch-of-structs', [[]]],
      ['batch-of-structs-and-flag', [[[], true]]],
    ] as const)
      expect(
        decodeIn(encodedIn(shape, empty), { ...plainContext, ofPaymaster: added('own', shape) }),
      ).toMatchObject({ outcome: 'refused', detail: expect.stringContaining('without a call') });
  });
});

describe('a function that is not known', () => {
  const detailOf = (callData: Hex) => {
    const decoded = decodeCalls(callData);
    return decoded.outcome === 'refused' ? decoded.detail : '';
  };

  test('is answered with the YAML to add', () => {
    expect(detailOf('0xdeadbeef')).toBe(
      'no known account executes calls with selector 0xdeadbeef: if its function has one of the shapes of accountFunctions, add it to the Paymaster, e.g. spec: {accountFunctions: [{signature: "NAME(address,uint256,bytes)", shape: call}]}',
    );
    expect(detailOf('0x80c5c7d0')).toBe(
      '0x80c5c7d0 is execFromEntryPoint(address,uint256,bytes), which is not read: add it to the Paymaster, spec: {accountFunctions: [{signature: "execFromEntryPoint(address,uint256,bytes)", shape: call}]}',
    );
  });

  test('is answered with why, where it never is', () => {
    expect(detailOf('0x2c2abd1e')).toBe(
      '0x2c2abd1e is executeWithoutChainIdValidation(bytes[]), which is not read: it changes the account itself, on every chain alike, and calls no other contract',
    );
    expect(detailOf('0xcef6d209')).toContain('redeemDelegations');
  });
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
    { name: 'multiSend without a call', callData: multiSend([]), reason: 'CALLDATA_UNDECODABLE' },
    {
      name: 'multiSend of Safe from a Kernel',
      callData: encode('execute(address,uint256,bytes,uint8)', [
        [...multiSendContracts][0],
        0n,
        encode('multiSend(bytes)', [packTransaction(aCall())]),
        1,
      ]),
      reason: 'DELEGATE_CALL',
    },
    {
      name: 'an ERC-7579 static call',
      callData: execute7579('fe', packed7579(aCall())),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'ERC-7821 opData without a call',
      callData: execute7579(erc7821, withOpData([], '0x01')),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'ERC-7821 batches without a call',
      callData: execute7579(batches7821, coder.encode(['bytes[]'], [[encodedCalls([]), encodedCalls([])]])),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'too many calls in batches of batches',
      callData: execute7579(
        batches7821,
        coder.encode(['bytes[]'], [[encodedCalls(many.slice(0, 100)), encodedCalls(many.slice(0, 29))]]),
      ),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'a call that hides behind opData: the calls lie where the opData are said to be',
      callData: execute7579(
        erc7821,
        // Both offsets are the same, so that other bytes are read as calls.
        concat([toBeHex(64, 32), toBeHex(64, 32), encodedCalls([aCall()])]),
      ),
      reason: 'CALLDATA_UNDECODABLE',
    },
    { name: 'a wrapper in a wrapper', callData: wrapped(wrapped(execute)), reason: 'CALLDATA_UNDECODABLE' },
    { name: 'a wrapper around nothing', callData: '0x8dd7712f', reason: 'CALLDATA_UNDECODABLE' },
    {
      name: 'a wrapper around an empty batch',
      callData: wrapped(execute7579('01', encodedCalls([]))),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'a wrapper around an empty batch of Calibur',
      callData: wrapped(coder.encode([`tuple(${tupleType},bool)`], [[[], true]])),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'a wrapper around a function that is not known',
      callData: wrapped('0xdeadbeef'),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'a wrapper around a delegate call',
      callData: wrapped(execute7579('ff', packed7579(aCall()))),
      reason: 'DELEGATE_CALL',
    },
    {
      name: 'a flag that is neither true nor false',
      callData: encode(`execute(tuple(${tupleType} calls,uint256 flag))`, [[tuples([aCall()]), 2n]]).replace(
        /^0x.{8}/,
        '0x99e1d016',
      ) as Hex,
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
      name: 'an ERC-7821 mode with try',
      callData: execute7579('01010000000078210001', encodedCalls([aCall()])),
      reason: 'CALLDATA_UNDECODABLE',
    },
    {
      name: 'another mode selector',
      callData: execute7579('01000000000012345678', encodedCalls([aCall()])),
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

describe('executeUserOp on EntryPoint 0.6', () => {
  test('is refused: the account gets its arguments, which may mean anything', () => {
    const callData = wrapped(singleForms[0]!.encode(aCall()));
    expect(decodeIn(callData, { ...plainContext, passesWholeOperation: false })).toMatchObject({
      outcome: 'refused',
      reason: 'CALLDATA_UNDECODABLE',
      detail: expect.stringContaining('this EntryPoint does not pass the whole operation'),
    });
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

  /** Target 0 stands for the account. */
  const targetOf = (address: string) =>
    /^0x0*$/.test(address) ? plainContext.account : address.toLowerCase();

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
        expect(ours).toEqual(theirs.map((call) => ({ ...call, target: targetOf(call.target) })));
      }),
      { numRuns: 200 },
    );
    // Both outcomes occur often, so neither half of the property is empty.
    expect(seen.accepted).toBeGreaterThan(15);
    expect(seen.refused).toBeGreaterThan(15);
  });
});
