import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hashApiKey } from '../../core/config/api-key.js';
import { KeyTable } from '../../server/view/key-table.js';

test('a key is found by all of its 56 first digits, and by no other', () => {
  const table = new KeyTable<string>();
  const key = hashApiKey('a key');
  table.set(key, 'value');
  expect(table.get(key)).toBe('value');
  for (let i = 0; i < 56; i++) {
    const other = `${key.slice(0, i)}${key[i] === '0' ? '1' : '0'}${key.slice(i + 1)}`;
    expect(table.get(other)).toBeUndefined();
  }
});

test('a hundred thousand keys are each found, also after half of them were deleted and others added', () => {
  const table = new KeyTable<number>();
  const keys = Array.from({ length: 100_000 }, (_, i) => hashApiKey(`key ${i}`));
  keys.forEach((key, i) => table.set(key, i));
  expect(table.size).toBe(100_000);
  expect(keys.every((key, i) => table.get(key) === i)).toBe(true);
  keys.forEach((key, i) => i % 2 === 0 && table.delete(key));
  expect(table.size).toBe(50_000);
  expect(keys.every((key, i) => table.get(key) === (i % 2 === 0 ? undefined : i))).toBe(true);
  keys.forEach((key, i) => i % 2 === 0 && table.set(key, -i));
  expect(keys.every((key, i) => table.get(key) === (i % 2 === 0 ? -i : i))).toBe(true);
});

test('it does what a Map does, also where digests crowd at the start, at the end and around the end of the table', () => {
  // Few first words, among them the last rows of any table, so that nearly all of them collide.
  const digest = fc
    .tuple(fc.constantFrom('00000000', '00000001', 'ffffffff', 'fffffffe', '0000000f'), fc.nat(12))
    // What tells keys apart must stand before the last 8 digits, which do not count.
    .map(([first, rest]) => `${first}${rest.toString(16).padStart(48, '0')}${'0'.repeat(8)}`);
  const step = fc.oneof(
    fc.record({ set: digest, value: fc.nat() }),
    fc.record({ delete: digest }),
    fc.record({ get: digest }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const table = new KeyTable<number>();
      const model = new Map<string, number>();
      for (const one of steps) {
        if ('set' in one) {
          table.set(one.set, one.value);
          model.set(one.set, one.value);
        }
        if ('delete' in one) {
          table.delete(one.delete);
          model.delete(one.delete);
        }
        if ('get' in one) expect(table.get(one.get)).toBe(model.get(one.get));
        expect(table.size).toBe(model.size);
      }
      for (const [known, value] of model) expect(table.get(known)).toBe(value);
    }),
    { numRuns: 300 },
  );
});
