import type { Chain } from '../../core/chain/chain.js';
import { DomainError, quote } from '../../core/errors.js';
import { eip7702Factory } from '../../core/entry-point/eip-7702.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { bytesToHex } from '../../core/units/hex.js';
import type { Estimate, EstimateRequest } from '../../core/userop/estimator.js';
import { renderUserOperation } from '../../core/userop/render.js';
import { RpcError } from '../chain/node-errors.js';
import { explainMessage } from './revert-reason.js';
import { estimationFailed } from './simulate-handle-op.js';

/** ERC-7769 codes by which a bundler refuses an operation, as opposed to failing itself. */
const refusals: ReadonlySet<number> = new Set([
  -32500, -32501, -32502, -32503, -32504, -32505, -32507, -32521, -32602,
]);

export type Bundler = Pick<Chain, 'request'>;

/**
 * Limits by a bundler's `eth_estimateUserOperationGas`: for chains whose node cannot simulate, and for roll-ups whose
 * data fee only the bundler knows. A refusal is DomainError ESTIMATION_FAILED with the bundler's words.
 */
export async function estimateByBundler(bundler: Bundler, request: EstimateRequest): Promise<Estimate> {
  const { op, entryPoint, entryPointVersion, paymasterAndData, minVerificationGasLimit } = request;
  const signed = {
    ...op,
    // The marker of EIP-7702 in the only form that ERC-7769 knows: alto refuses the padded one.
    initCode: op.initCode === eip7702Factory ? '0x7702' : op.initCode,
    signature: op.signature === '0x' ? bytesToHex(stubSignature()) : op.signature,
  } as const;
  const rendered = renderUserOperation(signed, entryPointVersion, paymasterAndData ?? '0x');
  const answer = await ask(bundler, [rendered, entryPoint]);
  const verificationGasLimit = gasField(answer, 'verificationGasLimit');
  return {
    callGasLimit: gasField(answer, 'callGasLimit'),
    verificationGasLimit:
      verificationGasLimit > minVerificationGasLimit ? verificationGasLimit : minVerificationGasLimit,
    preVerificationGas: gasField(answer, 'preVerificationGas'),
  };
}

async function ask(bundler: Bundler, params: readonly unknown[]): Promise<unknown> {
  try {
    return await bundler.request('eth_estimateUserOperationGas', params);
  } catch (error) {
    if (!(error instanceof DomainError) || !(error.cause instanceof RpcError)) throw error;
    if (!refusals.has(error.cause.code)) throw error;
    const { text, remedy } = explainMessage(error.cause.message);
    throw estimationFailed(text, remedy);
  }
}

function gasField(answer: unknown, field: string): bigint {
  const value: unknown =
    typeof answer === 'object' && answer !== null ? new Map(Object.entries(answer)).get(field) : undefined;
  if (typeof value === 'string' && /^0x[0-9a-fA-F]{1,32}$/.test(value)) return BigInt(value);
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  throw new DomainError('UNAVAILABLE', `the bundler's ${field} must be a hex quantity, got ${quote(value)}`, {
    reason: 'BUNDLER_UNAVAILABLE',
  });
}
