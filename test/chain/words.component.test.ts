import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { wordsPerRequest, type WordCall } from '../../core/chain/chain.js';
import { entryPoints } from '../../core/entry-point/address.js';
import type { Hex } from '../../core/units/hex.js';
import { multicall3 } from '../../standalone/dev-chain/canonical.js';
import { createNodes } from './support/nodes.js';
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

test.each([undefined, multicall3])(
  'words of many calls are those of each, in their order: by %s',
  async (address) => {
    const rpc = { urls: [devChain.url], ...(address === undefined ? {} : { multicall3: address }) };
    const chain = devChain.chains.get({ chainId: devChain.chainId, rpc });
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
  },
);

test('more than fit into one request are asked in several', async () => {
  const paymaster = devChain.profile('2.0.0').sponsorship;
  const deposit = await balanceOf(devChain, entryPoints['0.7'], paymaster);
  const calls = Array.from({ length: wordsPerRequest + 1 }, () => depositOf(paymaster));
  expect(await devChain.chain.words(calls, 'latest')).toEqual(calls.map(() => deposit));
});

describe('a hundred balances at one block', () => {
  const calls = Array.from({ length: 100 }, (_, index) =>
    depositOf(`0x${(index + 1).toString(16).padStart(40, '0')}`),
  );
  const refused = { error: { code: -32602, message: 'missing required field "to"' } };

  test.each<[name: string, multicall3: string | undefined, runsCode: boolean, first: number, later: number]>([
    ['are one call of Multicall3', multicall3, true, 1, 1],
    ['are one call of Multicall3 on a node that runs no code without a contract', multicall3, false, 1, 1],
    ['are one call of our own code where no Multicall3 is named', undefined, true, 1, 1],
    ['are a call more, once, where the address has none', `0x${'33'.repeat(20)}`, true, 2, 1],
  ])('%s', async (_, address, runsCode, first, later) => {
    let asked = 0;
    const nodes = createNodes(() => devChain.url);
    try {
      const url = await nodes.proxy((method, [request]) => {
        if (method !== 'eth_call') return 'pass';
        asked += 1;
        return runsCode || (request as { to?: string }).to !== undefined ? 'pass' : refused;
      });
      const rpc = { urls: [url], ...(address === undefined ? {} : { multicall3: address }) };
      const chain = devChain.chains.get({ chainId: devChain.chainId, rpc });
      const head = await devChain.chain.block('latest');
      expect(await chain.words(calls, { hash: head!.hash })).toEqual(calls.map(() => 0n));
      expect(asked).toBe(first);
      // What was refused is not asked again.
      await chain.words(calls, { hash: head!.hash });
      expect(asked).toBe(first + later);
    } finally {
      await nodes.stop();
    }
  });
});

function nonceOf(key: bigint): WordCall {
  const data: Hex = `0x35567e1a${'11'.repeat(20).padStart(64, '0')}${key.toString(16).padStart(64, '0')}`;
  return { to: entryPoints['0.7'], data };
}
