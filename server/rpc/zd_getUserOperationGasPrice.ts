import { answering, type RpcMethod } from './method.js';
import { renderFees, suggestedFees, type FeeDeps } from './operation-with-fees.js';

/** As ZeroDev's clients ask before anything else, and the vendor's by another name: ours for each speed. `params`: none. */
export function zd_getUserOperationGasPrice(deps: FeeDeps): RpcMethod {
  return answering((_params, { paymaster }) => {
    const fees = renderFees(suggestedFees(deps, paymaster));
    return { slow: fees, standard: fees, fast: fees };
  });
}
