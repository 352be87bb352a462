import type { AccountBalance } from '../../core/policy/usage-store.js';
import { formatDecimal } from '../../core/units/wei.js';
import type { FinalUserOperation } from '../../core/userop/user-operation.js';

// The parts that explanations of both modes show, for people. Nothing here decides.

/** `maxCost`: the EntryPoint's prefund in wei. */
export function showGas(estimated: boolean, op: FinalUserOperation, maxCost: bigint): object {
  return {
    estimated,
    callGasLimit: op.callGasLimit.toString(),
    verificationGasLimit: op.verificationGasLimit.toString(),
    preVerificationGas: op.preVerificationGas.toString(),
    maxFeePerGas: op.maxFeePerGas.toString(),
    maxPriorityFeePerGas: op.maxPriorityFeePerGas.toString(),
    maxCost: formatDecimal(maxCost, 18),
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
