import { AbiCoder, concat, solidityPacked } from 'ethers';
import { kernelMultiSend } from '../../../core/userop/account-functions.js';
import type { Call } from './account.js';

const coder = AbiCoder.defaultAbiCoder();
const callsType = 'tuple(address,uint256,bytes)[]';
const tuples = (calls: readonly Call[]) => calls.map(({ to, value, data }) => [to, value ?? 0n, data]);
const encodedCalls = (calls: readonly Call[]) => coder.encode([callsType], [tuples(calls)]);
const withOpData = (calls: readonly Call[]) =>
  coder.encode([callsType, 'bytes'], [tuples(calls), `0x${'5a'.repeat(65)}`]);
const execute7579 = (mode: string, data: string) =>
  `0xe9ae5c53${coder.encode(['bytes32', 'bytes'], [`0x${mode.padEnd(64, '0')}`, data]).slice(2)}`;
const batch = (calls: readonly Call[]) => coder.encode([`tuple(${callsType},bool)`], [[tuples(calls), true]]);
const after = (selector: string, args: string) => `${selector}${args.slice(2)}`;
const one = ([first]: readonly Call[]) => tuples([first!])[0]!;
const multiSent = (calls: readonly Call[]) => {
  const transactions = calls.map(({ to, value, data }) =>
    solidityPacked(
      ['uint8', 'address', 'uint256', 'uint256', 'bytes'],
      [0, to, value ?? 0n, (data.length - 2) / 2, data],
    ),
  );
  const multiSend = after('0x8d80ff0a', coder.encode(['bytes'], [concat(transactions)]));
  return coder.encode(['address', 'uint256', 'bytes', 'uint8'], [kernelMultiSend, 0n, multiSend, 1]);
};
const struct = (calls: readonly Call[]) => coder.encode(['tuple(address,uint256,bytes)'], [one(calls)]);

/** Forms of call data by the contract of `ShapedAccounts.sol` that reads them. */
export const shaped: readonly {
  readonly form: string;
  readonly contract: string;
  readonly encode: (calls: readonly Call[]) => string;
}[] = [
  { form: 'a struct', contract: 'KernelShaped', encode: (calls) => after('0x5c1c6dcd', struct(calls)) },
  {
    form: 'executeUserOp and a call of a struct',
    contract: 'KernelShaped',
    encode: (calls) => after('0x8dd7712f', after('0x5c1c6dcd', struct(calls))),
  },
  {
    form: 'executeUserOp and a batch of ERC-7821',
    contract: 'KernelShaped',
    encode: (calls) => after('0x8dd7712f', execute7579('01', encodedCalls(calls))),
  },
  {
    form: 'structs and a flag',
    contract: 'CaliburShaped',
    encode: (calls) => after('0x99e1d016', batch(calls)),
  },
  {
    form: 'executeUserOp and structs and a flag',
    contract: 'CaliburShaped',
    encode: (calls) => after('0x8dd7712f', batch(calls)),
  },
  {
    form: 'ERC-7821 with opData',
    contract: 'CaliburShaped',
    encode: (calls) => execute7579('01000000000078210001', withOpData(calls)),
  },
  {
    form: 'ERC-7821 batches of batches',
    contract: 'CaliburShaped',
    encode: (calls) =>
      execute7579(
        '01000000000078210002',
        coder.encode(['bytes[]'], [[encodedCalls(calls), withOpData(calls)]]),
      ),
  },
  {
    form: 'a call or delegate call, one call',
    contract: 'KernelTwoShaped',
    encode: (calls) =>
      after('0x51945447', coder.encode(['address', 'uint256', 'bytes', 'uint8'], [...one(calls), 0])),
  },
  {
    form: 'a delegate call to MultiSend',
    contract: 'KernelTwoShaped',
    encode: (calls) => after('0x51945447', multiSent(calls)),
  },
];
