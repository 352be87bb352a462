import type { Ambient } from '../../core/ambient.js';
import type { LogFields } from '../../core/log.js';

/**
 * Log lines about single requests, limited per second: a line costs a tenth of a signature, and callers must not decide
 * how large the log grows. Dropped lines are counted, and the next line that is written says how many they were.
 */
type RequestLog = { note(level: 'info' | 'error', message: string, fields: LogFields): void };

const linesPerSecond = 20;

export function createRequestLog({ log, clock }: Pick<Ambient, 'clock' | 'log'> & {}): RequestLog {
  let second = 0;
  let written = 0;
  let leftOut = 0;
  return {
    note(level, message, fields) {
      const now = Math.floor(clock.now() / 1000);
      if (now !== second) {
        second = now;
        written = 0;
      }
      if (written >= linesPerSecond) {
        leftOut += 1;
        return;
      }
      written += 1;
      log[level](message, leftOut === 0 ? fields : { ...fields, linesLeftOut: leftOut });
      leftOut = 0;
    },
  };
}
