import type { RpcMethod } from './method.js';
import { renderFees, suggestedFees, type FeeDeps } from './operation-with-fees.js';

/** As Alchemy's clients ask; they add the base fee themselves. `params`: none. */
export function rundler_maxPriorityFeePerGas(deps: FeeDeps): RpcMethod {
  return {
    async handle(_params, { paymaster }) {
      const { maxPriorityFeePerGas } = renderFees(suggestedFees(deps, paymaster));
      return { json: JSON.stringify(maxPriorityFeePerGas), outcome: 'answered' };
    },
    answersErrorsWithOk: () => true,
  };
}
