import {
  boundedPreVerificationGas,
  dataGasOfMore,
  bundledPreVerificationGas,
  type DataFee,
} from '../../../core/chain/data-fee/data-gas.js';
import { dataFeeKinds } from '../../../core/chain/data-fee/kinds.js';
import type { GasLimits, UserOperation } from '../../../core/entry-point/user-operation.js';
import { DomainError } from '../../../core/errors.js';
import { approvalAllowance, approvalBytes } from '../../../core/paymaster/token-payment.js';
import type { Hex } from '../../../core/units/hex.js';
import { maxHeadAgeMs, type RequestFacts } from '../facts.js';

// Reading the data fee costs no I/O: a replica follows it. Only a request that needs it fails while it is not known.

/** Throws UNAVAILABLE when the chain's data fee is followed and was not read lately. */
export function requireDataFee({ chain, head, dataReading, now }: RequestFacts): DataFee {
  const spec = chain.dataFee;
  if (!dataFeeKinds[spec.kind].isFollowed) return { spec, price: 0n, network: head };
  if (dataReading !== undefined && now - dataReading.observedAt <= maxHeadAgeMs)
    return { spec, price: dataReading.price, network: head };
  throw new DomainError(
    'UNAVAILABLE',
    `The data fee of chain ${chain.chainId} was not read lately: its preVerificationGas is unknown.`,
    { reason: 'CHAIN_UNAVAILABLE', retryAfterSeconds: 5 },
  );
}

/**
 * An estimate with the data fee in its preVerificationGas. An estimate that is higher already, such as a bundler's,
 * stays. Throws UNAVAILABLE.
 */
export function withDataFee<L extends GasLimits>(
  facts: RequestFacts,
  estimate: L,
  op: UserOperation,
  paymasterAndData: Hex,
): L {
  const fee = requireDataFee(facts);
  if (fee.spec.kind === 'None') return estimate;
  const own = bundledPreVerificationGas(
    { op, paymasterAndData, version: facts.profile.entryPointVersion },
    fee,
  );
  return own > estimate.preVerificationGas ? { ...estimate, preVerificationGas: own } : estimate;
}

/** The figure that the default cap on preVerificationGas follows. Throws UNAVAILABLE. */
export function ownPreVerificationGas(facts: RequestFacts, op: UserOperation, paymasterAndData: Hex): bigint {
  const bundled = { op, paymasterAndData, version: facts.profile.entryPointVersion };
  return boundedPreVerificationGas(bundled, requireDataFee(facts));
}

/** What an `approve` in front of the other calls costs to post, as gas. Throws UNAVAILABLE. */
export function dataGasOfApproval(facts: RequestFacts, op: UserOperation): bigint {
  const fee = requireDataFee(facts);
  if (fee.spec.kind === 'None') return 0n;
  const bundled = { op, paymasterAndData: '0x', version: facts.profile.entryPointVersion } as const;
  return dataGasOfMore(bundled, fee, approvalBytes, approvalAllowance.preVerificationGas);
}
