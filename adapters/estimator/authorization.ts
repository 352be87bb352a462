import type { Chain } from '../../core/chain/chain.js';
import { parseQuantity } from '../chain/wire.js';
import type { UserOperation } from '../../core/entry-point/user-operation.js';
import { estimationFailed } from './simulate-handle-op.js';

/**
 * Simulations put the delegate's code in the place of the sender's, as a bundle with the authorization would. A chain
 * accepts an authorization only while its nonce equals the sender's. Throws ESTIMATION_FAILED when the chain would
 * ignore the authorization, unless the sender has this delegate already.
 */
export async function requireUsable(
  chain: Chain,
  { sender, eip7702Auth }: Pick<UserOperation, 'sender' | 'eip7702Auth'>,
): Promise<void> {
  if (eip7702Auth === undefined) return;
  const count = await chain.request('eth_getTransactionCount', [sender, 'latest']);
  const nonce = parseQuantity(count, 'result of eth_getTransactionCount');
  if (nonce === eip7702Auth.nonce) return;
  if ((await chain.code(sender)) === `0xef0100${eip7702Auth.address.slice(2)}`) return;
  throw estimationFailed(
    `eip7702Auth is for nonce ${eip7702Auth.nonce} of its signer, whose next is ${nonce}: the chain would ignore it`,
  );
}
