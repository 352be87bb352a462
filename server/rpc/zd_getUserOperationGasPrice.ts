import type { RpcMethod } from './method.js';
import { renderFees, suggestedFees, type FeeDeps } from './operation-with-fees.js';

/** As ZeroDev's clients ask before anything else, and the vendor's by another name: ours for each speed. `params`: none. */
export function zd_getUserOperationGasPrice(deps: FeeDeps): RpcMethod {
  return {
    async handle(_params, { paymaster }) {
      const fees = renderFees(suggestedFees(deps, paymaster));
      return { json: JSON.stringify({ slow: fees, standard: fees, fast: fees }), outcome: 'answered' };
    },
    answersErrorsWithOk: () => true,
  };
}
