import { beforeEach, expect, test } from '@jest/globals';
import { createOutageLog, type OutageLog } from '../../adapters/log/outage-log.js';
import { silentLogger, type LogFields, type Logger } from '../../core/log.js';
import { createVirtualTime, type VirtualTime } from '../operator/virtual-time.js';

type Line = { readonly level: string; readonly message: string } & LogFields;

let time: VirtualTime;
let lines: Line[];
let outages: OutageLog;

beforeEach(() => {
  time = createVirtualTime();
  lines = [];
  const write = (level: string) => (message: string, fields?: LogFields) =>
    void lines.push({ level, message, ...fields });
  const log: Logger = { ...silentLogger, info: write('info'), warn: write('warn') };
  const messages = { begins: 'begins', goesOn: 'goes on', ends: 'ends' };
  const after = (ms: number, action: () => void) => void time.timers.after(ms, action);
  outages = createOutageLog({ log, clock: time.clock, messages, after });
});

test('an outage of a hundred failures a second for two minutes is four lines, and only the first has the details', () => {
  for (let step = 0; step < 1200; step += 1) {
    for (let call = 0; call < 10; call += 1) outages.failed('STORE', { error: 'a long stack' });
    time.advance(100);
  }
  time.advance(120_000);
  expect(lines).toEqual([
    { level: 'warn', message: 'begins', cause: 'STORE', error: 'a long stack' },
    { level: 'warn', message: 'goes on', cause: 'STORE', failures: expect.any(Number), seconds: 60 },
    { level: 'warn', message: 'goes on', cause: 'STORE', failures: 6000, seconds: 120 },
    { level: 'info', message: 'ends', cause: 'STORE', failures: 12_000, seconds: 150 },
  ]);
});

test('another outage of the same cause is told anew, and causes apart from each other', () => {
  outages.failed('STORE', {});
  outages.failed('CHAIN', {});
  time.advance(30_000);
  outages.failed('STORE', {});
  expect(lines.map(({ message, cause }) => `${message} ${String(cause)}`)).toEqual([
    'begins STORE',
    'begins CHAIN',
    'ends STORE',
    'ends CHAIN',
    'begins STORE',
  ]);
});

test('too many causes at once share one', () => {
  for (let cause = 0; cause < 500; cause += 1) outages.failed(`cause ${cause}`, {});
  expect(lines).toHaveLength(51);
  expect(lines.at(-1)?.['cause']).toBe('other');
});
