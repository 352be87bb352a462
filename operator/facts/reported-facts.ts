import { isDeepStrictEqual } from 'node:util';
import type { Timers } from '../../adapters/timers.js';
import type { Logger } from '../../core/log.js';
import type { ConditionReason } from '../../core/meta/condition-reasons.js';
import type { Reports } from '../../core/reports/reports.js';
import type { ServedReport } from '../../core/reports/config-revisions.js';
import type { ServingReport } from '../../core/reports/serving-reports.js';
import { given } from '../../core/units/given.js';
import type { Clock, EpochMs } from '../../core/units/time.js';
import { type EpochCopies, lossEndsAt, findLossId } from '../../core/usage/epoch.js';
import { createRepetition } from '../runtime/repeat.js';

/** Reports of the servers: the trouble of each policy that keeps its paymaster from sponsoring at the moment, and of each chain. */
export type ServingFacts = Polled<string, ServingReport['trouble']>;
/** Versions of each chain whose token mode has stopped, according to the followers' reports. */
export type LossFacts = Polled<number, ReadonlySet<string>>;
/** How far replicas have followed the compiled objects. */
export type ServedFacts = Polled<string, ServedReport>;

type Reported = { readonly reports: Pick<Reports, 'all'> };

export function createServingFacts(deps: PolledDeps<string> & Reported): ServingFacts {
  return createPolled(deps, 'troubles that servers report', async () => {
    const all = await deps.reports.all('serving');
    return new Map([...all].map(([subject, { trouble }]) => [subject, trouble]));
  });
}

export function createServedFacts(deps: PolledDeps<string> & Reported): ServedFacts {
  return createPolled(deps, 'what replicas serve', () => deps.reports.all('served'));
}

/** A day that has ended counts as ended even if no report says so. */
export function createLossFacts(deps: PolledDeps<number> & Reported & { readonly clock: Clock }): LossFacts {
  return createPolled(deps, 'losses of token payments', async () => {
    const all = await deps.reports.all('losses');
    const now = deps.clock.now();
    return new Map(
      [...all].map(([chainId, { stopped }]) => [
        Number(chainId),
        new Set(stopped.filter(({ until }) => until > now).map(({ version }) => version)),
      ]),
    );
  });
}

/**
 * Whether the usage store still holds the data of a chain, according to the copies of its epochs that the followers
 * write.
 */
export type UsageFact = {
  readonly level: Extract<ConditionReason<'UsageStoreLost'>, 'Kept' | 'Lost'>;
  /** The id of the loss, as soon as a follower has noted it. */
  readonly lossId?: string;
  /** When signing begins again by itself. */
  readonly endsAt?: EpochMs;
  /** Of windows that began before, nobody knows what was used; 0: of none. */
  readonly since: EpochMs;
};
export type UsageFacts = Polled<number, UsageFact>;

export function createUsageFacts(deps: PolledDeps<number> & { readonly epochs: EpochCopies }): UsageFacts {
  return createPolled(deps, 'epochs of the usage store', async () => {
    const all = await deps.epochs.all();
    return new Map(
      [...all].map(([chainId, epoch]): [number, UsageFact] => {
        const lossId = findLossId(epoch);
        const { since, isMoved } = epoch;
        if (lossId === undefined) return [chainId, { level: isMoved === true ? 'Lost' : 'Kept', since }];
        return [chainId, { level: 'Lost', lossId, since, ...given({ endsAt: lossEndsAt(epoch) }) }];
      }),
    );
  });
}

/** Reports of the servers, by what they are about, read again and again. */
type Polled<K, V> = ReturnType<typeof createPolled<K, V>>;

type PolledDeps<K> = {
  readonly timers: Timers;
  readonly log: Logger;
  /** What is known about these has changed. */
  readonly onChange: (keys: readonly K[]) => void;
  /** They have been read for the first time: what was kept until then can be looked at. */
  readonly onKnown?: () => void;
};

const pollMs = 15_000;

/** Reads at `soon`, and often enough where nobody calls it. While `read` fails, the known state stays. `what` names it in the log. */
function createPolled<K, V>(
  { timers, log, onChange, onKnown }: PolledDeps<K>,
  what: string,
  read: () => Promise<ReadonlyMap<K, V>>,
) {
  let known: ReadonlyMap<K, V> = new Map();
  let isKnown = false;
  let hasFailed = false;
  const repetition = createRepetition(timers, async () => {
    await poll();
    return pollMs;
  });

  async function poll(): Promise<void> {
    const before = known;
    const isFirst = !isKnown;
    try {
      known = await read();
      hasFailed = false;
      isKnown = true;
    } catch (error) {
      if (!hasFailed) log.warn('polling failed', { what, error });
      hasFailed = true;
      return;
    }
    const keys = [...new Set([...before.keys(), ...known.keys()])];
    const changed = keys.filter((key) => !isDeepStrictEqual(before.get(key), known.get(key)));
    if (repetition.isStopped()) return;
    if (changed.length > 0) onChange(changed);
    if (isFirst) onKnown?.();
  }

  return {
    /** Begins to read; a second call does nothing. */
    start: (): void => repetition.start(0),
    /** Undefined before the first report about it. */
    of: (key: K): V | undefined => known.get(key),
    values: (): Iterable<V> => known.values(),
    /** False until reports have been read for the first time. */
    isKnown: (): boolean => isKnown,
    /** Reads again at once. */
    soon: (): void => repetition.soon(0),
    /** Resolves when no read is running; may be called twice. */
    stop: (): Promise<void> => repetition.stop(),
  };
}
