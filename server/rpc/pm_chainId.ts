import { hexQuantity } from '../../core/units/hex.js';
import type { RpcMethod } from './method.js';

/** The chain of the paymaster, in hex. */
export function pm_chainId(): RpcMethod {
  return {
    handle: (_params, { paymaster }) =>
      Promise.resolve({
        json: JSON.stringify(hexQuantity(BigInt(paymaster.chainId))),
        outcome: 'answered',
      }),
    answersErrorsWithOk: () => true,
  };
}
