import type { Chain } from '../../../core/chain/chain.js';
import { until } from '../../support/until.js';

/**
 * Takes the chain back to a snapshot of `evm_snapshot`. Receipts are there a little before the node takes their transactions out
 * of its pool; one that is still in it would be mined again on the blocks that remain.
 */
export async function revertTo(chain: Chain, snapshot: unknown): Promise<void> {
  await until('the pool of transactions is empty', async () => {
    const { pending } = (await chain.request('txpool_status', [])) as { readonly pending: string };
    return BigInt(pending) === 0n;
  });
  await chain.request('evm_revert', [snapshot]);
}
