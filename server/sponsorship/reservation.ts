import { limitReached, usageLost } from '../../core/policy/spending-limit/texts.js';
import { limitShares } from '../../core/policy/spending-limit/shares.js';
import type { AccountShare, ReserveRefusal, ReserveRequest } from '../../core/policy/usage-store.js';
import { refuse, type Refusal } from '../../core/policy/verdict.js';
import { unreachable } from '../../core/errors.js';
import { plusSeconds, toSeconds, type EpochMs } from '../../core/units/time.js';
import { formatDecimal, gweiFloor, type Gwei } from '../../core/units/wei.js';
import type { FinalUserOperation } from '../../core/userop/user-operation.js';
import type { SponsorCase } from './case.js';

/** Oldest deposit that may be relied on. */
export const depositMaxAgeMs = 15 * 60_000;
const weiPerGwei = 1_000_000_000n;

/**
 * What an operation takes from limits and deposits if it is signed now: the EntryPoint's required prefund from each
 * NATIVE_ASSET limit and from the contract's deposit, the layout's own need from the sponsor's balance in the contract.
 */
export function reservationOf(facts: SponsorCase, op: FinalUserOperation, now: EpochMs): ReserveRequest {
  const { paymaster, profile, funding } = facts;
  const need = profile.layout.sponsorship.need(op, profile.options);
  const maxCost = countable(need.entryPoint);
  const contract = profile.contractKey;
  const accounts: AccountShare[] = [{ contract, need: maxCost }];
  if (need.funding !== undefined && funding !== undefined)
    accounts.push({ contract, fundingAddress: funding, need: countable(need.funding) });
  return {
    key: {
      chainId: paymaster.chainId,
      paymasterId: paymaster.paymasterId,
      entryPoint: profile.entryPointKey,
      sender: op.sender,
      nonce: op.nonce,
    },
    configGeneration: paymaster.configGeneration,
    contract,
    mode: 'SPONSORED',
    fundingAddress: profile.keepsBalances ? funding : undefined,
    limits: limitShares(paymaster.limits, op.sender, maxCost),
    accounts,
    validUntil: plusSeconds(toSeconds(now), facts.expirySeconds),
    depositMaxAgeMs,
    memo: paymaster.standing,
  };
}

/** Says in words which limit or deposit is short. */
export function describeRefusal(
  facts: SponsorCase,
  request: ReserveRequest,
  refusal: ReserveRefusal,
): Refusal {
  switch (refusal.outcome) {
    case 'limit': {
      const share = request.limits[refusal.index];
      const name = facts.paymaster.limits[refusal.index]?.name ?? '';
      if (share === undefined) return refuse('LIMIT_REACHED', `"${name}" has too little left`);
      return limitReached(share, name, refusal.used, refusal.resetsAt);
    }
    case 'usage-lost':
      return usageLost(facts.paymaster.limits[refusal.index]?.name ?? '', refusal.resetsAt);
    case 'deposit':
      return refuse('DEPOSIT_TOO_LOW', describeDeposit(request, refusal));
    default:
      return unreachable(refusal);
  }
}

/** Whose deposit is short of what, in ether. */
export function describeDeposit(
  request: ReserveRequest,
  { index, balance, reserved }: Extract<ReserveRefusal, { outcome: 'deposit' }>,
): string {
  const account = request.accounts[index];
  const whose = account?.fundingAddress ?? request.contract;
  return `deposit of ${whose}: ${gweiText(balance)} ether, of which ${gweiText(reserved)} are promised, needs ${gweiText(account?.need ?? 0)}`;
}

/**
 * Gwei, rounded up, saturating: a caller's gas fields may multiply to more than can be counted. Nothing holds that
 * much, so the reservation is refused, and the caps refuse it where they come first.
 */
export function countable(amount: bigint): Gwei {
  return gweiFloor(amount + weiPerGwei - 1n);
}

function gweiText(gwei: number): string {
  return formatDecimal(BigInt(gwei), 9);
}
