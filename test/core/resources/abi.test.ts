import { describe, expect, test } from '@jest/globals';
import { invalidInput, isDomainError } from '../../../core/errors.js';
import {
  maxFunctions,
  listMethods,
  parseAbi,
  readMethods,
  readMethodsInParts,
  listSelectors,
} from '../../../core/resources/abi.js';

const fn = (name: string, types: readonly string[], stateMutability = 'nonpayable'): unknown => ({
  type: 'function',
  name,
  stateMutability,
  inputs: types.map((type) => ({ name: '', type })),
  outputs: [],
});

const token = parseAbi(
  JSON.stringify([
    { type: 'constructor', inputs: [], stateMutability: 'nonpayable' },
    fn('balanceOf', ['address'], 'view'),
    fn('mint', ['address', 'uint256']),
    fn('transfer', ['address', 'uint256']),
    fn('mint', ['address']),
    fn('hash', ['bytes'], 'pure'),
    fn('deposit', [], 'payable'),
    { type: 'event', name: 'Transfer', inputs: [], anonymous: false },
    { type: 'error', name: 'Nope', inputs: [] },
    { type: 'receive', stateMutability: 'payable' },
  ]),
);

describe('methods of a contract', () => {
  test('are its state-changing functions, each once, in the order of the ABI', () => {
    expect(listMethods(token)).toEqual(['mint', 'transfer', 'deposit']);
  });

  test('of an old compiler are told from views by `constant`', () => {
    const abi = parseAbi(
      JSON.stringify([
        { type: 'function', name: 'get', constant: true, inputs: [], outputs: [], payable: false },
        { type: 'function', name: 'set', constant: false, inputs: [], payable: false },
        { name: 'run', inputs: [] },
      ]),
    );
    expect(listMethods(abi)).toEqual(['set', 'run']);
  });

  test('of an empty ABI are an empty list', () => {
    expect(listMethods(parseAbi('[]'))).toEqual([]);
  });
});

describe('a whitelist', () => {
  test.each([
    { name: 'a name stands for all its overloads', methods: ['mint'], want: ['0x40c10f19', '0x6a627842'] },
    { name: 'a full signature stands for one', methods: ['mint(address)'], want: ['0x6a627842'] },
    {
      name: 'a signature may carry names and short types',
      methods: ['mint( address to, uint n )'],
      want: ['0x40c10f19'],
    },
    {
      name: 'an entry that says the same twice counts once',
      methods: ['deposit', 'deposit()'],
      want: ['0xd0e30db0'],
    },
    { name: 'a view that is named is accepted', methods: ['balanceOf'], want: ['0x70a08231'] },
    { name: 'none means none', methods: [], want: [] },
  ])('$name', ({ methods, want }) => {
    expect(listSelectors(token, methods)).toEqual({ selectors: want, problems: [] });
  });

  test('names each method that the ABI lacks, and those that it has', () => {
    expect(listSelectors(token, ['mint', 'burn', 'mint(bytes32)', 'x(']).problems).toEqual([
      {
        field: 'whitelistedMethods[1]',
        expected: 'a method of the ABI (mint, transfer, deposit)',
        value: '"burn"',
      },
      {
        field: 'whitelistedMethods[2]',
        expected: 'a method of the ABI (mint, transfer, deposit)',
        value: '"mint(bytes32)"',
      },
      {
        field: 'whitelistedMethods[3]',
        expected: 'a method of the ABI (mint, transfer, deposit)',
        value: '"x("',
      },
    ]);
  });

  test('of an ABI with tuples takes the canonical signature', () => {
    const abi = parseAbi(
      JSON.stringify([
        {
          type: 'function',
          name: 'run',
          stateMutability: 'nonpayable',
          inputs: [{ name: 'c', type: 'tuple[]', components: [{ name: 'to', type: 'address' }] }],
        },
      ]),
    );
    expect(abi.functions[0]?.signature).toBe('run((address)[])');
    expect(listSelectors(abi, ['run((address)[])']).problems).toEqual([]);
  });
});

describe('messages stay short enough for a condition', () => {
  test('however many methods an ABI lacks, the first ten are named', () => {
    const lacking = Array.from({ length: 1000 }, (_, index) => `missing${index}`);
    const { problems } = listSelectors(token, lacking);
    expect(problems.map(({ value }) => value)).toEqual(lacking.slice(0, 10).map((name) => `"${name}"`));
  });

  test('however long the names are that it has', () => {
    const names = Array.from({ length: 40 }, (_, index) => `m${index}${'x'.repeat(500)}`);
    const abi = parseAbi(JSON.stringify(names.map((name) => fn(name, []))));
    const { problems } = listSelectors(
      abi,
      Array.from({ length: 20 }, (_, index) => `missing${index}`),
    );
    expect(problems[0]?.expected).toContain('a method of the ABI (m0x');
    expect(invalidInput(problems).message.length).toBeLessThan(10_000);
  });
});

describe('functions with types that are not read', () => {
  const unread = [
    'function',
    'fixed',
    'ufixed128x18',
    'Lib.Kind',
    'Lib.Data storage',
    'IERC20',
    'function[3]',
  ];

  test.each(unread)('%s: the rest is registered, and the function is named', (type) => {
    const text = JSON.stringify([fn('mint', ['address']), fn('odd', ['uint256', type])]);
    const word = type.replace('[3]', '');
    expect(readMethods(text, ['mint'])).toEqual({
      methods: ['mint'],
      declarations: ['mint(address)'],
      selectors: ['0x6a627842'],
      warning: `abi: functions with types that are not read were left out: odd takes ${word}`,
      problems: [],
    });
  });

  test('inside of a tuple', () => {
    const inputs = [{ type: 'tuple', components: [{ type: 'address' }, { type: 'function' }] }];
    const { warning } = readMethods(JSON.stringify([{ type: 'function', name: 'odd', inputs }]), []);
    expect(warning).toContain('odd takes function');
  });

  test.each(['odd', 'odd(uint256,function)', ' odd ( uint256 , function )', 'odd(address)'])(
    'are refused where the whitelist needs one: %s',
    (method) => {
      const text = JSON.stringify([fn('mint', ['address']), fn('odd', ['uint256', 'function'])]);
      const { selectors, problems } = readMethods(text, ['mint', method]);
      expect(selectors).toEqual([]);
      expect(problems).toEqual([
        {
          field: 'whitelistedMethods[1]',
          expected: 'a method whose types are read, not function',
          value: JSON.stringify(method),
        },
      ]);
    },
  );

  test('a name means all overloads, so one that is not read refuses it, and its signature names another', () => {
    const text = JSON.stringify([fn('odd', ['address']), fn('odd', ['function'])]);
    expect(readMethods(text, ['odd']).problems).toHaveLength(1);
    expect(readMethods(text, ['odd(address)'])).toMatchObject({
      problems: [],
      selectors: [expect.any(String)],
    });
  });

  test.each(['uint257', 'bytes33', 'int7', 'foo', 'address payable', 'fixed128x1x1', 'Lib..Kind'])(
    '%s is not a type: the ABI is refused',
    (type) => {
      expect(readMethods(JSON.stringify([fn('odd', [type])]), []).problems).toHaveLength(1);
    },
  );

  test('are shown as far as a condition has room', () => {
    const text = JSON.stringify(Array.from({ length: 900 }, (_, index) => fn(`odd${index}`, ['function'])));
    expect(readMethods(text, []).warning).toMatch(/odd4 takes function, and 895 more$/);
  });
});

describe('a wrong ABI', () => {
  test.each([
    { name: 'text that is not JSON', text: 'pragma solidity', fields: ['abi'] },
    { name: 'an object instead of an array', text: '{"abi":[]}', fields: ['abi'] },
    {
      name: 'entries that are not objects',
      text: '["function x()", 1, null]',
      fields: ['abi[0]', 'abi[1]', 'abi[2]'],
    },
    { name: 'a type that is not a text', text: '[{"type":1}]', fields: ['abi[0].type'] },
    { name: 'a function without a name', text: '[{"type":"function","inputs":[]}]', fields: ['abi[0]'] },
    {
      name: 'an input of an unknown type',
      text: '[{"type":"function","name":"f","inputs":[{"type":"uint257"}]}]',
      fields: ['abi[0]'],
    },
    {
      name: 'a name that no status could hold',
      text: JSON.stringify([fn('x'.repeat(513), [])]),
      fields: ['abi[0]'],
    },
    {
      name: 'more functions than a status could list',
      text: JSON.stringify(Array.from({ length: 5001 }, () => ({ name: 'f', inputs: [] }))),
      fields: ['abi'],
    },
    {
      name: 'inputs that are not a list',
      text: '[{"type":"function","name":"f","inputs":3}]',
      fields: ['abi[0]'],
    },
  ])('$name is reported by place', ({ text, fields }) => {
    let thrown: unknown;
    try {
      parseAbi(text);
    } catch (error) {
      thrown = error;
    }
    if (!isDomainError(thrown, 'INVALID_INPUT'))
      throw new Error(`expected INVALID_INPUT, got ${String(thrown)}`);
    expect(thrown.details.problems?.map((problem) => problem.field)).toEqual(fields);
  });

  test.each([
    { name: 'wrong entries', entry: {}, parts: 10 },
    { name: 'functions', entry: { name: 'f' }, parts: maxFunctions + 1 },
  ])('of sixty thousand $name is read no further than it is reported', ({ entry, parts }) => {
    const text = JSON.stringify(Array.from({ length: 60_000 }, () => entry));
    expect([...readMethodsInParts(text, [])]).toHaveLength(parts);
  });
});
