import { describe, expect, test } from '@jest/globals';
import type { Hex } from '../../core/units/hex.js';
import { decodeCalls } from '../build/decoded.js';
import { parseUserOperation } from '../../core/userop/parse.js';
import { createParsers } from '../../server/dashboard/parse.js';
import { parseJson } from '../../server/http/json.js';
import { anAbi } from '../build/resources.js';
import { growthOf, mostGrowth, ratioOf } from '../support/work.js';

/** REST and JSON-RPC requests, valid or not, are parsed in time linear in their length. */

const outcomeOf = (run: () => unknown) => (): unknown => {
  try {
    return run();
  } catch (error) {
    return error;
  }
};

describe('the text of a body', () => {
  test.each([
    { name: 'a number of many digits', text: (n: number) => `1.${'0'.repeat(n)}1` },
    { name: 'a whole number of many zeros', text: (n: number) => `1${'0'.repeat(n)}` },
    { name: 'a number that begins with zeros', text: (n: number) => `0.${'0'.repeat(n)}1` },
    { name: 'many numbers', text: (n: number) => `[${'1.50,'.repeat(n / 5)}1]` },
    { name: 'many levels of lists', text: (n: number) => '['.repeat(n / 2) + ']'.repeat(n / 2) },
    { name: 'many members', text: (n: number) => `{"a":1${',"b":{}'.repeat(n / 8)}}` },
    { name: 'a long text', text: (n: number) => `"${'\\u00e9'.repeat(n / 6)}"` },
  ])('with $name', ({ text }) => {
    const growth = growthOf((size) => {
      const body = text(size);
      return outcomeOf(() => parseJson(body));
    }, 20_000);
    expect(growth).toBeLessThan(mostGrowth);
  });
});

describe('a byte of a body costs what any other byte costs', () => {
  // The 48 kB that held the process for two seconds.
  test.each([
    '1e-323',
    '5e-324',
    '1e308',
    '0.00000000000000000000000000000001',
    '1e0000000000000000000000000000',
  ])('in a list of %s', (literal) => {
    const listOf = (text: string) => `[${`${text},`.repeat(48_000 / (text.length + 1))}1]`;
    const [costly, ordinary] = [listOf(literal), listOf('1.2345')];
    expect(
      ratioOf(
        () => parseJson(costly),
        () => parseJson(ordinary),
        mostPerByte,
      ),
    ).toBeLessThan(mostPerByte);
  });
  const mostPerByte = 10;
});

describe('a body of the dashboard', () => {
  const parse = createParsers();
  const contract = { name: 'C', address: `0x${'1'.repeat(40)}`, abi: anAbi };
  test.each<{ name: string; run: (text: string) => unknown }>([
    { name: 'its ABI', run: (abi) => parse.createContract({ ...contract, abi }) },
    { name: 'a method', run: (text) => parse.createContract({ ...contract, whitelistedMethods: [text] }) },
    {
      name: 'a name',
      run: (name) => parse.createPaymaster({ name, type: 'HYBRID', chainId: 1, version: '1' }),
    },
    {
      name: 'the URL of a webhook',
      run: (url) => parse.createPolicy({ name: 'W', policyType: 'WEBHOOK', policyData: { url } }),
    },
    { name: 'a cycle written as text', run: (cycleDuration) => parse.updateLimit({ cycleDuration }) },
    {
      name: 'a signature',
      run: (signature) =>
        parse.updatePaymaster({ paymasterId: 'x', type: 'paymasterFundingId', signature, address: 'x' }),
    },
    { name: 'a field that nobody knows', run: (text) => parse.updateLimit({ [text]: text }) },
  ])('with a long text for $name', ({ run }) => {
    for (const filling of ['(', '[', '{"a":', ' ', 'a.', '//@', '\n'])
      for (const prefix of ['', 'https://a.example/']) {
        const growth = growthOf((size) => {
          const text = prefix + filling.repeat(size / filling.length);
          return outcomeOf(() => run(text));
        }, 45_000);
        expect({ filling, prefix, isLinear: growth < mostGrowth, growth }).toMatchObject({ isLinear: true });
      }
  });
});

describe('a user operation', () => {
  const word = (value: number): string => value.toString(16).padStart(64, '0');
  /** `executeBatch(address[],bytes[])` with this many empty calls. */
  const batchOf = (count: number): Hex => {
    const tails = Array.from({ length: count }, (_, index) => word(32 * count + 32 * index));
    const zeros = Array.from({ length: count }, () => word(0));
    const head = [
      word(64),
      word(64 + 32 + 32 * count),
      word(count),
      ...zeros,
      word(count),
      ...tails,
      ...zeros,
    ];
    return `0x18dfb3c7${head.join('')}`;
  };
  const operation = {
    sender: `0x${'1'.repeat(40)}`,
    nonce: '0x0',
    callData: '0x',
    maxFeePerGas: '0x1',
    maxPriorityFeePerGas: '0x1',
  };

  test('with a batch of many calls', () => {
    expect(decodeCalls(batchOf(3))).toMatchObject({ outcome: 'calls' });
    const growth = growthOf((size) => {
      const callData = batchOf(size);
      return () => decodeCalls(callData);
    }, 64);
    expect(growth).toBeLessThan(mostGrowth);
  });

  test.each(['sender', 'nonce', 'callData', 'signature', 'initCode', 'maxFeePerGas', 'factory', 'unknown'])(
    'with a long %s',
    (field) => {
      for (const text of ['0x' + 'f'.repeat(8), '1'.repeat(10), 'zz', '\n'.repeat(4)]) {
        const growth = growthOf((size) => {
          const value = text.slice(0, 2) + text.slice(-2).repeat(size / 2);
          return outcomeOf(() => parseUserOperation({ ...operation, [field]: value }, '0.7'));
        }, 50_000);
        expect({ text, isLinear: growth < mostGrowth, growth }).toMatchObject({ isLinear: true });
      }
    },
  );
});
