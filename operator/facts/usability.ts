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
export const confirmMs = 10_000;
/** A contract that somebody switches back and forth changes the served config at most this often. */
export const flipMs = 60_000;

/**
 * Undefined when these answers, all from one block, leave it open. A key that is not mounted here says nothing about
 * the contract.
 */
export function usabilityOf({ code, entryPoint, signer }: ProfileFacts): Usability | undefined {
  if (code === 'NoCode') return 'CONTRACT_NOT_DEPLOYED';
  if (entryPoint === 'OtherEntryPoint') return 'ENTRY_POINT_MISMATCH';
  if (signer === 'NotAuthorized') return 'SIGNER_NOT_AUTHORIZED';
  const isKnown = code === 'CodePresent' && entryPoint === 'EntryPointMatches' && signer === 'Authorized';
  return isKnown ? 'usable' : undefined;
}

/** The confirmed state after one more answer. */
export function confirm(standing: Standing, answer: Usability, now: EpochMs): Standing {
  const { settled, changedAt, doubt } = standing;
  if (answer === settled) return { settled, ...(changedAt === undefined ? {} : { changedAt }) };
  if (doubt?.answer !== answer) return { ...standing, doubt: { answer, since: now } };
  if (now < dueAt(doubt.since, changedAt)) return standing;
  return { settled: answer, changedAt: now };
}

/** Milliseconds from now until the unconfirmed answer would count if it were given again; undefined: there is none. */
export function recheckMs({ changedAt, doubt }: Standing, now: EpochMs): number | undefined {
  return doubt && Math.max(0, dueAt(doubt.since, changedAt) - now);
}

function dueAt(since: EpochMs, changedAt: EpochMs | undefined): number {
  return Math.max(since + confirmMs, changedAt === undefined ? 0 : changedAt + flipMs);
}
