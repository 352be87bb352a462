import type { PeekResult } from '../../core/usage/usage-store.js';
import { formatDecimal } from '../../core/units/wei.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { PlannedReservation } from '../decision/reservation.js';

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

/** Deposits, in ether. `needs`: gwei by account; undefined while the operation's limits are not known. */
export function showAccounts(
  { accounts }: Pick<PeekResult, 'accounts'>,
  needs: readonly number[] | undefined,
): readonly object[] {
  return accounts.map(({ contract, fundingAddress, balance, reserved, readAt }, index) => ({
    contract,
    unit: 'ether',
    ...(fundingAddress === undefined ? {} : { fundingAddress }),
    ...(balance === undefined ? {} : { balance: ether(balance) }),
    promised: ether(reserved),
    ...(needs === undefined ? {} : { needed: ether(needs[index] ?? 0) }),
    ...(readAt === undefined ? {} : { readAt: new Date(readAt).toISOString() }),
  }));
}

/**
 * Bounds of what is promised at once: operations of the paymaster, the organisation's share of a deposit, and in mode ERC20
 * what unsecured payments may lose. `taken` is held by other operations, with the losses of the day where they count.
 */
export function showBounds(
  { holds, accounts }: PlannedReservation,
  peeked: Pick<PeekResult, 'holds'>,
  isFinal: boolean,
): readonly object[] {
  return holds.flatMap(({ bounds, unit, cost }, index) => {
    const hold = peeked.holds[index];
    if (hold === undefined) return [];
    const amount = (value: number): string | number => (unit === 'COUNT' ? value : ether(value));
    const account = accounts.at(-1);
    return {
      of: boundNames[bounds],
      ...(bounds === 'share' ? { account: account?.fundingAddress ?? account?.contract } : {}),
      unit: unit === 'COUNT' ? 'operations' : 'ether',
      taken: amount(hold.taken),
      most: amount(hold.most),
      ...(isFinal ? { needed: amount(cost) } : {}),
    };
  });
}

const boundNames = {
  live: 'live operations of the paymaster',
  share: "organisation's share of the deposit",
  contract: 'unsecured token payments and losses of the contract',
  organisation: 'unsecured token payments of the organisation',
  paymaster: 'unsecured token payments of the paymaster',
  account: 'unsecured token payments of the account',
} as const satisfies Record<PlannedReservation['holds'][number]['bounds'], string>;

function ether(gwei: number): string {
  return formatDecimal(BigInt(gwei), 9);
}
