import type { RefusalReason } from '../../core/refusal.js';
import type { EpochMs } from '../../core/units/time.js';

/** One refused request, shown to the owner of the instance. */
type RecentRefusal = {
  readonly at: EpochMs;
  readonly requestId: string;
  readonly method: string;
  readonly paymasterId: string;
  readonly reason: RefusalReason;
  /** What exactly was refused; may contain text that a caller chose. */
  readonly detail?: string | undefined;
};

/** The newest refusals of this process, so that somebody who tries things out sees why a request was refused. */
export type RecentRefusals = ReturnType<typeof createRecentRefusals>;

const kept = 20;
const maxDetailLength = 300;

export function createRecentRefusals() {
  const ring: RecentRefusal[] = [];
  return {
    note(refusal: RecentRefusal): void {
      ring.push({ ...refusal, detail: refusal.detail?.slice(0, maxDetailLength) });
      if (ring.length > kept) ring.shift();
    },
    /** Newest first. */
    list: (): readonly RecentRefusal[] => ring.toReversed(),
  };
}
