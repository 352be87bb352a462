import { isObject } from '../../core/schema/json-value.js';
import type { BundlerMethodDeps } from './eth_sendUserOperation.js';
import { answering, type RpcMethod } from './method.js';
import { isSignedHere, notSignedHere, promisedDigests, readOwnOperation } from './own-operation.js';
import { parsePaymasterAndData } from './paymaster-fields.js';
import type { TokenListMethodDeps } from './pm_supportedERC20Tokens.js';

const method = 'eth_estimateUserOperationGas';

/**
 * ERC-7769. `params`: `[userOp, entryPoint, stateOverrides?]`. For operations with a stub of ours, or with live data: those may be
 * estimated with other limits than were signed, so a live promise for the sender and nonce will do. An operation that names no
 * paymaster gets our stub first: AbstractionKit's accounts estimate before they ask for one, and bundlers hear of no other operations.
 */
export function eth_estimateUserOperationGas(deps: BundlerMethodDeps & TokenListMethodDeps): RpcMethod {
  return answering(async (params, { paymaster }) => {
    const given = parsePaymasterAndData(params[0]);
    const named = given === '0x' ? (await deps.supportedTokens(paymaster)).stub : given;
    const own = readOwnOperation(deps, params, paymaster, named);
    const { wire, profile, readings } = own;
    const isStub = readings.some((reading) => reading.isStub);
    const isLive = async (): Promise<boolean> =>
      readings.length > 0 && (await promisedDigests(deps, own, paymaster, method)).length > 0;
    if (!isStub && !isSignedHere(own) && !(await isLive())) throw notSignedHere();
    const overrides = isObject(params[2]) ? [params[2]] : [];
    const asked = [wire, profile.entryPoint, ...overrides];
    return deps.bundlers.ask(paymaster, method, asked);
  });
}
