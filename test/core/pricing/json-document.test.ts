import { describe, expect, test } from '@jest/globals';
import { parseDocument, parsePath, readNumber, readTime } from '../../../core/pricing/json-document.js';

const number = (json: string, path: string) => {
  const document = parseDocument(json);
  return document === undefined ? 'not JSON' : readNumber(document, parsePath(path));
};
const time = (json: string, path: string) => {
  const document = parseDocument(json);
  return document === undefined ? 'not JSON' : readTime(document, parsePath(path));
};

describe('a number in a document', () => {
  test.each([
    {
      name: 'keeps digits that a float would lose',
      json: '{"a":0.12345678901234567890123}',
      path: 'a',
      want: { value: 12_345_678_901_234_567_890_123n, decimals: 23 },
    },
    {
      name: 'keeps an integer beyond 2^53',
      json: '{"a":9007199254740993}',
      path: 'a',
      want: { value: 9_007_199_254_740_993n, decimals: 0 },
    },
    { name: 'may have an exponent', json: '[1.5e-3]', path: '[0]', want: { value: 15n, decimals: 4 } },
    {
      name: 'may be a text',
      json: '{"data":{"amount":"3123.45"}}',
      path: 'data.amount',
      want: { value: 312_345n, decimals: 2 },
    },
    {
      name: 'may lie in lists',
      json: '{"a":[{"b":[[1],[2]]}]}',
      path: 'a[0].b[1][0]',
      want: { value: 2n, decimals: 0 },
    },
    {
      name: 'may have a name with a dash',
      json: '{"usd-coin":{"usd":1}}',
      path: 'usd-coin.usd',
      want: { value: 1n, decimals: 0 },
    },
  ])('$name', ({ json, path, want }) => {
    expect(number(json, path)).toEqual(want);
  });

  test.each([
    { name: 'nothing', json: '{}', path: 'a.b', want: 'has nothing at a.b, not a number' },
    { name: 'an object', json: '{"a":{}}', path: 'a', want: 'has an object at a, not a number' },
    { name: 'a list', json: '{"a":[1]}', path: 'a', want: 'has a list at a, not a number' },
    { name: 'null', json: '{"a":null}', path: 'a', want: 'has null at a, not a number' },
    { name: 'a boolean', json: '{"a":true}', path: 'a', want: 'has a boolean at a, not a number' },
    {
      name: 'words',
      json: '{"a":"n/a"}',
      path: 'a',
      want: 'has a text at a that is not a decimal number of at most 80 digits',
    },
    {
      name: 'a number too long to be one',
      json: `{"a":${'9'.repeat(400)}}`,
      path: 'a',
      want: 'has a text at a that is not a decimal number of at most 80 digits',
    },
    {
      name: 'a name that every object inherits',
      json: '{}',
      path: 'constructor.name',
      want: 'has nothing at constructor.name, not a number',
    },
    { name: 'a place behind the end', json: '[1]', path: '[1]', want: 'has nothing at [1], not a number' },
    { name: 'something that is not JSON', json: '<html>', path: 'a', want: 'not JSON' },
    {
      name: 'a nesting too deep to read',
      json: `${'['.repeat(200_000)}1${']'.repeat(200_000)}`,
      path: '[0]',
      want: 'not JSON',
    },
  ])('is not read from $name', ({ json, path, want }) => {
    expect(number(json, path)).toBe(want);
  });
});

describe('a time in a document', () => {
  test.each([
    { name: 'Unix seconds', json: '{"t":1700000000}', want: 1_700_000_000_000 },
    { name: 'Unix seconds with a fraction', json: '{"t":1700000000.9}', want: 1_700_000_000_900 },
    { name: 'Unix seconds in a text', json: '{"t":"1700000000"}', want: 1_700_000_000_000 },
    { name: 'Unix milliseconds', json: '{"t":1700000000123}', want: 1_700_000_000_123 },
    { name: 'RFC 3339', json: '{"t":"2023-11-14T22:13:20Z"}', want: 1_700_000_000_000 },
    { name: 'words', json: '{"t":"yesterday"}', want: 'has a string at t, not a time' },
    { name: 'a negative number', json: '{"t":-5}', want: 'has a number at t, not a time' },
    { name: 'nothing', json: '{}', want: 'has nothing at t, not a time' },
  ])('may be, or is refused as, $name', ({ json, want }) => {
    expect(time(json, 't')).toBe(want);
  });
});
