import type { Logger } from './log.js';
import type { Metrics } from './metrics.js';
import type { Clock } from './units/time.js';

/** What nearly every part of a process is given: the time, and where it reports. A part picks what it uses. */
export type Ambient = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
};
