import { expect, test } from '@jest/globals';
import { createMethodReader } from '../../operator/method-reader.js';
import { anAbi } from '../build/resources.js';

/** An equal text that is another string object, as the next event of a watch brings it. */
const again = (text: string): string => Buffer.from(text).toString();

test('a contract with equal content is not parsed a second time, also when it is invalid', () => {
  const read = createMethodReader();
  for (const abi of [anAbi, 'no JSON']) expect(read(again(abi), [again('burn')])).toBe(read(abi, ['burn']));
});

test('any other content is parsed: another ABI, another whitelist, the same characters split differently', () => {
  const read = createMethodReader();
  expect(read(anAbi, ['burn']).selectors).toEqual(['0x42966c68']);
  expect(read(anAbi, ['mint(address)']).selectors).toEqual(['0x6a627842']);
  expect(read(anAbi, ['burn', 'total']).problems).toEqual([]);
  expect(read(anAbi, ['burn,total']).problems).toHaveLength(1);
  expect(read('[]', ['burn']).problems).toHaveLength(1);
});
