import type { EpochMs } from './units/time.js';

/**
 * Port: what pods of this release have reached and mounted, by name. Where others had it and a new pod lacks it, the fault is in that pod: it must not
 * replace one that works.
 */
export type ReleaseFacts = {
  /** When a pod last had one of these. Throws UNAVAILABLE. */
  lastHad(names: readonly string[]): Promise<EpochMs | undefined>;
  /** This pod has them now. Written in the background, at most once in {@link confirmEveryMs}. */
  confirm(names: readonly string[]): void;
};

export const confirmEveryMs = 300_000;
/** What nobody has confirmed for so long is missing everywhere: somebody took it away. */
export const missedAfterMs = 900_000;
