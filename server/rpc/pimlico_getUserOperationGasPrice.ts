import type { BundlerMethodDeps } from './eth_sendUserOperation.js';
import type { RpcMethod } from './method.js';

/** As Pimlico's clients ask: fees that the first bundler takes. `params`: none. */
export function pimlico_getUserOperationGasPrice({ bundlers }: BundlerMethodDeps): RpcMethod {
  return {
    async handle(_params, { paymaster }) {
      const result = await bundlers.ask(paymaster, 'pimlico_getUserOperationGasPrice', []);
      return { json: JSON.stringify(result), outcome: 'answered' };
    },
    answersErrorsWithOk: () => true,
  };
}
