import { Wallet, type Authorization } from 'ethers';
import type { Address } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { DevChain } from './dev-chain.js';
import { minedReceipt } from './send-as.js';

/** Sends a type 4 transaction; resolves when it is mined, rejects unless it was successful. */
export async function sendWithAuthorization(
  { chain, chainId }: Pick<DevChain, 'chain' | 'chainId'>,
  privateKey: string,
  call: { readonly to: Address; readonly data: Hex; readonly authorization: Authorization },
): Promise<void> {
  const wallet = new Wallet(privateKey);
  const count = await chain.request('eth_getTransactionCount', [wallet.address, 'latest']);
  const raw = await wallet.signTransaction({
    type: 4,
    chainId,
    nonce: Number(count),
    to: call.to,
    data: call.data,
    gasLimit: 2_000_000n,
    maxFeePerGas: 10_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
    authorizationList: [call.authorization],
  });
  const hash = await chain.request('eth_sendRawTransaction', [raw]);
  const { status } = await minedReceipt(chain, hash);
  if (status !== '0x1') throw new Error('the transaction failed');
}
