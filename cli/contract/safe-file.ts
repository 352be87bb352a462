import { FunctionFragment, type ParamType } from 'ethers/abi';
import { keccak256 } from 'ethers/crypto';
import { toUtf8Bytes } from 'ethers/utils';
import { describeValue } from '../../core/paymaster/contract.js';
import type { Address } from '../../core/units/address.js';
import type { Step } from './steps.js';

/** A file for the Transaction Builder of Safe's web application, with the checksum by which it notices changes. */
export function safeFile(
  steps: readonly Step[],
  { chainId, safe, name, now }: { chainId: number; safe: Address; name: string; now: number },
): Readonly<Record<string, unknown>> {
  const batch = {
    version: '1.0',
    chainId: String(chainId),
    createdAt: now,
    meta: {
      name,
      description: steps.map(({ says }) => says).join('; '),
      txBuilderVersion: '1.18.0',
      createdFromSafeAddress: safe,
      createdFromOwnerAddress: '',
    },
    transactions: steps.map(renderTransaction),
  };
  return { ...batch, meta: { ...batch.meta, checksum: computeChecksum(batch) } };
}

function renderTransaction({ to, value, data, call }: Step) {
  const plain = { to, value: String(value) };
  if (call === undefined) return { ...plain, data };
  const { name, payable, inputs } = FunctionFragment.from(call.fragment);
  return {
    ...plain,
    data,
    contractMethod: { inputs: inputs.map(renderInput), name, payable },
    contractInputsValues: Object.fromEntries(
      inputs.map((input, at) => [input.name, describeValue(call.values[at])]),
    ),
  };
}

const renderInput = ({ name, type }: ParamType) => ({ internalType: type, name, type });

/** The application leaves out the name, and the checksum itself. */
export function computeChecksum(batch: { readonly meta: object }): string {
  return keccak256(toUtf8Bytes(serialised({ ...batch, meta: { ...batch.meta, name: null } })));
}

/** As the application writes it: the sorted names of an object, then each value with a comma. Undefined members count as their name. */
function serialised(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(serialised).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const names = JSON.stringify(members.map(([name]) => name));
  return `{${names}${members.map(([, each]) => `${serialised(each)},`).join('')}}`;
}
