import { expect, test } from '@jest/globals';
import { readMethods } from '../../../core/resources/abi.js';
import { createMethodReading } from '../../../server/dashboard/methods-thread.js';
import { anAbi } from '../../build/resources.js';
import { holdsOf } from '../../support/loop-holds.js';

const long = (seed: string): string => {
  const entries: string[] = [];
  for (let length = 0; length < 190_000; length += entries.at(-1)!.length + 1)
    entries.push(JSON.stringify({ name: `m${seed}_${entries.length}`, inputs: [{ type: 'address' }] }));
  return `[${entries.join(',')}]`;
};
const whitelist = ['mA_0', 'burn'];

test('every ABI is read as by the parser, and long ones off the thread that serves', async () => {
  const abis = [anAbi, 'no JSON', long('A'), `${long('A')}]`];
  const here: unknown[] = [];
  const control = await holdsOf(async () => {
    // As many as the threads read, so that a hold stands out from the clock's ticks.
    for (let round = 0; round < 10; round += 1)
      for (const abi of abis) here.push(readMethods(abi, whitelist));
  });
  const methodsOf = createMethodReading();
  const found: unknown[] = [];
  const { longestMs } = await holdsOf(async () => {
    for (let round = 0; round < 10; round += 1)
      for (const abi of abis) found.push(await methodsOf('acme', abi, whitelist));
  });
  expect(found).toEqual(here);
  expect(longestMs).toBeLessThan(control.longestMs / 2);
}, 60_000);

test('an organisation that asks too often is told when to try again, and delays no other', async () => {
  const methodsOf = createMethodReading();
  const many = Array.from({ length: 30 }, (_, index) => methodsOf('acme', long(`A${index}`), ['mA0_0']));
  const answers = Promise.allSettled(many);
  expect(await methodsOf('globex', long('G'), ['mG_0'])).toMatchObject({ problems: [] });
  const refused = (await answers).filter(({ status }) => status === 'rejected');
  expect(refused.length).toBeGreaterThan(0);
  for (const { reason } of refused as readonly PromiseRejectedResult[])
    expect(reason).toMatchObject({ code: 'RATE_LIMITED', details: { retryAfterSeconds: 1 } });
}, 60_000);
