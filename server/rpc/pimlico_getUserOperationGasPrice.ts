import type { BundlerMethodDeps } from './eth_sendUserOperation.js';
import { answering, type RpcMethod } from './method.js';

/** As Pimlico's clients ask: fees that the first bundler takes. `params`: none. */
export function pimlico_getUserOperationGasPrice({ bundlers }: BundlerMethodDeps): RpcMethod {
  return answering((_params, { paymaster }) =>
    bundlers.ask(paymaster, 'pimlico_getUserOperationGasPrice', []),
  );
}
