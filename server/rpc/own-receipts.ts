import { invalidInput, quote } from '../../core/errors.js';
import { readField } from '../../core/schema/json-value.js';
import { isHexBytes } from '../../core/units/hex.js';
import type { ConfigView } from '../view/config-view.js';
import type { BundlerMethodDeps } from './eth_sendUserOperation.js';
import { answering, type RpcMethod } from './method.js';

/**
 * A look-up by the hash of an operation, which is public once the operation was sent. What a bundler knows is answered where it names a
 * contract of ours on this chain, and null otherwise, as for an unknown hash: strangers' operations are not shown.
 * `paymasterIn` finds the contract in the answer.
 */
export function lookUp(
  { view, bundlers }: Pick<BundlerMethodDeps, 'view' | 'bundlers'>,
  method: string,
  paymasterIn: (answer: unknown) => unknown,
): RpcMethod {
  return answering(async ([hash], { paymaster }) => {
    if (!isHexBytes(hash) || hash.length !== 66)
      throw invalidInput({
        field: 'params[0]',
        expected: 'the 32 bytes of an operation hash',
        value: quote(hash),
      });
    const answer = await bundlers.ask(paymaster, method, [hash]);
    const named = paymasterIn(answer);
    const isOurs = typeof named === 'string' && isContract(view, paymaster.chainId, named.slice(0, 42));
    return isOurs ? answer : null;
  });
}

function isContract(view: Pick<ConfigView, 'chain'>, chainId: number, address: string): boolean {
  const named = address.toLowerCase();
  const profiles = [...(view.chain(chainId)?.profiles.values() ?? [])];
  return profiles.some(({ contractKey, token }) => named === contractKey || named === token?.contractKey);
}

/** Of an operation in either form. */
export function paymasterOfOperation(answer: unknown): unknown {
  const operation = readField(answer, 'userOperation');
  return readField(operation, 'paymaster') ?? readField(operation, 'paymasterAndData');
}
