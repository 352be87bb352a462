import { hexQuantity } from '../../core/units/hex.js';
import { answering, type RpcMethod } from './method.js';

/** The chain of the paymaster, in hex. */
export function pm_chainId(): RpcMethod {
  return answering((_params, { paymaster }) => hexQuantity(BigInt(paymaster.chainId)));
}
