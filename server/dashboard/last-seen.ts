import { LRUCache } from 'lru-cache';
import { inTime } from '../../adapters/within-deadline.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import type { Organisation } from '../../core/resources/organisation.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { Clock, EpochMs } from '../../core/units/time.js';

/** For how long readings go on while the API server is away. */
export const lastSeenForMs = 3_600_000;
/** Then what was last seen answers; without it the reading waits on. */
const patienceMs = 2_000;

/**
 * What the stores last said, for readings that need only a database besides: they go on for an hour while the API server is
 * away. A present answer always wins, so a token that was removed ends at once while the API server answers.
 */
export type LastSeen = ReturnType<typeof createLastSeen>;

type Seen<T> = { readonly value: T; readonly at: EpochMs };

export function createLastSeen({
  resources,
  clock,
}: {
  readonly resources: Pick<ResourceStore, 'get' | 'list'>;
  readonly clock: Clock;
}) {
  const answers = new LRUCache<string, Seen<object>>({ max: 2_000 });
  let organisations: Seen<ReadonlyMap<string, Organisation>> | undefined;

  function noteOrganisations(all: readonly Organisation[]): void {
    organisations = { value: new Map(all.map((one) => [one.metadata.name, one])), at: clock.now() };
  }

  const isFresh = ({ at }: Seen<unknown>): boolean => clock.now() - at <= lastSeenForMs;

  const remembering: Pick<ResourceStore, 'get' | 'list'> = {
    async get(kind, key) {
      const found = await resources.get(kind, key);
      if (kind === 'Organisation' && organisations !== undefined) {
        const others = [...organisations.value].filter(([name]) => name !== key.name);
        const own = found === undefined ? [] : [[key.name, found as Organisation] as const];
        organisations = { ...organisations, value: new Map([...others, ...own]) };
      }
      return found;
    },
    async list(kind, options) {
      const found = await resources.list(kind, options);
      if (kind === 'Organisation' && options === undefined)
        noteOrganisations(found as readonly Organisation[]);
      return found;
    },
  };
  return {
    /** The store, whose Organisations are remembered. */
    resources: remembering,
    /** Remembers all Organisations, as a watch has delivered them. */
    saw: noteOrganisations,
    /** The API server has just answered: what the watch has delivered is as new as that. */
    confirm(): void {
      if (organisations !== undefined) organisations = { ...organisations, at: clock.now() };
    },

    /** The present answer, or the last one of this key. */
    of: async <T extends object>(key: string, ask: () => Promise<T>): Promise<T> => {
      const asked = ask().then((value) => {
        answers.set(key, { value, at: clock.now() });
        return value;
      });
      const kept = answers.get(key);
      return kept !== undefined && isFresh(kept) ? unlessAway(asked, () => kept.value as T) : asked;
    },

    /** The present answer, or one from the Organisations that were last seen. */
    orFind: async <T>(
      answer: Promise<T>,
      find: (organisations: readonly Organisation[]) => T | undefined,
    ): Promise<T> => {
      const kept = organisations;
      if (kept === undefined || !isFresh(kept)) return answer;
      return unlessAway(answer, () => find([...kept.value.values()]));
    },
  };
}

export function noAnswerInTime(): DomainError {
  return new DomainError('UNAVAILABLE', 'the API server does not answer in time');
}

/** `lastSeen` is asked where the store gives no answer in time; without one its error stays. */
async function unlessAway<T>(asked: Promise<T>, lastSeen: () => T | undefined): Promise<T> {
  try {
    return await inTime(patienceMs, asked, noAnswerInTime);
  } catch (error) {
    if (!isDomainError(error, 'UNAVAILABLE')) throw error;
    return lastSeen() ?? asked;
  }
}
