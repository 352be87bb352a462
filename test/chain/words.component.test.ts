import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { wordsPerRequest, type WordCall } from '../../core/chain/chain.js';
import { entryPoints } from '../../core/entry-point/address.js';
import type { Hex } from '../../core/units/hex.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { balanceOf } from './support/balances.js';

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

function depositOf(paymaster: string, entryPoint: string = entryPoints['0.7']): WordCall {
  return { to: entryPoint, data: `0x70a08231${paymaster.slice(2).toLowerCase().padStart(64, '0')}` };
}

test('words of many calls are those of each, in their order', async () => {
  const { chain } = devChain;
  const paymaster = devChain.profile('2.0.0').sponsorship;
  const deposit = await balanceOf(devChain, entryPoints['0.7'], paymaster);
  const unused = nonceOf(1n);
  const calls: readonly WordCall[] = [
    depositOf(paymaster),
    depositOf(`0x${'11'.repeat(20)}`),
    // Nothing answers there.
    depositOf(paymaster, `0x${'22'.repeat(20)}`),
    // The EntryPoint reverts.
    { to: entryPoints['0.7'], data: '0xdeadbeef' },
    unused,
    depositOf(paymaster),
  ];
  const words = [deposit, 0n, undefined, undefined, 1n << 64n, deposit];
  const head = await chain.block('latest');
  expect(await chain.words(calls, { hash: head!.hash })).toEqual(words);
  expect(await chain.words(calls, 'latest')).toEqual(words);
  for (const [index, call] of calls.entries())
    expect(await chain.words([call], 'latest')).toEqual([words[index]]);
  expect(await chain.words([], 'latest')).toEqual([]);
});

test('more than fit into one request are asked in several', async () => {
  const paymaster = devChain.profile('2.0.0').sponsorship;
  const deposit = await balanceOf(devChain, entryPoints['0.7'], paymaster);
  const calls = Array.from({ length: wordsPerRequest + 1 }, () => depositOf(paymaster));
  expect(await devChain.chain.words(calls, 'latest')).toEqual(calls.map(() => deposit));
});

function nonceOf(key: bigint): WordCall {
  const data: Hex = `0x35567e1a${'11'.repeat(20).padStart(64, '0')}${key.toString(16).padStart(64, '0')}`;
  return { to: entryPoints['0.7'], data };
}
