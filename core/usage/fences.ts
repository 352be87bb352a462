import type { EpochMs } from '../units/time.js';
import type { Fence, ReserveResult } from './usage-store.js';

/** The newest generation seen for an id, and whether the id is suspended. */
export type FenceState = {
  readonly id: string;
  generation: number;
  /** When a request last named it, rounded to the day. */
  seenAt: EpochMs;
  isSuspended: boolean;
};

type FenceRefusal = Extract<ReserveResult, { readonly outcome: 'suspended' | 'stale' }>;

const dayMs = 86_400_000;
/** As long as the tombstone of a deleted object is kept. */
const rememberMs = 30 * dayMs;

/** Generations and suspensions of a chain. */
export class Fences {
  readonly #byId = new Map<string, FenceState>();

  /** The first suspended id, or else the first id with a generation older than the newest seen. */
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

  /** Remembers a newer generation. Answers the state if it changed. */
  note({ id, generation }: Fence, now: EpochMs): FenceState | undefined {
    const known = this.#byId.get(id);
    if (known === undefined) {
      // A fence with generation 0 does not use generations: it can only be suspended.
      return generation > 0 ? this.restore({ id, generation, seenAt: now, isSuspended: false }) : undefined;
    }
    if (generation <= known.generation && now - known.seenAt < dayMs) return undefined;
    known.generation = Math.max(known.generation, generation);
    known.seenAt = now;
    return known;
  }

  /** Answers the state if it changed. */
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

  /** Forgets ids that are not suspended and that no request has named for 30 days, and answers them. */
  forget(now: EpochMs): readonly FenceState[] {
    const old = [...this.#byId.values()].filter(
      ({ seenAt, isSuspended }) => !isSuspended && now - seenAt > rememberMs,
    );
    for (const { id } of old) this.#byId.delete(id);
    return old;
  }
}
