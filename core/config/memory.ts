import type { CycleStatus } from '../policy/spending-limit/spec.js';
import type { EpochMs } from '../units/time.js';
import { formatInstant, parseInstant, plusMs } from '../units/time.js';
import type { LimitConfig } from '../policy/spending-limit/spec.js';

/**
 * What a name keeps within one tenant, whatever objects come and go under it: a Paymaster or a limit that is deleted and
 * made again goes on where it stopped. Part of the config while the Paymaster exists, and of its tombstone afterwards.
 */
export type PaymasterMemory = {
  /** The highest key generation that was ever in force; absent: 1. */
  readonly keyGeneration?: number;
  /** Cycles of limits that are not served: paused ones, and those whose object is gone. */
  readonly cycles?: readonly RememberedCycle[];
  /** Key generations of webhook policies above 1, also of policies that are gone, the latest first. */
  readonly webhookKeys?: readonly WebhookKey[];
};

/** The parts of a config that remember. */
type Remembering = { readonly limits: readonly LimitConfig[]; readonly memory?: PaymasterMemory };

export type RememberedCycle = CycleStatus & {
  readonly policyId: string;
  /** Of a limit whose object is gone: when the window ends in which it went, and the cycle with it. */
  readonly until?: EpochMs;
};

export type WebhookKey = { readonly policyId: string; readonly keyGeneration: number };

/** More than count at once, so that nobody makes it forget by making others; what ends first goes first. */
const maxGone = 100;

/** The key generation in force: an object that is made again without one must not bring a rotated key back. */
export function keyGenerationOf(
  spec: { readonly keyGeneration?: number },
  memory: Pick<PaymasterMemory, 'keyGeneration'> | undefined,
): number {
  return Math.max(spec.keyGeneration ?? 1, memory?.keyGeneration ?? 1);
}

/** Every cycle that the last config knows, of limits served and not. */
export function knownCycles(previous: Remembering | undefined): ReadonlyMap<string, RememberedCycle> {
  const known = [...(previous?.memory?.cycles ?? []), ...(previous?.limits ?? []).map(cycleOf)];
  return new Map(known.map((cycle) => [cycle.policyId, cycle]));
}

/** Key generations of webhooks by policyId, those above 1. */
export function knownKeys(previous: Pick<Remembering, 'memory'> | undefined): ReadonlyMap<string, number> {
  const keys = previous?.memory?.webhookKeys ?? [];
  return new Map(keys.map(({ policyId, keyGeneration }) => [policyId, keyGeneration]));
}

/** The cycle that a limit goes on with which is made again under its name; undefined when its window is over. */
export function lastingCycle(
  known: ReadonlyMap<string, RememberedCycle>,
  policyId: string,
  now: EpochMs,
): CycleStatus | undefined {
  const cycle = known.get(policyId);
  if (cycle === undefined || (cycle.until !== undefined && cycle.until <= now)) return undefined;
  const { policyId: _, until: __, ...status } = cycle;
  return status;
}

/**
 * The memory to be stored. `unserved`: cycles of limits that exist and are not served. Of limits that are gone it keeps
 * those that it had, and drops what has ended only when another one goes: a config must not move by itself.
 */
export function remember(context: {
  readonly keyGeneration: number;
  readonly unserved: readonly RememberedCycle[];
  readonly servedIds: ReadonlySet<string>;
  /** Of webhook policies that exist. */
  readonly webhookKeys: readonly WebhookKey[];
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
  const webhookKeys = rememberedKeys(context.webhookKeys, previous?.memory?.webhookKeys ?? []);
  if (keyGeneration === 1 && cycles.length === 0 && webhookKeys.length === 0) return undefined;
  return {
    ...(keyGeneration === 1 ? {} : { keyGeneration }),
    ...(cycles.length === 0 ? {} : { cycles }),
    ...(webhookKeys.length === 0 ? {} : { webhookKeys }),
  };
}

function rememberedKeys(present: readonly WebhookKey[], had: readonly WebhookKey[]): readonly WebhookKey[] {
  const rotated = present.filter(({ keyGeneration }) => keyGeneration > 1);
  const ids = new Set(rotated.map(({ policyId }) => policyId));
  return [...rotated, ...had.filter(({ policyId }) => !ids.has(policyId))].slice(0, maxGone);
}

function ending(cycle: RememberedCycle, now: EpochMs): RememberedCycle & { readonly until: EpochMs } {
  const { startTime, durationMs, until } = cycle;
  if (until !== undefined) return { ...cycle, until };
  const start = parseInstant(startTime) ?? now;
  const turned = Math.max(0, Math.floor((now - start) / durationMs));
  return { ...cycle, until: plusMs(start, (turned + 1) * durationMs) };
}

function endingLast(
  cycles: readonly (RememberedCycle & { readonly until: EpochMs })[],
  now: EpochMs,
): readonly RememberedCycle[] {
  const lasting = cycles.filter(({ until }) => until > now);
  return lasting.toSorted((a, b) => b.until - a.until).slice(0, maxGone);
}

function cycleOf({
  policyId,
  startMs,
  durationMs,
  scope,
  threshold,
  thresholdType,
}: LimitConfig): RememberedCycle {
  return { policyId, startTime: formatInstant(startMs), durationMs, scope, threshold, thresholdType };
}
