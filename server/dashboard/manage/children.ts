import { eachObject } from '../../../adapters/resources/pages.js';
import { DomainError, isDomainError, quote } from '../../../core/errors.js';
import type { Principal } from '../auth.js';
import type { Tools } from '../deps.js';
import { declaredBy } from '../writes.js';

/** A contract or policy of a paymaster. Each may have 200 kB: only this is kept. */
export type Child = {
  readonly kind: 'SmartContract' | 'PaymasterPolicy';
  readonly name: string;
  /** Who declares it in a manifest, and would make it again; absent: nobody. */
  readonly manager?: string;
};
type Declared = Child & { readonly manager: string };

export function isDeclared(child: Child): child is Declared {
  return child.manager !== undefined;
}

export async function childrenOf(
  { resources }: Pick<Tools, 'resources'>,
  { namespace }: Pick<Principal, 'namespace'>,
  paymaster: string,
): Promise<readonly Child[]> {
  const children: Child[] = [];
  const options = { namespace, fields: { 'spec.paymasterRef.name': paymaster } };
  for (const kind of ['SmartContract', 'PaymasterPolicy'] as const)
    for await (const object of eachObject<typeof kind>(resources, kind, options)) {
      const manager = declaredBy(object);
      children.push({ kind, name: object.metadata.name, ...(manager !== undefined && { manager }) });
    }
  return children;
}

/**
 * Deletes those of a deleted paymaster that no manifest declares, and answers the others. `uid`: of that paymaster, as far as it is known.
 * Throws PRECONDITION_FAILED when a paymaster of this name is there again: it must not lose its policies.
 */
export async function deleteChildren(
  tools: Tools,
  { namespace }: Pick<Principal, 'namespace'>,
  paymaster: string,
  uid: string | undefined,
): Promise<readonly Declared[]> {
  const stays: Declared[] = [];
  for (const child of await childrenOf(tools, { namespace }, paymaster)) {
    const present = await tools.resources.get('Paymaster', { namespace, name: paymaster });
    if (present !== undefined && present.metadata.uid !== uid) throw madeAgain(paymaster);
    const manager = child.manager ?? (await remove(tools, child.kind, { namespace, name: child.name }));
    if (manager !== undefined) stays.push({ ...child, manager });
  }
  return stays;
}

/** Answers who declares it, if somebody does by now. */
async function remove<K extends Child['kind']>(
  { writes }: Tools,
  kind: K,
  key: { readonly namespace: string; readonly name: string },
): Promise<string | undefined> {
  try {
    await writes.remove<K>(kind, key);
  } catch (error) {
    if (isDomainError(error, 'FIELD_OWNED')) return error.details.owner;
    if (!isDomainError(error, 'NOT_FOUND')) throw error;
  }
  return undefined;
}

function madeAgain(paymaster: string): DomainError {
  const again = `There is a new paymaster ${quote(paymaster)} already`;
  return new DomainError(
    'PRECONDITION_FAILED',
    `${again}: it keeps the contracts and policies that are left`,
  );
}
