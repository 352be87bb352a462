import type { UnusableReason } from '../../core/config/chain-config.js';
import type { EpochMs } from '../../core/units/time.js';
import type { ProfileFacts } from './facts.js';

/** Whether operations of a profile could be mined, according to its chain. */
export type Usability = 'usable' | UnusableReason;

/** The confirmed answer, and a different one that the chain has given since. */
export type Standing = {
  /** Undefined until the chain has given the same answer twice. */
  readonly settled?: Usability;
  readonly changedAt?: EpochMs;
  /** Another answer that has not been confirmed yet. */
  readonly doubt?: { readonly answer: Usability; readonly since: EpochMs };
};

/** One node may be behind or wrong for a moment: an answer counts when it is given again after this time. */
const confirmMs = 10_000;
/** A contract that somebody switches back and forth changes the served config at most this often. */
const flipMs = 60_000;

/**
 * Undefined when these answers, all from one block, leave it open. A key that is not mounted here says nothing about
 * the contract. Nor does a hash that nobody has compared yet.
 */
export function decideUsability({ code, entryPoint, hash, signer }: ProfileFacts): Usability | undefined {
  if (code === 'NoCode') return 'CONTRACT_NOT_DEPLOYED';
  if (entryPoint === 'OtherEntryPoint') return 'ENTRY_POINT_MISMATCH';
  if (signer === 'NotAuthorized') return 'SIGNER_NOT_AUTHORIZED';
  if (hash !== 'HashMatches' && hash !== 'Unknown') return 'SIGNATURE_REFUSED';
  const isKnown = code === 'CodePresent' && entryPoint === 'EntryPointMatches' && signer === 'Authorized';
  return isKnown ? 'usable' : undefined;
}

/** The confirmed state after one more answer. */
export function confirm(standing: Standing, answer: Usability, now: EpochMs): Standing {
  const { settled, changedAt, doubt } = standing;
  if (answer === settled) return { settled, ...(changedAt === undefined ? {} : { changedAt }) };
  if (doubt?.answer !== answer) return { ...standing, doubt: { answer, since: now } };
  if (now < dueAt(doubt.since, changedAt)) return standing;
  // A first answer that all is well is not a change: it must not delay a stop.
  const isChange = settled !== undefined || answer !== 'usable';
  return { settled: answer, ...(isChange ? { changedAt: now } : {}) };
}

/** Milliseconds from now until the unconfirmed answer would count if it were given again; undefined: every answer is confirmed. */
export function recheckMs({ changedAt, doubt }: Standing, now: EpochMs): number | undefined {
  return doubt && Math.max(0, dueAt(doubt.since, changedAt) - now);
}

/** Adds an answer about a profile, undefined if it leaves it open. Returns whether it changes what we sign. */
export function note(
  standings: Map<string, Standing>,
  key: string,
  answer: Usability | undefined,
  now: EpochMs,
): boolean {
  if (answer === undefined) return false;
  const before = standings.get(key) ?? {};
  const after = confirm(before, answer, now);
  standings.set(key, after);
  return after.settled !== before.settled;
}

/** Of all profiles; undefined when no answer waits to be confirmed. */
export function soonestRecheckMs(standings: ReadonlyMap<string, Standing>, now: EpochMs): number | undefined {
  const waits = [...standings.values()].flatMap((standing) => recheckMs(standing, now) ?? []);
  return waits.length === 0 ? undefined : Math.min(...waits);
}

function dueAt(since: EpochMs, changedAt: EpochMs | undefined): number {
  return Math.max(since + confirmMs, changedAt === undefined ? 0 : changedAt + flipMs);
}
