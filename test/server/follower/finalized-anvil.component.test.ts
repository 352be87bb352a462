import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { silentLogger } from '../../../core/log.js';
import { systemClock } from '../../../core/units/time.js';
import { ChainFollower } from '../../../server/follower/chain-follower.js';
import { aDirectory } from '../../adapters/usage/sqlite-usage.js';
import { startDevChain, type DevChain } from '../../chain/support/dev-chain.js';
import { createNodes, type Reply } from '../../chain/support/nodes.js';
import { aChainConfig } from './followed.js';

let dev: DevChain;
const nodes = createNodes(() => dev.url);
const directory = aDirectory();
beforeAll(async () => {
  dev = await startDevChain();
});
afterAll(async () => {
  await nodes.stop();
  await dev.stop();
  directory.remove();
});

test('anvil is followed up to the block that its node calls final, through a reorganisation, a tag that falls back and one that is missing', async () => {
  let final: number | 'refused' | 'null' = 0;
  const url = await nodes.proxy((method, params): Reply => {
    if (method !== 'eth_getBlockByNumber' || params[0] !== 'finalized') return 'pass';
    if (final === 'refused') return { error: { code: -32602, message: 'invalid block tag' } };
    return final === 'null' ? { result: null } : { params: [`0x${final.toString(16)}`, false] };
  });
  const usage = createSqliteUsageStore({
    path: `${directory.path}/usage.db`,
    clock: systemClock,
    log: silentLogger,
    durability: 'process',
  });
  const chain = dev.chains.get({ chainId: dev.chainId, rpc: { urls: [url] } });
  const config = aChainConfig({ chainId: dev.chainId, confirmations: 'finalized', profiles: [] });
  const follower = new ChainFollower({
    usage,
    chainId: dev.chainId,
    current: () => ({ config, chain }),
    platformAccounts: () => [],
    clock: systemClock,
    log: silentLogger,
  });
  const settled = async () => (await usage.cursor(dev.chainId))?.blockNumber;
  const head = async () => (await dev.chain.block('latest'))?.number ?? 0;
  try {
    final = await head();
    await follower.round();
    expect(await settled()).toBe(final);

    // Ten blocks that a reorganisation removes: none of them was final, so none was settled.
    const snapshot = await dev.chain.request('evm_snapshot', []);
    await dev.chain.request('anvil_mine', ['0xa']);
    await follower.round();
    expect(await settled()).toBe(final);
    await dev.chain.request('evm_revert', [snapshot]);
    await dev.chain.request('evm_increaseTime', [7]);
    await dev.chain.request('anvil_mine', ['0x14']);
    expect(await follower.round()).toMatchObject({ restored: 0 });
    const before = final;
    final = await head();
    while (!(await follower.round()).isComplete);
    expect(await settled()).toBe(final);

    const reached = final;
    final = before;
    await dev.chain.request('anvil_mine', ['0x2']);
    await follower.round();
    expect(await settled()).toBe(reached);

    for (const none of ['refused', 'null'] as const) {
      final = none;
      await expect(follower.round()).rejects.toMatchObject({ details: { reason: 'FINALITY_UNKNOWN' } });
    }
    expect(await settled()).toBe(reached);
  } finally {
    await usage.stop();
  }
});
