import type { EpochMs } from '../units/time.js';
import type { Fence, ReserveResult } from './usage-store.js';

/** The newest generation that was seen of an id, and whether it is suspended. */
export type FenceState = {
  readonly id: string;
  generation: number;
  /** When it was last named, to the day. */
  seenAt: EpochMs;
  isSuspended: boolean;
};

type FenceRefusal = Extract<ReserveResult, { readonly outcome: 'suspended' | 'stale' }>;

const dayMs = 86_400_000;
/** As long as the tombstone of a deleted object stands. */
const rememberMs = 30 * dayMs;

/** Generations and suspensions of a chain. */
export class Fences {
  readonly #byId = new Map<string, FenceState>();

  /** The first id that is suspended, or else the first that is older than the newest seen. */
  refusal(fences: readonly Fence[]): FenceRefusal | undefined {
    let stale: string | undefined;
    for (const { id, generation } of fences) {
      const known = this.#byId.get(id);
      if (known === undefined) continue;
      if (known.isSuspended) return { outcome: 'suspended', id };
      if (generation < known.generation) stale ??= id;
    }
    return stale === undefined ? undefined : { outcome: 'stale', id: stale };
  }

  /** Remembers what is newer; answers the state that changed, if it did. */
  note({ id, generation }: Fence, now: EpochMs): FenceState | undefined {
    const known = this.#byId.get(id);
    if (known === undefined) {
      // A fence with generation 0 has no generations: it can only be suspended.
      return generation > 0 ? this.restore({ id, generation, seenAt: now, isSuspended: false }) : undefined;
    }
    if (generation <= known.generation && now - known.seenAt < dayMs) return undefined;
    known.generation = Math.max(known.generation, generation);
    known.seenAt = now;
    return known;
  }

  /** Answers the state that changed, if it did. */
  suspend(id: string, isSuspended: boolean, now: EpochMs): FenceState | undefined {
    const known = this.#byId.get(id);
    if ((known?.isSuspended ?? false) === isSuspended) return undefined;
    if (known === undefined) return this.restore({ id, generation: 0, seenAt: now, isSuspended });
    known.isSuspended = isSuspended;
    known.seenAt = now;
    return known;
  }

  suspended(): readonly string[] {
    return [...this.#byId.values()].filter(({ isSuspended }) => isSuspended).map(({ id }) => id);
  }

  restore(state: FenceState): FenceState {
    this.#byId.set(state.id, state);
    return state;
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** Forgets ids that nobody has named for 30 days and that are not suspended, and answers them. */
  forget(now: EpochMs): readonly FenceState[] {
    const old = [...this.#byId.values()].filter(
      ({ seenAt, isSuspended }) => !isSuspended && now - seenAt > rememberMs,
    );
    for (const { id } of old) this.#byId.delete(id);
    return old;
  }
}
