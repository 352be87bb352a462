import type { AccountBalance } from '../../core/policy/usage-store.js';
import { formatDecimal } from '../../core/units/wei.js';
import type { FinalUserOperation } from '../../core/userop/user-operation.js';

// The parts that explanations of both modes show, for people. Nothing here decides.

export type GasFigures = {
  readonly estimated: boolean;
  /** The EntryPoint's prefund in wei. */
  readonly maxCost: bigint;
  /** The fine that could be paid for unused gas, and what is risked without a simulation; wei. */
  readonly unused: { readonly fee: bigint; readonly cap: bigint };
};

export function showGas(op: FinalUserOperation, { estimated, maxCost, unused }: GasFigures): object {
  return {
    estimated,
    callGasLimit: op.callGasLimit.toString(),
    verificationGasLimit: op.verificationGasLimit.toString(),
    preVerificationGas: op.preVerificationGas.toString(),
    maxFeePerGas: op.maxFeePerGas.toString(),
    maxPriorityFeePerGas: op.maxPriorityFeePerGas.toString(),
    maxCost: formatDecimal(maxCost, 18),
    unusedGasFee: formatDecimal(unused.fee, 18),
    maxUnusedGasFee: formatDecimal(unused.cap, 18),
  };
}

/** Deposits, in coins. `needs`: gwei by account; undefined while the operation's limits are not known. */
export function showAccounts(
  accounts: readonly AccountBalance[],
  needs: readonly number[] | undefined,
): readonly object[] {
  return accounts.map(({ contract, fundingAddress, balance, reserved, readAt }, index) => ({
    contract,
    ...(fundingAddress === undefined ? {} : { fundingAddress }),
    ...(balance === undefined ? {} : { balance: ether(balance) }),
    promised: ether(reserved),
    ...(needs === undefined ? {} : { needed: ether(needs[index] ?? 0) }),
    ...(readAt === undefined ? {} : { readAt: new Date(readAt).toISOString() }),
  }));
}

function ether(gwei: number): string {
  return formatDecimal(BigInt(gwei), 9);
}
