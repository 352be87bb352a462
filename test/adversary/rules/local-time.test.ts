import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runs } from '../../support/property.js';
import { nextPeriod, offsetAt, periodAt, zones } from './local-time.js';

const anyTime = fc.integer({ min: Date.UTC(2025, 0, 1), max: Date.UTC(2031, 0, 1) });

test.each(zones)('the time of %s is that of the published time zone', (zone) => {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
    hourCycle: 'h23',
  });
  fc.assert(
    fc.property(anyTime, (at) => {
      const [date = '', time = ''] = new Date(at + offsetAt(zone, at)).toISOString().split(/[T.]/);
      expect(format.format(at)).toBe(`${date}, ${time}`);
    }),
    runs(500),
  );
});

test('a period ends when the next one begins', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.constantFrom('day', 'week', 'month'),
      anyTime,
      (zone, every, at) => {
        const next = nextPeriod(zone, every, at);
        expect(next).toBeGreaterThan(at);
        expect(periodAt(zone, every, next - 1)).toBe(periodAt(zone, every, at));
        expect(periodAt(zone, every, next)).not.toBe(periodAt(zone, every, at));
      },
    ),
    runs(200),
  );
});
