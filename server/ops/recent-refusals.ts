import type { RefusalReason } from '../../core/refusal.js';
import type { EpochMs } from '../../core/units/time.js';

/** One request that was refused, for the owner of the instance. */
export type RecentRefusal = {
  readonly at: EpochMs;
  readonly requestId: string;
  readonly method: string;
  readonly paymasterId: string;
  readonly reason: RefusalReason;
  /** What exactly; may hold text that a caller chose. */
  readonly detail?: string | undefined;
};

/** The newest refusals of this process, so that somebody who tries things out sees why. */
export type RecentRefusals = {
  note(refusal: RecentRefusal): void;
  /** The newest first. */
  list(): readonly RecentRefusal[];
};

const kept = 20;
const longestDetail = 300;

export function createRecentRefusals(): RecentRefusals {
  const ring: RecentRefusal[] = [];
  return {
    note(refusal) {
      ring.push({ ...refusal, detail: refusal.detail?.slice(0, longestDetail) });
      if (ring.length > kept) ring.shift();
    },
    list: () => ring.toReversed(),
  };
}
