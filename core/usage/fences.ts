import type { EpochMs } from '../units/time.js';
import type { FenceRow, RowSource } from './rows.js';
import type { Fence, ReserveResult } from './reserve-request.js';

type FenceRefusal = Extract<ReserveResult, { readonly outcome: 'suspended' | 'stale' }>;

const dayMs = 86_400_000;
/** As long as the tombstone of a deleted object is kept. */
export const rememberFenceMs = 30 * dayMs;

/** Generations and suspensions of a chain, in a turn. */
export class Fences {
  readonly #rows: Pick<RowSource, 'fence'>;
  readonly #changed = new Map<string, FenceRow>();

  constructor(rows: Pick<RowSource, 'fence'>) {
    this.#rows = rows;
  }

  find(id: string): FenceRow | undefined {
    return this.#changed.get(id) ?? this.#rows.fence(id);
  }

  /** The first suspended id, or else the first id with a generation older than the newest seen. */
  refusal(fences: readonly Fence[]): FenceRefusal | undefined {
    let stale: string | undefined;
    for (const { id, generation } of fences) {
      const known = this.find(id);
      if (known === undefined) continue;
      if (known.isSuspended) return { outcome: 'suspended', id };
      if (generation < known.generation) stale ??= id;
    }
    return stale === undefined ? undefined : { outcome: 'stale', id: stale };
  }

  /** Remembers a newer generation. */
  note({ id, generation }: Fence, now: EpochMs): void {
    const known = this.find(id);
    // A fence with generation 0 does not use generations: it can only be suspended.
    if (known === undefined && generation === 0) return;
    if (known !== undefined && generation <= known.generation && now - known.seenAt < dayMs) return;
    this.#changed.set(id, {
      id,
      generation: Math.max(known?.generation ?? 0, generation),
      seenAt: now,
      isSuspended: known?.isSuspended ?? false,
    });
  }

  suspend(id: string, isSuspended: boolean, now: EpochMs): void {
    const known = this.find(id);
    if ((known?.isSuspended ?? false) === isSuspended) return;
    this.#changed.set(id, { id, generation: known?.generation ?? 0, seenAt: now, isSuspended });
  }

  changed(): readonly FenceRow[] {
    return [...this.#changed.values()];
  }
}
