import type { Hex } from '../units/hex.js';
import type { Decision, RecordId, Reversal, Settlement } from './record.js';

/**
 * What follows from the settlements and reversals of one reservation, whatever the order in which they arrived: their
 * ids order them. A reversal takes back the settlement before it, if one stands. A settlement while one stands
 * replaces it, because the follower knew more when it made it. `takenBack`: settlements that a reorganisation took back.
 */
export function findOutcome(endings: Iterable<Settlement | Reversal>) {
  /** The one that stands. */
  let settlement: Settlement | undefined;
  let takenBack = 0;
  for (const ending of [...endings].sort((a, b) => (a.id < b.id ? -1 : 1)))
    if (ending.kind === 'settlement') settlement = ending;
    else if (settlement !== undefined) {
      settlement = undefined;
      takenBack += 1;
    }
  return { settlement, takenBack };
}

/** A sponsored decision of a reservation. */
type Candidate = {
  readonly id: RecordId;
  readonly digest: Hex | undefined;
  readonly userOpHash: Hex | undefined;
};

/**
 * The decision whose promise was mined: the oldest with the digest, else the oldest with the operation's hash, else,
 * if the chain did not show the digest, the newest. Undefined: its decision is not stored (yet), so that the cost
 * belongs to the paymaster alone.
 */
export function minedDecision(
  settlement: Settlement | undefined,
  candidates: Iterable<Candidate>,
): RecordId | undefined {
  const mined = settlement?.mined;
  if (mined === undefined) return undefined;
  let byDigest: RecordId | undefined;
  let byHash: RecordId | undefined;
  let newest: RecordId | undefined;
  for (const { id, digest, userOpHash } of candidates) {
    if (mined.digest !== undefined && digest === mined.digest) byDigest = lower(byDigest, id);
    if (userOpHash === mined.userOpHash) byHash = lower(byHash, id);
    if (newest === undefined || id > newest) newest = id;
  }
  return byDigest ?? byHash ?? (mined.digest === undefined ? newest : undefined);
}

function lower(a: RecordId | undefined, b: RecordId): RecordId {
  return a === undefined || b < a ? b : a;
}

/** True for decisions that a settlement is about. A commit signs nothing, and a refusal promises nothing. */
export function isPromise(decision: Pick<Decision, 'verdict'>): boolean {
  return decision.verdict === 'sponsored';
}
