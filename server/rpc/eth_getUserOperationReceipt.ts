import { readField } from '../../core/schema/json-value.js';
import type { BundlerMethodDeps } from './eth_sendUserOperation.js';
import type { RpcMethod } from './method.js';
import { lookUp } from './own-receipts.js';

/** ERC-7769. `params`: `[hash]`. */
export function eth_getUserOperationReceipt(deps: BundlerMethodDeps): RpcMethod {
  return lookUp(deps, 'eth_getUserOperationReceipt', (receipt) => readField(receipt, 'paymaster'));
}
