import { Interface } from 'ethers';
import { userOperation06, userOperation06Values } from '../../../core/entry-point/unpacked.js';
import { userOperation07, userOperation07Values } from '../../../core/entry-point/packed.js';
import { toAddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';

const beneficiary = toAddressKey(`0x${'be'.repeat(20)}`);
const aggregator = toAddressKey(`0x${'a9'.repeat(20)}`);
const forms = {
  '0.6': { type: userOperation06, values: userOperation06Values },
  '0.7': { type: userOperation07, values: userOperation07Values },
} as const;

export type BundledOperation = { readonly op: FinalUserOperation; readonly data: Hex };

export function handleOpsCall(version: keyof typeof forms, ops: readonly BundledOperation[]): Hex {
  const { type, values } = forms[version];
  const abi = new Interface([`function handleOps(${type}[] ops, address beneficiary)`]);
  const tuples = ops.map(({ op, data }) => values(op, data));
  return abi.encodeFunctionData('handleOps', [tuples, beneficiary]) as Hex;
}

/** A bundle of one operation. */
export function handleOpsInput(version: keyof typeof forms, op: FinalUserOperation, data: Hex): Hex {
  return handleOpsCall(version, [{ op, data }]);
}

export function handleAggregatedOpsCall(
  version: keyof typeof forms,
  groups: readonly (readonly BundledOperation[])[],
): Hex {
  const { type, values } = forms[version];
  const abi = new Interface([
    `function handleAggregatedOps(tuple(${type}[] userOps, address aggregator, bytes signature)[] opsPerAggregator, address beneficiary)`,
  ]);
  const tuples = groups.map((ops) => [ops.map(({ op, data }) => values(op, data)), aggregator, '0x1234']);
  return abi.encodeFunctionData('handleAggregatedOps', [tuples, beneficiary]) as Hex;
}
