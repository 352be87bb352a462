import type { Hex } from 'viem';
import type { GetPaymasterStubDataReturnType } from 'viem/account-abstraction';
import { ConnectionError } from './errors.js';
import { isRecord } from './json-rpc.js';

/** Fields of an answer that go into the operation, by how they are written. */
const bytes = ['paymaster', 'paymasterData', 'paymasterAndData', 'paymasterSignature'] as const;
const quantities = [
  'callGasLimit',
  'verificationGasLimit',
  'preVerificationGas',
  'paymasterVerificationGasLimit',
  'paymasterPostOpGasLimit',
] as const;

/**
 * The fields of an ERC-7677 answer that belong to the operation, as viem's types: quantities as bigint, and `sponsor` and
 * `isFinal`, which viem takes out itself. Leaves out everything else, because viem copies what it gets into the operation.
 */
export function readAnswer(answer: unknown): GetPaymasterStubDataReturnType {
  if (!isRecord(answer) || !(isHex(answer['paymasterAndData']) || isHex(answer['paymaster'])))
    throw notUnderstood('the answer of the paymaster service has no paymaster');
  const fields: Record<string, unknown> = {};
  for (const name of bytes) if (isHex(answer[name])) fields[name] = answer[name];
  for (const name of quantities) if (isHex(answer[name])) fields[name] = BigInt(answer[name]);
  for (const name of ['isFinal', 'sponsor']) if (answer[name] !== undefined) fields[name] = answer[name];
  return fields as GetPaymasterStubDataReturnType;
}

/** The signature of a finalize. */
export function readSignature(answer: unknown): { readonly paymasterSignature: Hex } {
  if (isRecord(answer) && isHex(answer['paymasterSignature']))
    return { paymasterSignature: answer['paymasterSignature'] };
  throw notUnderstood('the answer of the paymaster service has no signature');
}

function notUnderstood(message: string): ConnectionError {
  return new ConnectionError(message, { code: -32_603, reason: 'NOT_UNDERSTOOD', retryable: false });
}

function isHex(value: unknown): value is `0x${string}` {
  return typeof value === 'string' && /^0x[0-9a-fA-F]*$/.test(value);
}
