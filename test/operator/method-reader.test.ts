import { expect, test } from '@jest/globals';
import type { ReadMethods } from '../../core/config/compile-contracts.js';
import { atOnce } from '../../core/units/in-parts.js';
import { readMethods } from '../../core/resources/abi.js';
import { createMethodReader } from '../../operator/method-reader.js';
import { anAbi } from '../build/resources.js';

const reading = (read: ReadMethods) => (abi: string, whitelist: readonly string[]) =>
  atOnce(read(abi, whitelist));

test('it answers as the parser does, also of an invalid text, and also the second time', () => {
  const read = reading(createMethodReader());
  for (const abi of [anAbi, 'no JSON'])
    for (const _ of [1, 2]) expect(read(abi, ['burn', 'sell'])).toEqual(readMethods(abi, ['burn', 'sell']));
});

test('any other content is parsed: another ABI, another whitelist, the same characters split differently', () => {
  const read = reading(createMethodReader());
  expect(read(anAbi, ['burn']).selectors).toEqual(['0x42966c68']);
  expect(read(anAbi, ['mint(address)']).selectors).toEqual(['0x6a627842']);
  expect(read(anAbi, ['burn', 'total']).problems).toEqual([]);
  expect(read(anAbi, ['burn,total']).problems).toHaveLength(1);
  expect(read('[]', ['burn']).problems).toHaveLength(1);
});

test('the methods of hundreds of contracts with the longest ABIs stay known, so that a change of one parses one', () => {
  // Says how often it was asked, as a method.
  let times = 0;
  const read = reading(
    createMethodReader(function* () {
      yield;
      times += 1;
      return { methods: [`asked ${times}`], declarations: [], selectors: [], problems: [] };
    }),
  );
  const abis = Array.from({ length: 400 }, (_, index) => `${index} ${' '.repeat(190_000)}`);
  const first = abis.map((abi) => read(abi, ['burn']));
  expect(abis.map((abi) => read(abi, ['burn']))).toEqual(first);
  expect(read('another', ['burn']).methods).toEqual(['asked 401']);
});
