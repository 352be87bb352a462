import { expect, test } from '@jest/globals';
import { silentLogger, type LogFields, type Logger } from '../../../core/log.js';
import type { EpochMs } from '../../../core/units/time.js';
import { createRequestLog } from '../../../server/rpc/call-runner.js';

test('at most 20 lines a second are written; the next one says how many were left out', () => {
  let now = 5_000;
  const lines: (LogFields | undefined)[] = [];
  const log: Logger = { ...silentLogger, info: (_message, fields) => void lines.push(fields) };
  const requests = createRequestLog({ log, clock: { now: () => now as EpochMs } });
  for (let i = 0; i < 50; i += 1) requests.note('info', 'not sponsored', { i });
  expect(lines.map((fields) => fields?.['i'])).toEqual(Array.from({ length: 20 }, (_, i) => i));
  now += 1_000;
  requests.note('info', 'not sponsored', { i: 50 });
  requests.note('info', 'not sponsored', { i: 51 });
  expect(lines.slice(20)).toEqual([{ i: 50, linesLeftOut: 30 }, { i: 51 }]);
});
