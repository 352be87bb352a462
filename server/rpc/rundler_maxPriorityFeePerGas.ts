import { answering, type RpcMethod } from './method.js';
import { renderFees, suggestedFees, type FeeDeps } from './operation-with-fees.js';

/** As Alchemy's clients ask; they add the base fee themselves. `params`: none. */
export function rundler_maxPriorityFeePerGas(deps: FeeDeps): RpcMethod {
  return answering(
    (_params, { paymaster }) => renderFees(suggestedFees(deps, paymaster)).maxPriorityFeePerGas,
  );
}
