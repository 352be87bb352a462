import { expect, test } from '@jest/globals';
import { instant } from '../../../core/meta/schema-parts.js';
import { compileSchema } from '../../../core/schema/validate.js';
import { parseInstant } from '../../../core/units/time.js';

const validate = compileSchema(instant('When.'), 'at');
const two = (value: number): string => String(value).padStart(2, '0');

test('a day is taken exactly when it exists, by the schema, as the API server has it, and by the reader of texts', () => {
  for (const year of [1900, 1996, 2000, 2024, 2025, 2026, 2027, 2028, 2100, 2400])
    for (let month = 0; month <= 13; month += 1)
      for (let day = 0; day <= 32; day += 1) {
        const text = `${year}-${two(month)}-${two(day)}T12:00:00Z`;
        const date = new Date(Date.UTC(year, month - 1, day));
        const exists =
          date.getUTCMonth() === month - 1 && date.getUTCDate() === day && month >= 1 && month <= 12;
        expect({ text, isTaken: validate(text).length === 0 }).toEqual({ text, isTaken: exists });
        expect({ text, isRead: parseInstant(text) !== undefined }).toEqual({ text, isRead: exists });
      }
});

test('the zone does not move the day that is judged', () => {
  expect(parseInstant('2027-02-28T23:30:00-01:00')).toBe(Date.UTC(2027, 2, 1, 0, 30));
  expect(parseInstant('2027-02-29T00:30:00+14:00')).toBeUndefined();
  expect(validate('2027-02-29T00:30:00+14:00')).toMatchObject([
    { field: 'at', expected: expect.stringContaining('of a day that exists') },
  ]);
});
