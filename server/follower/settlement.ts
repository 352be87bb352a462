import type { TokenCharge } from '../../core/paymaster/layout.js';
import type { AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { EpochMs } from '../../core/units/time.js';
import { gweiCeil, divideUp, type Gwei } from '../../core/units/wei.js';
import { exposureCounter } from '../../core/usage/counter-names.js';
import type { Charge } from '../../core/usage/follower-step.js';
import type { Reservation } from '../../core/usage/reservation.js';
import { lossCharges } from '../../core/usage/token-losses.js';
import {
  attribute,
  listCandidates,
  attributeExactly,
  type Bytes,
  type Candidate,
  type Evidence,
} from './attribution.js';
import { byOperation, operationId, reservationId, type MinedOperation } from './mined.js';
import type { WatchedContract } from './source.js';

export type Settled = {
  readonly reservation: Reservation;
  readonly operation: MinedOperation;
  /** Undefined for a token payment, which no limit of the reservation pays for. */
  readonly actualCost: Gwei | undefined;
  /** Digest of the promise that was mined; undefined if it may have been one of several. */
  readonly digest: Hex | undefined;
  /** What the account paid in tokens, as far as events show it. */
  readonly charge: TokenCharge | undefined;
};

/** The effect of mined operations on reservations. */
export type Settlement = {
  readonly settled: readonly Settled[];
  /** Another operation has used the nonce of these reservations, so their own operations can never be mined. */
  readonly released: readonly Reservation[];
  /** Their nonce is used, and whether their own operation used it is not known: limits keep the maximum. */
  readonly forfeited: readonly Reservation[];
  readonly losses: readonly Loss[];
  /** Settled for more than one reservation, because it is not known which of them promised the operation. */
  readonly ambiguous: readonly MinedOperation[];
  /** Operations that one of our contracts paid for and nobody here has promised. */
  readonly unattributed: readonly Unattributed[];
};

export const noEffect: Settlement = {
  settled: [],
  released: [],
  forfeited: [],
  losses: [],
  ambiguous: [],
  unattributed: [],
};

export type Unattributed = { readonly operation: MinedOperation; readonly bytes: Bytes };

/**
 * Each operation settles the reservations that it may have come from, see {@link attribute}. If there are several, all of them
 * settle, each to at most what it reserved: the next window corrects a count that is too high, but never one that is too low. If the
 * operation may have been a token payment and did not pay, it is a loss: see {@link findLoss}. An operation that a stranger's contract
 * or nobody paid for only uses up the nonce.
 */
export function settleOperations(
  mined: readonly MinedOperation[],
  reservations: readonly Reservation[],
  evidenceOf: (operation: MinedOperation) => Evidence,
  isOurs: (contract: AddressKey) => boolean,
): Settlement {
  const promised = byOperation(reservations);
  const seen = new Set<string>();
  const parts = mined.flatMap((operation) => {
    const id = operationId(operation);
    // A second event of the same operation can only be a node's mistake; it must not count twice.
    if (seen.has(id)) return [];
    seen.add(id);
    const of = promised.get(id) ?? [];
    return [settleOne(operation, of, evidenceOf(operation), isOurs(operation.paymaster))];
  });
  return joinSettlements(...parts);
}

function settleOne(
  operation: MinedOperation,
  reservations: readonly Reservation[],
  evidence: Evidence,
  isOurs: boolean,
): Settlement {
  const found = attribute(operation, listCandidates(operation, reservations), evidence);
  const byReservation = Map.groupBy(found, ({ reservation }) => reservation);
  const loss = findLoss(operation, found, evidence);
  const isStrange = isOurs && found.length === 0 && evidence.bytes.outcome !== 'unsigned';
  return {
    settled: [...byReservation].map(([reservation, candidates]) => ({
      reservation,
      operation,
      actualCost: costToLimits(operation, candidates),
      digest: soleDigest(candidates),
      charge: evidence.charge,
    })),
    released: reservations.filter((reservation) => !byReservation.has(reservation)),
    forfeited: [],
    losses: loss === undefined ? [] : [loss],
    ambiguous: byReservation.size > 1 ? [operation] : [],
    unattributed: isStrange ? [{ operation, bytes: evidence.bytes }] : [],
  };
}

export function joinSettlements(...parts: readonly Settlement[]): Settlement {
  return {
    settled: parts.flatMap(({ settled }) => settled),
    released: parts.flatMap(({ released }) => released),
    forfeited: parts.flatMap(({ forfeited }) => forfeited),
    losses: eachOnce(parts.flatMap(({ losses }) => losses)),
    ambiguous: parts.flatMap(({ ambiguous }) => ambiguous),
    unattributed: parts.flatMap(({ unattributed }) => unattributed),
  };
}

function costToLimits(operation: MinedOperation, candidates: readonly Candidate[]): Gwei | undefined {
  const isSponsored = candidates.some(({ mode }) => mode === 'SPONSORED');
  return isSponsored ? gweiCeil(operation.actualGasCost) : undefined;
}

function soleDigest([first, ...others]: readonly Candidate[]): Hex | undefined {
  return others.every(({ digest }) => digest === first?.digest) ? first?.digest : undefined;
}

/**
 * Decides how operations end reservations when they are found late: by their senders, after the reservations had expired, or by a rescan.
 * Such an operation may have been settled when it was mined, and its nonce may have been promised again since, because anybody can ask
 * for that. So only the digest proves that an operation is the one that a reservation has promised; then the reservation settles.
 * Without this proof a reservation that may have promised the operation is forfeited, which counts no loss, and any other reservation is
 * released. A reservation is also released when the digest proves another reservation's promise.
 *
 * `promised`: every reservation for these operations, including those that have not expired. `isCounted`: whether the operation is known
 * to be settled already.
 */
export function settleLate(
  found: readonly MinedOperation[],
  spent: readonly Reservation[],
  promised: readonly Reservation[],
  evidenceOf: (operation: MinedOperation) => Evidence,
  isCounted: (operation: MinedOperation) => boolean,
): Settlement {
  const over = byOperation(spent);
  const all = byOperation(promised);
  const parts = found.flatMap((operation) => {
    const id = operationId(operation);
    const evidence = evidenceOf(operation);
    const isProven = proves(operation, all.get(id) ?? [], evidence);
    return (over.get(id) ?? []).map((reservation) => {
      const candidates = isCounted(operation) ? [] : listCandidates(operation, [reservation]);
      return settleLateOne(operation, reservation, { candidates, isProven, ...evidence });
    });
  });
  return joinSettlements(...parts);
}

/** Whether the operation carries the digest of one of these promises; then it cannot carry another one. */
function proves(
  operation: MinedOperation,
  reservations: readonly Reservation[],
  { bytes }: Evidence,
): boolean {
  return attributeExactly(operation, listCandidates(operation, reservations), bytes).exact.length > 0;
}

function settleLateOne(
  operation: MinedOperation,
  reservation: Reservation,
  found: Evidence & { readonly candidates: readonly Candidate[]; readonly isProven: boolean },
): Settlement {
  const { candidates, isProven, bytes, charge } = found;
  const { exact, possible } = attributeExactly(operation, candidates, bytes);
  if (exact.length > 0) {
    const loss = findLoss(operation, exact, found);
    const actualCost = costToLimits(operation, exact);
    const settled = [{ reservation, operation, actualCost, digest: soleDigest(exact), charge }];
    return { ...noEffect, settled, losses: loss === undefined ? [] : [loss] };
  }
  return possible.length > 0 && !isProven
    ? { ...noEffect, forfeited: [reservation] }
    : { ...noEffect, released: [reservation] };
}

/** An operation that was mined in mode ERC20 and did not pay in full, as far as is known. */
export type Loss = {
  readonly operation: MinedOperation;
  /** Gwei that count as lost. */
  readonly lost: number;
  /** Whether its account is barred. */
  readonly bars: boolean;
};

/**
 * The loss of an operation that may have come from these promises: what the chain took, or the part of it that the account left
 * unpaid. One that may also have been sponsored counts for at most what the token promises hold of the budget, and bars nobody.
 */
function findLoss(
  operation: MinedOperation,
  found: readonly Candidate[],
  evidence: Pick<Evidence, 'tokenPaid' | 'owed' | 'taken'>,
): Loss | undefined {
  const inTokens = found.filter(({ mode }) => mode === 'ERC20');
  const { tokenPaid, owed } = evidence;
  if (inTokens.length === 0 || (owed === undefined && tokenPaid !== false)) return undefined;
  // No event says so, but an operation that demands payment in validation is mined only after it has paid.
  const { paymaster: contract } = operation;
  if (owed === undefined && inTokens.every((candidate) => isInAdvance(candidate, contract))) return undefined;
  const held = Math.max(...inTokens.map((candidate) => findExposure(candidate, contract)));
  const isCertain = inTokens.length === found.length;
  const cost = computeCost(operation, inTokens, evidence);
  const lost = isCertain ? cost : Math.min(cost, held);
  return lost === 0 ? undefined : { operation, lost, bars: isCertain && held > 0 };
}

/**
 * Gwei, rounded up. A contract with balances says what it took from the balance that pays. If it says nothing its postOp has failed, and
 * it keeps all that validation took: what the promises hold.
 */
function computeCost(
  { actualGasCost, paymaster: contract }: MinedOperation,
  inTokens: readonly Candidate[],
  { owed, taken }: Pick<Evidence, 'owed' | 'taken'>,
): number {
  const known = taken === undefined || taken < actualGasCost ? actualGasCost : taken;
  if (owed !== undefined && owed.due > 0n) return gweiCeil(divideUp(known * owed.owed, owed.due));
  const keepers =
    taken === undefined ? inTokens.filter((candidate) => drawsOnBalance(candidate, contract)) : [];
  return Math.max(gweiCeil(known), ...keepers.map((candidate) => findExposure(candidate, contract)));
}

/** Each operation once, although several reservations may have promised it. */
function eachOnce(losses: readonly Loss[]): readonly Loss[] {
  return [...new Map(losses.map((loss) => [operationId(loss.operation), loss])).values()];
}

/** A payment after the call holds at least the EntryPoint's prefund. */
function isInAdvance(candidate: Candidate, contract: AddressKey): boolean {
  return findExposure(candidate, contract) < gweiCeil(candidate.prefundWei);
}

function drawsOnBalance({ reservation: { accounts } }: Candidate, contract: AddressKey): boolean {
  return accounts.some((account) => account.contract === contract && account.fundingAddress !== undefined);
}

/** What the reservation of a promise holds of the budget of a contract's token losses, in gwei. */
function findExposure({ reservation: { holds } }: Candidate, contract: AddressKey): number {
  const name = exposureCounter(contract, 'all');
  return holds.find(({ counter }) => counter === name)?.cost ?? 0;
}

/** What an unpaid operation adds to the losses of its contract and, if it is proven, of its account: nobody is barred without proof. */
export function chargesOfLoss(
  { operation: { paymaster: contract, sender }, lost, bars }: Loss,
  { chainId, at, isProven }: { readonly chainId: number; readonly at: EpochMs; readonly isProven: boolean },
): readonly Charge[] {
  return lossCharges({ chainId, contract }, sender, { loss: lost, bars: bars && isProven, at });
}

/** How many operations did not pay, and the gwei that they cost, by contract: 0 for one that takes tokens and lost nothing. */
export function unpaidIn(
  losses: readonly Loss[],
  contracts: ReadonlyMap<AddressKey, WatchedContract>,
): { readonly unpaid: number; readonly lost: ReadonlyMap<AddressKey, number> } {
  const lost = new Map<AddressKey, number>();
  for (const { contract, modes } of contracts.values())
    if (modes.some(({ token }) => token !== undefined)) lost.set(contract, 0);
  for (const { operation, lost: gwei } of losses)
    lost.set(operation.paymaster, (lost.get(operation.paymaster) ?? 0) + gwei);
  return { unpaid: losses.length, lost };
}

/**
 * Actual gas cost in gwei of what a step has settled, by paymasterId. An operation that settles several reservations counts for the
 * first of them, as in the ledger.
 */
export function spentByPaymaster(
  settled: readonly Pick<Settled, 'reservation' | 'operation'>[],
  ended: readonly Reservation[],
): ReadonlyMap<string, number> {
  const taken = new Set(ended.map(({ key }) => reservationId(key)));
  const counted = new Set<string>();
  const spent = new Map<string, number>();
  for (const { reservation, operation } of settled) {
    const name = operationId(operation);
    if (counted.has(name) || !taken.has(reservationId(reservation.key))) continue;
    counted.add(name);
    const { paymasterId } = reservation.key;
    spent.set(paymasterId, (spent.get(paymasterId) ?? 0) + gweiCeil(operation.actualGasCost));
  }
  return spent;
}
