import { expect, test } from '@jest/globals';
import { invalidInput } from '../../core/errors.js';

const problems = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ field: `list[${index}]`, expected: 'text', value: '1' }));

test('every problem of an input is named', () => {
  expect(invalidInput(problems(2)).message).toBe('list[0] must be text, got 1; list[1] must be text, got 1');
});

test('of very many problems the first fifty are named, and that there are more', () => {
  const { message, details } = invalidInput(problems(500_000));
  expect(details.problems).toEqual(problems(50));
  expect(message).toContain('list[49] must be text, got 1; and more');
  expect(message).not.toContain('list[50]');
});
