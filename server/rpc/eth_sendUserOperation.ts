import type { Bundlers } from './bundlers.js';
import { answering, type RpcMethod } from './method.js';
import {
  isSignedHere,
  notOurs,
  notSignedHere,
  promisedDigests,
  readOwnOperation,
  type OwnOperationDeps,
} from './own-operation.js';

export type BundlerMethodDeps = OwnOperationDeps & { readonly bundlers: Bundlers };

/**
 * ERC-7769. `params`: `[userOp, entryPoint]`. A bundler gets what this service has promised to pay for, and nothing else: exactly an
 * operation that was signed here, or whose digest is that of a live promise, which keys that are gone may have signed.
 */
export function eth_sendUserOperation(deps: BundlerMethodDeps): RpcMethod {
  return answering(async (params, { paymaster }) => {
    const own = readOwnOperation(deps, params, paymaster);
    // The store is asked only about what no key here has signed.
    if (!isSignedHere(own)) {
      const promised = await promisedDigests(deps, own, paymaster, 'eth_sendUserOperation');
      if (!own.readings.some(({ digest }) => promised.includes(digest)))
        throw promised.length === 0
          ? notSignedHere()
          : notOurs(
              'OTHER_OPERATION',
              'The operation is not the one that was sponsored for this sender and nonce: something was changed afterwards.',
            );
    }
    const sent = [own.wire, own.profile.entryPoint];
    return deps.bundlers.ask(paymaster, 'eth_sendUserOperation', sent);
  });
}
