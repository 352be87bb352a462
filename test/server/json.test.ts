import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decimalText, isSameNumber } from '../../core/units/decimal-text.js';
import { parseJson } from '../../server/http/json.js';
import { collapseSlashes } from '../../server/dashboard/dashboard.js';

describe('decimalText', () => {
  test.each([
    { value: 0, text: '0' },
    { value: -0, text: '0' },
    { value: 0.1, text: '0.1' },
    { value: 1e-7, text: '0.0000001' },
    { value: 1.25e-18, text: '0.00000000000000000125' },
    { value: 1e21, text: '1000000000000000000000' },
    { value: 1.5e22, text: '15000000000000000000000' },
    { value: -2.5, text: '-2.5' },
    { value: 9007199254740991, text: '9007199254740991' },
    { value: 5e-324, text: `0.${'0'.repeat(323)}5` },
  ])('$value is "$text"', ({ value, text }) => {
    expect(decimalText(value)).toBe(text);
  });

  test('is plain, canonical and means the same double, for every double', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = decimalText(value);
        expect(text).toMatch(/^-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/);
        expect(Number(text) === value).toBe(true);
      }),
    );
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])('%s has no decimal text', (value) => {
    expect(() => decimalText(value)).toThrow(RangeError);
  });
});

describe('parseJson', () => {
  test('refuses a body of very many values before it looks at any of them', () => {
    const values = (count: number) => `[${'1e-323,'.repeat(count - 1)}1]`;
    expect(parseJson(values(12_000))).toHaveLength(12_000);
    expect(() => parseJson(values(12_001))).toThrow('body must be at most 12000 values');
  });

  test.each(['[', '{"a":'])(
    'refuses a body that is nested deeper than anything that walks through it may go (%s)',
    (open) => {
      const nested = (levels: number) =>
        open.repeat(levels) + '1' + (open === '[' ? ']' : '}').repeat(levels);
      expect(parseJson(nested(200))).toBeDefined();
      for (const levels of [201, 100_000])
        expect(() => parseJson(nested(levels))).toThrow('body must be nested at most 200 levels deep');
      // Lists beside each other are not deep, and brackets in a text do not count.
      const beside = `[${Array.from({ length: 300 }, () => '{"a":[]}').join()}]`;
      expect(parseJson(beside)).toHaveLength(300);
      expect(parseJson(JSON.stringify(open.repeat(1_000)))).toHaveLength(open.length * 1_000);
    },
  );

  test('commas in strings are not values, whatever is quoted there', () => {
    const text = `${',"\\'.repeat(30_000)}`;
    expect(parseJson(JSON.stringify({ abi: text }))).toEqual({ abi: text });
  });

  test('reads back whatever JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.stringify(parseJson(text))).toBe(text);
      }),
    );
  });

  test.each(['1', '-1', '0.10', '1.50e2', '100E-2', '1e21', '0e999', '-0', '5e-324'])(
    'takes %s, which a double holds exactly',
    (literal) => {
      expect(parseJson(`{"a":${literal}}`)).toEqual({ a: Number(literal) });
    },
  );

  test.each([
    '9007199254740993',
    '0.1000000000000000055',
    '1e309',
    '1e-400',
    '2.22e-999999999999',
    '123456789012345678',
  ])('refuses %s, which would become another number', (literal) => {
    expect(() => parseJson(`{"amount":[{"a":${literal}}]}`)).toThrow(
      'a must be a number that fits a double exactly',
    );
  });

  test('refuses exactly those whole numbers that it would write as others, wherever they stand', () => {
    const literal = fc
      .tuple(fc.boolean(), fc.bigInt(0n, 10n ** 24n), fc.integer({ min: 0, max: 24 }))
      .map(
        ([isNegative, digits, length]) =>
          `${isNegative ? '-' : ''}${BigInt(String(digits).slice(0, length + 1))}`,
      );
    const beside = fc.constantFrom(
      'true',
      'null',
      '"1e5"',
      '"9007199254740993"',
      '[]',
      '"\\\\"',
      '{"e":"."}',
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(literal, beside), { minLength: 1, maxLength: 6 }), (pairs) => {
        const text = `[${pairs.map(([number, other]) => `${number},${other}`).join()}]`;
        const isExact = pairs.every(([number]) => isSameNumber(number, String(Number(number))));
        let isTaken = true;
        try {
          expect(parseJson(text)).toEqual(JSON.parse(text));
        } catch {
          isTaken = false;
        }
        expect({ text, isTaken }).toEqual({ text, isTaken: isExact });
      }),
      { numRuns: 2_000 },
    );
  });

  test('names every bad value at once', () => {
    expect(() => parseJson('{"a":1e999,"b":"\\udc00","c":"fine"}')).toThrow(
      'a must be a number that fits a double exactly; b must be well-formed Unicode text',
    );
  });

  test('never quotes what it could not parse', () => {
    expect(() => parseJson('{"signature":"0xsecret",')).toThrow(/^body must be valid JSON$/);
  });
});

test.each([
  { target: '/a/b', path: '/a/b' },
  { target: '//a///b//', path: '/a/b/' },
  { target: '/a//b?next=//c//d', path: '/a/b?next=//c//d' },
  { target: '/', path: '/' },
  { target: '?x', path: '?x' },
])('collapseSlashes: $target is $path', ({ target, path }) => {
  expect(collapseSlashes(target)).toBe(path);
});
