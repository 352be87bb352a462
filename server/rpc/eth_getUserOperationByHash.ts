import type { BundlerMethodDeps } from './eth_sendUserOperation.js';
import type { RpcMethod } from './method.js';
import { lookUp, paymasterOfOperation } from './own-receipts.js';

/** ERC-7769. `params`: `[hash]`. */
export function eth_getUserOperationByHash(deps: BundlerMethodDeps): RpcMethod {
  return lookUp(deps, 'eth_getUserOperationByHash', paymasterOfOperation);
}
