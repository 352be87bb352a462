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
  await until('the transaction is mined', async () => {
    const receipt = (await chain.request('eth_getTransactionReceipt', [hash])) as {
      readonly blockNumber: string;
    } | null;
    if (receipt === null) return false;
    // On a busy machine anvil answers before the block is mined, and shows a receipt before its newest state.
    return (await chain.block('latest'))!.number >= Number(receipt.blockNumber);
  });
  await chain.request('anvil_stopImpersonatingAccount', [from]);
}
