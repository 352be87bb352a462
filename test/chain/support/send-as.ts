import type { Chain } from '../../../core/chain/chain.js';
import type { Hex } from '../../../core/units/hex.js';
import { until } from '../../support/until.js';
import type { Call } from './account.js';
import type { DevChain } from './dev-chain.js';

/** A plain transaction of any address, as its owner or an attacker sends it in a bundle of his own; what is read next sees it. */
export async function sendAs(devChain: DevChain, from: Hex, { to, data }: Call): Promise<void> {
  const { chain } = devChain;
  await devChain.setBalance(from, 10n ** 18n);
  await chain.request('anvil_impersonateAccount', [from]);
  const hash = await chain.request('eth_sendTransaction', [{ from, to, data }]);
  await minedReceipt(chain, hash);
  await chain.request('anvil_stopImpersonatingAccount', [from]);
}

type Receipt = { readonly blockNumber: string; readonly status: string };

/**
 * The receipt of a transaction, once what is read next sees its block: on a busy machine anvil answers before the block is mined, and
 * shows a receipt before its newest state.
 */
export async function minedReceipt(chain: Pick<Chain, 'request' | 'block'>, hash: unknown): Promise<Receipt> {
  let receipt: Receipt | null = null;
  await until('the transaction is mined', async () => {
    receipt = (await chain.request('eth_getTransactionReceipt', [hash])) as Receipt | null;
    return receipt !== null && (await chain.block('latest'))!.number >= Number(receipt.blockNumber);
  });
  return receipt!;
}
