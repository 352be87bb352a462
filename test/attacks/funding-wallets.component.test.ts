import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseAddress } from '../../core/units/address.js';
import { buildAccount } from '../chain/support/account.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { createNodes, type Nodes } from '../chain/support/nodes.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { until } from '../support/until.js';
import { startService, type Served, type Service } from './support/service.js';
import { onOneProcess } from './support/stores.js';
import { ask, expectServed, increment } from './support/wallet.js';
import { newWallet } from '../support/new-wallet.js';

// A tenant makes a hundred paymasters with a throwaway funding wallet each, and uses each once. From then on the balance of
// every wallet was read with every block, for ever: 155 calls a block instead of 11.

const version = '1.1.0';
const sponsored = { mode: 'SPONSORED' };
const wallets = 100;

let devChain: DevChain;
let nodes: Nodes;
let calls = 0;
let rpcUrl: string;
beforeAll(async () => {
  devChain = await startDevChain();
  nodes = createNodes(() => devChain.url);
  rpcUrl = await nodes.proxy((method) => {
    if (method === 'eth_call') calls += 1;
    return 'pass';
  });
});
afterAll(async () => {
  await nodes.stop();
  await devChain.stop();
});

describe.each(onOneProcess)('on %s', (store) => {
  let service: Service;
  let neighbour: Served;
  beforeAll(async () => {
    service = await startService(store, { devChain, versions: [version], rpcUrl });
    neighbour = await service.paymaster('neighbour');
  });
  afterAll(() => service.stop());

  test('a hundred wallets add no calls per block, and an honest user is served', async () => {
    await expectServed(devChain, version, neighbour.url);
    const before = await callsOfBlocks(5);
    const op = await buildUserOp(await buildAccount(devChain, '0.6'), [increment(devChain)]);
    for (let nth = 0; nth < wallets; nth += 1) {
      const fundingAddress = parseAddress(newWallet().address);
      const paymaster = await service.paymaster('attacker', {
        paymasterId: `attacker-${nth}`,
        fundingAddress,
      });
      expect((await ask(paymaster.url, op, sponsored)).signed).toBeUndefined();
    }
    await expectServed(devChain, version, neighbour.url);
    const during = await callsOfBlocks(5);
    // One call reads the balances of hundreds of wallets.
    expect(during).toBeLessThanOrEqual(before + 10);
    // Minutes later the service no longer reads them.
    await service.pass(700);
    await until('they are pruned', async () => {
      const known = await service.usage.accounts(devChain.chainId);
      return known.length < 10;
    });
  });

  /** Number of `eth_call`s that reach the node while the service follows this many blocks, one after the other. */
  async function callsOfBlocks(count: number): Promise<number> {
    const from = calls;
    for (let nth = 0; nth < count; nth += 1) {
      await devChain.chain.request('evm_mine', []);
      const newest = await devChain.chain.block('latest');
      await until('the block is followed', async () => {
        const cursor = await service.usage.cursor(devChain.chainId);
        return (cursor?.blockNumber ?? 0) >= (newest?.number ?? 0);
      });
    }
    return calls - from;
  }
});
