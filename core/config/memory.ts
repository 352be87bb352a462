import { cyclesIn, type PolicyParts } from '../policy/derived.js';
import type { RecordedCycle } from '../policy/kind.js';
import { rememberKeys, type NamedKeyGeneration, type NamedKeyMemory } from './named-keys.js';
import { given } from '../units/given.js';
import { parseInstant, type EpochMs } from '../units/time.js';
import { limitWindowAt, type LimitCycle } from '../usage/limit-window.js';

/**
 * What stays with a name within one tenant when its objects are deleted and made again: a Paymaster or a limit that
 * is made again continues where it stopped. Part of the config while the Paymaster exists, and of its tombstone
 * afterwards.
 */
export type PaymasterMemory = {
  /** The highest key generation that was ever in force; absent: 1. */
  readonly keyGeneration?: number;
  /** Cycles of limits that are not served: paused limits, and limits whose object is gone. */
  readonly cycles?: readonly RememberedCycle[];
  /** Key generations above 1 of policies that sign, also of deleted ones; the latest first. */
  readonly policyKeys?: readonly PolicyKey[];
  /** Absent: there was never a key with a name. */
  readonly namedKeys?: NamedKeyMemory;
};

/** The parts of a config that hold this memory. */
type Remembering = PolicyParts & { readonly memory?: PaymasterMemory };

export type RememberedCycle = RecordedCycle & {
  readonly policyId: string;
  /** For a limit whose object is gone: the end of the window in which it was deleted. The cycle is forgotten then. */
  readonly until?: EpochMs;
};

type PolicyKey = { readonly policyId: string; readonly keyGeneration: number };

/**
 * More than can count at the same time, so that nobody can push a cycle out by making other limits. The cycle that
 * ends first is dropped first.
 */
const maxGone = 100;

/** The key generation in force: re-creating an object without a generation must not bring a rotated key back. */
export function currentKeyGeneration(
  spec: { readonly keyGeneration?: number },
  memory: Pick<PaymasterMemory, 'keyGeneration'> | undefined,
): number {
  return Math.max(spec.keyGeneration ?? 1, memory?.keyGeneration ?? 1);
}

/** Every cycle in the last config, of served limits and of others. */
export function knownCycles(previous: Remembering | undefined): ReadonlyMap<string, RememberedCycle> {
  const known = [...(previous?.memory?.cycles ?? []), ...(previous === undefined ? [] : cyclesIn(previous))];
  return new Map(known.map((cycle) => [cycle.policyId, cycle]));
}

/** Key generations above 1, by policyId. */
export function knownKeys(previous: Pick<Remembering, 'memory'> | undefined): ReadonlyMap<string, number> {
  const keys = previous?.memory?.policyKeys ?? [];
  return new Map(keys.map(({ policyId, keyGeneration }) => [policyId, keyGeneration]));
}

/**
 * The cycle with which a limit continues that is made again with the same name; undefined when its window is over. `isChanged`: it
 * was changed before anybody saw it. That restarts a duration, and neither a calendar nor an endless limit.
 */
export function lastingCycle(
  known: ReadonlyMap<string, RememberedCycle>,
  policyId: string,
  { now, isChanged }: { readonly now: EpochMs; readonly isChanged: boolean },
): RecordedCycle | undefined {
  const cycle = known.get(policyId);
  if (cycle === undefined || (cycle.until !== undefined && cycle.until <= now)) return undefined;
  if (isChanged && cycle.durationMs !== undefined) return undefined;
  const { policyId: _, until: __, ...status } = cycle;
  return status;
}

/**
 * The memory to store. `unserved`: cycles of limits that exist and are not served. Cycles of deleted limits stay.
 * Ended ones are dropped only when another limit is deleted: a config must not change by itself.
 */
export function remember(context: {
  readonly keyGeneration: number;
  /** Generations of the keys with names that exist. Absent: the Paymaster is deleted, and they stay as they were. */
  readonly namedKeys?: readonly NamedKeyGeneration[];
  readonly unserved: readonly RememberedCycle[];
  readonly servedIds: ReadonlySet<string>;
  /** Key generations of the policies that exist. */
  readonly policyKeys: readonly PolicyKey[];
  readonly previous: Remembering | undefined;
  readonly now: EpochMs;
}): PaymasterMemory | undefined {
  const { keyGeneration, unserved, servedIds, previous, now } = context;
  const existing = new Set([...servedIds, ...unserved.map(({ policyId }) => policyId)]);
  const gone = [...knownCycles(previous).values()].filter(({ policyId }) => !existing.has(policyId));
  const goes = gone.some(({ until }) => until === undefined);
  const kept = goes
    ? endingLast(
        gone.map((cycle) => ending(cycle, now)),
        now,
      )
    : gone;
  const cycles = [...unserved, ...kept].toSorted((a, b) => (a.policyId < b.policyId ? -1 : 1));
  const policyKeys = rememberedKeys(context.policyKeys, previous?.memory?.policyKeys ?? []);
  const had = previous?.memory?.namedKeys;
  const namedKeys = rememberKeys(context.namedKeys ?? had?.present ?? [], had);
  if (keyGeneration === 1 && cycles.length === 0 && policyKeys.length === 0 && namedKeys === undefined)
    return undefined;
  return {
    ...(keyGeneration === 1 ? {} : { keyGeneration }),
    ...(cycles.length === 0 ? {} : { cycles }),
    ...(policyKeys.length === 0 ? {} : { policyKeys }),
    ...given({ namedKeys }),
  };
}

function rememberedKeys(present: readonly PolicyKey[], had: readonly PolicyKey[]): readonly PolicyKey[] {
  const rotated = present.filter(({ keyGeneration }) => keyGeneration > 1);
  const ids = new Set(rotated.map(({ policyId }) => policyId));
  return [...rotated, ...had.filter(({ policyId }) => !ids.has(policyId))].slice(0, maxGone);
}

function ending(cycle: RememberedCycle, now: EpochMs): RememberedCycle & { readonly until: EpochMs } {
  const { until } = cycle;
  if (until !== undefined) return { ...cycle, until };
  return { ...cycle, until: limitWindowAt(toRunningCycle(cycle, now), now).until };
}

function endingLast(
  cycles: readonly (RememberedCycle & { readonly until: EpochMs })[],
  now: EpochMs,
): readonly RememberedCycle[] {
  const lasting = cycles.filter(({ until }) => until > now);
  return lasting.toSorted((a, b) => b.until - a.until).slice(0, maxGone);
}

function toRunningCycle({ startTime, durationMs, calendar }: RecordedCycle, now: EpochMs): LimitCycle {
  return { startMs: parseInstant(startTime) ?? now, ...given({ durationMs, calendar }) };
}
