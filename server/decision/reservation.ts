import { maxAheadMs } from '../../core/config/generation.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { Decision } from '../../core/ledger/record.js';
import type { DepositNeed } from '../../core/paymaster/layout.js';
import { listPolicyShares } from '../../core/policy/derived.js';
import type { PolicyShare } from '../../core/policy/kind.js';
import type { ExposedParty } from '../../core/policy/token-loss.js';
import type { Hex } from '../../core/units/hex.js';
import type { EpochMs } from '../../core/units/time.js';
import { gwei, gweiFloor, type Gwei, takePercent } from '../../core/units/wei.js';
import { budgetHoldCounter, contractFence, exposureCounter } from '../../core/usage/counter-names.js';
import { hasTurned } from '../../core/usage/decide.js';
import type { AccountShare, ReservationKey, SignedPromise } from '../../core/usage/reservation.js';
import {
  chainFence,
  type Fence,
  type HoldShare,
  type ReserveRequest,
} from '../../core/usage/reserve-request.js';
import { contractLosses, lossBars } from '../../core/usage/token-losses.js';
import {
  sharedNames,
  organisationPercent,
  type ServedChain,
  type ServedProfile,
} from '../view/served-chain.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';

/** An operation that is about to be signed, in either mode, with what it may cost. */
export type Promised = {
  readonly paymaster: ServedPaymaster;
  readonly chain: ServedChain;
  readonly profile: ServedProfile;
  readonly op: FinalUserOperation;
  readonly promise: SignedPromise;
  readonly need: DepositNeed;
  /** US dollars per 10^18 wei with 18 implied decimals; undefined: no price may be used. */
  readonly usdPerNative: bigint | undefined;
  /** Mode ERC20: what the platform loses if the account pays nothing after its call, in wei; 0 when nothing can be lost. */
  readonly unsecured: bigint;
};

export type PlannedReservation = Omit<ReserveRequest, 'holds' | 'limits'> & {
  readonly holds: readonly PlannedHold[];
  readonly limits: readonly PolicyShare[];
};

/** A hold, and what it bounds. */
export type PlannedHold = HoldShare & {
  readonly bounds: 'live' | 'share' | 'budget' | ExposedParty;
  /** Of a budget. */
  readonly policy?: PolicyShare['policy'];
};

/** Digest of a promise whose operation is not final yet. Only peeks use it, and they record nothing. */
export const nothingSigned: SignedPromise['digest'] = `0x${'00'.repeat(16)}`;

/** A deposit that was read longer ago than this is not relied on. */
const depositMaxAgeMs = 15 * 60_000;
const weiPerGwei = 1_000_000_000n;
/** Most live reservations of one paymaster, in a store with room for five times as many. */
const maxLive = 500_000;

/**
 * Plans what an operation takes from limits, deposits and bounds if it is signed. The plan is the same for both modes, except that
 * in mode ERC20 the user pays, so losses count, and policies whose kind does not name the mode do not. `capacity`: live reservations that the store has room
 * for. `record`: what the ledger keeps of it. The returned function takes the store's time and answers the plan.
 */
export function planReservation(
  promised: Promised,
  capacity: number,
  record?: Decision,
): (now: EpochMs) => PlannedReservation {
  const { paymaster, chain, profile, op, promise, need, usdPerNative } = promised;
  const { contract } = promise;
  const { mode } = promise;
  const cost = countable(need.entryPoint);
  const accounts = listAccounts(promised, cost);
  const standing = [liveHold(promised, capacity), ...shareHolds(promised, accounts)];
  const of = { chainId: paymaster.chainId, contract };
  const fixed = {
    key: toReservationKey(promised),
    promise,
    accounts,
    depositMaxAgeMs,
    ...(record === undefined ? {} : { record }),
  };
  return (now) => {
    const fences = listFences(paymaster, chain, contract, now);
    const taking = { sender: op.sender, cost: { wei: need.entryPoint, usdPerNative }, now };
    const limits = listPolicyShares(paymaster, mode, taking);
    if (mode === 'SPONSORED')
      return { ...fixed, fences, bars: [], limits, holds: [...standing, ...budgetHolds(paymaster, limits)] };
    const budget = profile.token?.lossBudget ?? gwei(0);
    return {
      ...fixed,
      fences,
      bars: lossBars(of, op.sender, { budget, canLose: promised.unsecured > 0n, now }),
      limits,
      holds: [...standing, ...exposureHolds(promised, budget, now)],
    };
  };
}

export function toReservationKey({
  paymaster,
  profile,
  op,
}: Pick<Promised, 'paymaster' | 'profile' | 'op'>): ReservationKey {
  return {
    chainId: paymaster.chainId,
    paymasterId: paymaster.paymasterId,
    entryPoint: profile.entryPointKey,
    sender: op.sender,
    nonce: op.nonce,
  };
}

/** `hashes`: operation hashes that its reservation shall keep; undefined: none are known. */
export function withHashes(promised: Promised, hashes: Hex | undefined): Promised {
  return hashes === undefined ? promised : { ...promised, promise: { ...promised.promise, hashes } };
}

/** The plan of a peek, and what the operation takes by it. */
type Peeked = { readonly request: PlannedReservation; readonly promised: Promised };

/**
 * The plan for a promise of a request that was peeked at before. A peek that took the same amounts is not planned again while its
 * windows last: only its promise has changed, and it has a record.
 */
export function replanReservation(
  peeked: Peeked | undefined,
  promised: Promised,
  capacity: number,
  record?: Decision,
): (now: EpochMs) => PlannedReservation {
  return (now) => {
    if (peeked === undefined || !takesTheSame(peeked.promised, promised) || hasTurned(peeked.request, now))
      return planReservation(promised, capacity, record)(now);
    const { paymaster, chain, promise } = promised;
    const fences = listFences(paymaster, chain, promise.contract, now);
    const plan = { ...peeked.request, promise, fences };
    return record === undefined ? plan : { ...plan, record };
  };
}

/** Of two promises of one request. */
function takesTheSame(a: Promised, b: Promised): boolean {
  return (
    a.paymaster === b.paymaster &&
    a.chain === b.chain &&
    a.promise.fundingAddress === b.promise.fundingAddress &&
    a.need.entryPoint === b.need.entryPoint &&
    a.need.funding === b.need.funding &&
    a.unsecured === b.unsecured &&
    a.usdPerNative === b.usdPerNative
  );
}

/** Generations are times: a generation that is far in the future must not make every later config stale. */
function listFences(
  paymaster: ServedPaymaster,
  chain: ServedChain,
  contract: SignedPromise['contract'],
  now: EpochMs,
): readonly Fence[] {
  const newest = now + maxAheadMs;
  return [
    { id: paymaster.paymasterId, generation: Math.min(paymaster.configGeneration, newest) },
    { id: chainFence, generation: Math.min(chain.config.configGeneration, newest) },
    // A contract has no config: it can only be suspended.
    { id: contractFence(contract), generation: 0 },
  ];
}

/** The contract's EntryPoint deposit, then the balance inside the contract that is charged, if there is one. */
function listAccounts({ promise, need }: Promised, cost: Gwei): readonly AccountShare[] {
  const { contract, fundingAddress } = promise;
  const deposit: AccountShare = { contract, need: cost };
  if (need.funding === undefined || fundingAddress === undefined) return [deposit];
  return [deposit, { contract, fundingAddress, need: countable(need.funding) }];
}

function liveHold({ chain, paymaster }: Promised, capacity: number): PlannedHold {
  return {
    bounds: 'live',
    counter: sharedNames(chain, paymaster).live,
    unit: 'COUNT',
    cost: 1,
    threshold: Math.min(maxLive, Math.floor(capacity / 5)),
  };
}

/**
 * The organisation's share of an account that several organisations draw on: the last of the accounts, unless it is a
 * wallet that the organisation proved. A share of 100 % is recorded too, so that the sum is right when the platform lowers it.
 */
function shareHolds(
  { paymaster, chain, profile, promise }: Promised,
  accounts: readonly AccountShare[],
): readonly PlannedHold[] {
  const last = accounts.length - 1;
  const account = accounts[last];
  if (account === undefined) return [];
  // The deposit of a contract that keeps balances is at least their sum, so only a balance inside it can run out.
  const isOwn =
    promise.mode === 'SPONSORED' &&
    profile.keepsBalances &&
    (account.fundingAddress === undefined || account.fundingAddress === paymaster.fundingAddress);
  if (isOwn) return [];
  return [
    {
      bounds: 'share',
      counter: sharedNames(chain, paymaster).share(account),
      unit: 'NATIVE_ASSET',
      cost: account.need,
      threshold: { account: last, percent: organisationPercent(profile, paymaster.namespace) },
      admitsOneAlone: true,
    },
  ];
}

/**
 * One paymaster's live promises hold at most a quarter of a budget: who has its key shall not stop the others. A single operation above
 * it does not pass either, or one operation would hold the whole budget. In Shadow it counts and refuses nothing.
 */
function budgetHolds(
  { paymasterId }: ServedPaymaster,
  limits: readonly PolicyShare[],
): readonly PlannedHold[] {
  return limits.flatMap(({ policy, unit, cost, threshold, enforce }, index) =>
    policy.isBudget === true
      ? [
          {
            bounds: 'budget',
            policy,
            counter: budgetHoldCounter(policy.policyId, paymasterId),
            unit,
            cost,
            threshold: Math.floor(threshold / 4),
            ...(enforce ? {} : { ofUnenforced: index }),
          },
        ]
      : [],
  );
}

/**
 * Bounds on what can be lost at once if nobody pays: the budget less today's losses. An organisation, a paymaster and
 * an account each get a part of it. A single operation may exceed a part while nothing else is reserved from that part;
 * otherwise expensive operations would never be served.
 */
function exposureHolds(
  { paymaster, chain, profile, op, promise, unsecured }: Promised,
  budget: Gwei,
  now: EpochMs,
): readonly PlannedHold[] {
  if (unsecured === 0n) return [];
  const { contract } = promise;
  const { namespace, chainId } = paymaster;
  const names = sharedNames(chain, paymaster).exposures(contract);
  const percent = organisationPercent(profile, namespace);
  const hold = { unit: 'NATIVE_ASSET', cost: countable(unsecured) } as const;
  const part = (share: number): { readonly threshold: number; readonly admitsOneAlone: true } => ({
    threshold: share,
    admitsOneAlone: true,
  });
  const ofOrganisation = takePercent(budget, percent);
  return [
    {
      ...hold,
      bounds: 'contract',
      counter: names.contract,
      threshold: budget,
      plusUsed: [contractLosses({ chainId, contract }, now).counter],
    },
    {
      ...hold,
      bounds: 'organisation',
      counter: names.organisation,
      ...part(ofOrganisation),
    },
    {
      ...hold,
      bounds: 'paymaster',
      counter: names.paymaster,
      ...part(takePercent(ofOrganisation, 50)),
    },
    {
      ...hold,
      bounds: 'account',
      counter: exposureCounter(contract, { sender: op.sender }),
      ...part(takePercent(budget, 10)),
    },
  ];
}

/**
 * Gwei, rounded up, saturating: a caller's gas fields may multiply to more than can be counted. No account holds that
 * much, so the reservation is refused, unless the caps have refused the operation before.
 */
export function countable(amount: bigint): Gwei {
  return gweiFloor(amount + weiPerGwei - 1n);
}
