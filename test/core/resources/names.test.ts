import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  paymasterObjectName,
  policyObjectName,
  smartContractObjectName,
} from '../../../core/resources/names.js';

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const address = `0x${'Ab'.repeat(20)}`;
const anyName = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 });
const anyObjectName = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?$/);

describe('object names', () => {
  test('are valid labels whatever they are made from', () => {
    fc.assert(
      fc.property(
        anyName,
        anyObjectName,
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        (name, object, id) => {
          expect(paymasterObjectName(id, name)).toMatch(label);
          expect(smartContractObjectName(object, address)).toMatch(label);
          expect(policyObjectName(object, name)).toMatch(label);
          expect(policyObjectName(object, name, 999_999_999)).toMatch(label);
        },
      ),
    );
  });

  test('are the same for the same key and differ for another, also when people would read them alike', () => {
    const names = ['My Shop', 'my shop', 'My-Shop', 'My Shop ', 'мой магазин', '商店', '店商'];
    const made = names.map((name) => paymasterObjectName(31337, name));
    expect(new Set(made).size).toBe(names.length);
    expect(names.map((name) => paymasterObjectName(31337, name))).toEqual(made);
    expect(paymasterObjectName(1, 'My Shop')).not.toBe(paymasterObjectName(10, 'My Shop'));
    expect(paymasterObjectName(1, '1x')).not.toBe(paymasterObjectName(11, 'x'));
  });

  test('show what they are made from', () => {
    expect(paymasterObjectName(31337, 'Mein Öko-Shop!')).toMatch(/^31337-mein-oko-shop-[a-z2-7]{10}$/);
    expect(policyObjectName('shop', 'Per Day')).toMatch(/^shop-per-day-[a-z2-7]{10}$/);
  });

  test('of contracts do not depend on the case of the address', () => {
    expect(smartContractObjectName('shop', address)).toBe(
      smartContractObjectName('shop', address.toLowerCase()),
    );
    expect(smartContractObjectName('shop', address)).not.toBe(smartContractObjectName('shop-2', address));
  });

  test('of policies are numbered when a renamed one holds the first', () => {
    const first = policyObjectName('shop', 'Daily');
    expect(policyObjectName('shop', 'Daily', 2)).toBe(`${first}-2`);
  });
});
