import { expect, test } from '@jest/globals';
import { faultsOf, patternsOfProduct } from './patterns.js';

test('every regular expression of the product is linear, also those that were recorded as such', () => {
  const { found } = patternsOfProduct();
  expect(found.length).toBeGreaterThan(100);
  expect(faultsOf(found)).toEqual([]);
}, 1_800_000);
