import { describe, expect, test } from '@jest/globals';
import { AbiCoder, Interface, encodeRlp } from 'ethers';
import fc from 'fast-check';
import { isDomainError } from '../../../core/errors.js';
import { isAuthorizationTuple } from '../../../core/userop/misplaced-authorization.js';
import { parseUserOperation } from '../../../core/userop/parse.js';

const delegate = '0x69007702764179f14f51cdce752f4f775d74e139';
const r = `0x${'c1'.repeat(32)}`;
const s = `0x${'5d'.repeat(32)}`;
const rlp = (chainId: string): string => encodeRlp([chainId, delegate, '0x', '0x01', r, s]);
const abi = (types: readonly string[], values: readonly unknown[]): string =>
  AbiCoder.defaultAbiCoder().encode(types, values);

const tuples: readonly { readonly name: string; readonly value: unknown }[] = [
  { name: 'in RLP', value: rlp('0x7a69') },
  { name: 'in RLP, for every chain', value: rlp('0x') },
  { name: 'in an RLP list of authorizations', value: encodeRlp([['0x01', delegate, '0x05', '0x', r, s]]) },
  {
    name: 'as ABI words',
    value: abi(
      ['uint256', 'address', 'uint64', 'uint8', 'bytes32', 'bytes32'],
      [31337, delegate, 0, 27, r, s],
    ),
  },
  {
    name: 'as ABI words in the order of a struct with the address first',
    value: abi(['address', 'uint256', 'uint64', 'bytes32', 'bytes32', 'uint8'], [delegate, 1, 3, r, s, 1]),
  },
  { name: 'as an object', value: { chainId: '0x1', address: delegate, nonce: '0x0', yParity: '0x0', r, s } },
  { name: 'in an array', value: [{ chainId: 1, contractAddress: delegate, nonce: 0, yParity: 0, r, s }] },
  { name: 'as an array of its members', value: ['0x1', delegate, '0x0', '0x0', r, s] },
];

describe('an EIP-7702 authorization in factoryData', () => {
  test.each(tuples)('$name: the problem says where it belongs, without its signature', ({ value }) => {
    const operation = { sender: delegate, nonce: '0x0', factory: '0x7702', factoryData: value };
    const fees = { callData: '0x', maxFeePerGas: 1, maxPriorityFeePerGas: 1 };
    const problems = problemsOf({ ...operation, ...fees });
    expect(problems).toEqual([
      {
        field: 'params[0].factoryData',
        expected:
          'call data: an EIP-7702 authorization belongs in eip7702Auth, as {chainId, address, nonce, yParity, r, s}',
      },
    ]);
  });

  test('packed into initCode behind the marker is named, too', () => {
    const initCode = `0x7702${'0'.repeat(36)}${rlp('0x01').slice(2)}`;
    const operation = { sender: delegate, nonce: '0x0', initCode, callData: '0x' };
    const fields = problemsOf({ ...operation, maxFeePerGas: 1, maxPriorityFeePerGas: 1 });
    expect(fields.map(({ field }) => field)).toEqual(['params[0].initCode']);
  });
});

describe('nothing else is taken for one', () => {
  const calls = new Interface([
    'function createAccount(address owner, uint256 salt)',
    'function initialize(address owner, uint256 chainId, uint64 nonce, uint8 kind, bytes32 r, bytes32 s)',
  ]);

  test.each([
    ['nothing', '0x'],
    ['a call of a factory', calls.encodeFunctionData('createAccount', [delegate, 0])],
    ['a call with the same values', calls.encodeFunctionData('initialize', [delegate, 1, 0, 1, r, s])],
    [
      'six words of other kinds',
      abi(['bytes32', 'bytes32', 'bytes32', 'bytes32', 'bytes32', 'bytes32'], Array(6).fill(r)),
    ],
    ['an RLP list of other things', encodeRlp(['0x01', '0x02'])],
    ['an RLP list that goes on', `${rlp('0x01')}00`],
    ['a cut RLP list', rlp('0x01').slice(0, -2)],
  ])('%s', (_name, value) => {
    expect(isAuthorizationTuple(value)).toBe(false);
  });

  test('random call data with a selector', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 4, maxLength: 4 }),
        fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }), { maxLength: 8 }),
        (selector, words) => {
          const text = Buffer.concat([selector, ...words]).toString('hex');
          expect(isAuthorizationTuple(`0x${text}`)).toBe(false);
        },
      ),
    );
  });

  test('random values of JSON never throw', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => typeof isAuthorizationTuple(value) === 'boolean'));
  });
});

function problemsOf(operation: unknown): readonly { readonly field: string }[] {
  try {
    parseUserOperation(operation, '0.8');
  } catch (error) {
    if (isDomainError(error, 'INVALID_INPUT')) return error.details.problems ?? [];
    throw error;
  }
  throw new Error('expected a problem');
}
