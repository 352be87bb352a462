import type { FollowingTrouble } from '../../core/reports/serving-reports.js';
import type { EpochMs } from '../../core/units/time.js';

/** A settled block that has not moved for this long, while the chain has, is reported. */
const stalledAfterMs = 300_000;

/** What one look at a chain has shown. Undefined `settled`: nothing was ever settled. */
export type Look = {
  readonly settled: number | undefined;
  /** The newest block whose operations settle; the head where the node does not say which block is final. */
  readonly confirmed: number;
  /** Why this process did not get further. Undefined: it did, or another one follows the chain. */
  readonly trouble: FollowingTrouble | undefined;
};

export type Stall = Look & { readonly chainId: number; readonly forMs: number };

type LastLook = Look & { readonly since: EpochMs };

/**
 * Notices chains whose settled block does not move although the chain does. All replicas look at the block that they share, so it does
 * not matter which of them follows, nor how often that changes.
 */
export class Progress {
  readonly #known = new Map<number, LastLook>();

  look(chainId: number, look: Look, now: EpochMs): void {
    const known = this.#known.get(chainId);
    const isNew = known === undefined || known.settled !== look.settled || keepsUp(look);
    this.#known.set(chainId, { ...look, since: isNew ? now : known.since });
  }

  /** Whether settlement has reached what the chain shows. */
  keepsUp(chainId: number): boolean {
    const known = this.#known.get(chainId);
    return known === undefined || keepsUp(known);
  }

  /** Milliseconds for which the settled block has not moved although the chain has. */
  stalledMs(chainId: number, now: EpochMs): number {
    const known = this.#known.get(chainId);
    return known === undefined ? 0 : now - known.since;
  }

  stalls(now: EpochMs): readonly Stall[] {
    return [...this.#known].flatMap(([chainId, { since, ...look }]) =>
      now - since < stalledAfterMs || keepsUp(look) ? [] : [{ ...look, chainId, forMs: now - since }],
    );
  }

  /** The chain was taken away. */
  forget(chainId: number): void {
    this.#known.delete(chainId);
  }
}

function keepsUp({ settled, confirmed, trouble }: Look): boolean {
  return trouble !== 'Waiting' && settled !== undefined && settled >= confirmed;
}
