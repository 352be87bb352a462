import { monitorEventLoopDelay } from 'node:perf_hooks';

/** How late the event loop runs its timers. */
export type EventLoopLag = {
  /** Median and worst delay in seconds since the last full minute began. */
  read(): { readonly medianSeconds: number; readonly maxSeconds: number };
  stop(): void;
};

const resolutionMs = 20;
const windowMs = 60_000;

/** Starts to measure; does not keep the process alive. */
export function createEventLoopLag(): EventLoopLag {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  histogram.enable();
  // Resets every minute: otherwise one stall at the start would be the worst delay for ever.
  const timer = setInterval(() => histogram.reset(), windowMs).unref();
  return {
    read: () => ({ medianSeconds: toLag(histogram.percentile(50)), maxSeconds: toLag(histogram.max) }),
    stop: () => {
      clearInterval(timer);
      histogram.disable();
    },
  };
}

/** The monitor records the whole time between two of its ticks in nanoseconds; only the part beyond its period is lag. */
function toLag(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000);
}
