import { mostAheadMs } from '../../core/config/fences.js';
import type { DepositNeed } from '../../core/paymaster/layout.js';
import { limitShares } from '../../core/policy/spending-limit/shares.js';
import type { ExposedParty } from '../../core/policy/token-loss.js';
import { contractFence, exposureCounter, liveCounter, shareCounter } from '../../core/usage/counter-names.js';
import { contractLosses, lossBars } from '../../core/usage/token-losses.js';
import {
  chainFence,
  type AccountShare,
  type Fence,
  type HoldShare,
  type ReserveRequest,
  type SignedPromise,
} from '../../core/usage/usage-store.js';
import type { EpochMs } from '../../core/units/time.js';
import { gwei, gweiFloor, type Gwei } from '../../core/units/wei.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { ServedChain, ServedProfile } from '../view/served-chain.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { organisationPercent } from './shares.js';

/** An operation that is about to be signed, in either mode, with what it may cost. */
export type Promised = {
  readonly paymaster: ServedPaymaster;
  readonly chain: ServedChain;
  readonly profile: ServedProfile;
  readonly op: FinalUserOperation;
  readonly promise: SignedPromise;
  readonly need: DepositNeed;
  /** Mode ERC20: what the platform loses if the account pays nothing after its call, in wei; 0 where it cannot. */
  readonly unsecured: bigint;
};

export type PlannedReservation = Omit<ReserveRequest, 'holds'> & { readonly holds: readonly PlannedHold[] };

/** A hold, and what it bounds. */
export type PlannedHold = HoldShare & {
  readonly bounds: 'live' | 'share' | ExposedParty;
};

/** Digest of a promise whose operation is not final yet: of peeks, which record nothing. */
export const nothingSigned: SignedPromise['digest'] = `0x${'00'.repeat(16)}`;

/** Oldest deposit that may be relied on. */
const depositMaxAgeMs = 15 * 60_000;
const weiPerGwei = 1_000_000_000n;
/** Live reservations of one paymaster, where the store has room for five times as many. */
const maxLive = 500_000;

/**
 * What an operation takes of limits, deposits and bounds if it is signed: the same for both modes, but that in mode ERC20 the
 * user pays, so spending limits do not count, and losses do. `capacity`: live reservations that the store has room for.
 * The answer plans it for a time of the store.
 */
export function planReservation(promised: Promised, capacity: number): (now: EpochMs) => PlannedReservation {
  const { paymaster, chain, profile, op, promise, need } = promised;
  const { contract } = promise;
  const isSponsored = promise.mode === 'SPONSORED';
  const cost = countable(need.entryPoint);
  const accounts = accountsOf(promised, cost);
  const standing = [liveHold(paymaster, capacity), ...shareHolds(promised, accounts)];
  const of = { chainId: paymaster.chainId, contract };
  const fixed = {
    key: {
      chainId: paymaster.chainId,
      paymasterId: paymaster.paymasterId,
      entryPoint: profile.entryPointKey,
      sender: op.sender,
      nonce: op.nonce,
    },
    promise,
    accounts,
    depositMaxAgeMs,
  };
  return (now) => {
    const fences = fencesOf(paymaster, chain, contract, now);
    if (isSponsored)
      return {
        ...fixed,
        fences,
        bars: [],
        limits: limitShares(paymaster.limits, op.sender, cost, now),
        holds: standing,
      };
    const budget = profile.token?.lossBudget ?? gwei(0);
    return {
      ...fixed,
      fences,
      bars: lossBars(of, op.sender, { budget, now }),
      limits: [],
      holds: [...standing, ...exposureHolds(promised, budget, now)],
    };
  };
}

/** Generations are times: one that is far ahead must not make every later config stale. */
function fencesOf(
  paymaster: ServedPaymaster,
  chain: ServedChain,
  contract: SignedPromise['contract'],
  now: EpochMs,
): readonly Fence[] {
  const newest = now + mostAheadMs;
  return [
    { id: paymaster.paymasterId, generation: Math.min(paymaster.configGeneration, newest) },
    { id: chainFence, generation: Math.min(chain.config.configGeneration, newest) },
    // Has no config of its own: it can only be suspended.
    { id: contractFence(contract), generation: 0 },
  ];
}

/** The contract's EntryPoint deposit, then the balance inside the contract that is charged, where there is one. */
function accountsOf({ promise, need }: Promised, cost: Gwei): readonly AccountShare[] {
  const { contract, fundingAddress } = promise;
  const deposit: AccountShare = { contract, need: cost };
  if (need.funding === undefined || fundingAddress === undefined) return [deposit];
  return [deposit, { contract, fundingAddress, need: countable(need.funding) }];
}

function liveHold({ paymasterId }: ServedPaymaster, capacity: number): PlannedHold {
  return {
    bounds: 'live',
    counter: liveCounter(paymasterId),
    unit: 'COUNT',
    cost: 1,
    threshold: Math.min(maxLive, Math.floor(capacity / 5)),
  };
}

/**
 * The organisation's share of an account that several draw on: the last of the accounts, unless it is a wallet that the
 * organisation proved. Also where the share is all of it, so that the sum is right when the platform lowers it.
 */
function shareHolds(
  { paymaster, profile, promise }: Promised,
  accounts: readonly AccountShare[],
): readonly PlannedHold[] {
  const last = accounts.length - 1;
  const account = accounts[last];
  if (account === undefined) return [];
  // A contract that keeps balances has a deposit of at least their sum: only a balance in it can run out.
  const isOwn =
    promise.mode === 'SPONSORED' &&
    profile.keepsBalances &&
    (account.fundingAddress === undefined || account.fundingAddress === paymaster.fundingAddress);
  if (isOwn) return [];
  return [
    {
      bounds: 'share',
      counter: shareCounter(account, paymaster.namespace),
      unit: 'NATIVE_ASSET',
      cost: account.need,
      threshold: { account: last, percent: organisationPercent(profile, paymaster.namespace) },
      admitsOneAlone: true,
    },
  ];
}

/**
 * Bounds of what may be lost at once if nobody pays: the budget less what was lost today, of which an organisation, a
 * paymaster and an account get a part. A single operation may exceed a part while nothing else of it is under way, or
 * dear operations were never served.
 */
function exposureHolds(
  { paymaster, profile, op, promise, unsecured }: Promised,
  budget: Gwei,
  now: EpochMs,
): readonly PlannedHold[] {
  if (unsecured === 0n) return [];
  const { contract } = promise;
  const { namespace, paymasterId, chainId } = paymaster;
  const percent = organisationPercent(profile, namespace);
  const hold = { unit: 'NATIVE_ASSET', cost: countable(unsecured) } as const;
  const part = (share: number): { readonly threshold: number; readonly admitsOneAlone: true } => ({
    threshold: share,
    admitsOneAlone: true,
  });
  const ofOrganisation = percentOf(budget, percent);
  return [
    {
      ...hold,
      bounds: 'contract',
      counter: exposureCounter(contract, 'all'),
      threshold: budget,
      plusUsed: [contractLosses({ chainId, contract }, now).counter],
    },
    {
      ...hold,
      bounds: 'organisation',
      counter: exposureCounter(contract, { organisation: namespace }),
      ...part(ofOrganisation),
    },
    {
      ...hold,
      bounds: 'paymaster',
      counter: exposureCounter(contract, { paymasterId }),
      ...part(percentOf(ofOrganisation, 50)),
    },
    {
      ...hold,
      bounds: 'account',
      counter: exposureCounter(contract, { sender: op.sender }),
      ...part(percentOf(budget, 10)),
    },
  ];
}

/** Rounded down; exact also where the product has more than 53 bits. */
function percentOf(amount: number, percent: number): number {
  return Number((BigInt(amount) * BigInt(percent)) / 100n);
}

/**
 * Gwei, rounded up, saturating: a caller's gas fields may multiply to more than can be counted. Nothing holds that
 * much, so the reservation is refused, and the caps refuse it where they come first.
 */
export function countable(amount: bigint): Gwei {
  return gweiFloor(amount + weiPerGwei - 1n);
}
