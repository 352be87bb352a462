import { formatPath, getAt, isSameJson, listLeaves, type FieldPath, type Tree } from '../meta/field-tree.js';
import type { Kind } from './kinds.js';

/** A field of a spec, and the kind of objects whose `active` it can make worthless: the owner of that owns the field. */
type WideningField = { readonly field: string; readonly of: Kind };

const policy = (field: string): WideningField => ({ field, of: 'PaymasterPolicy' });
const contract = (field: string): WideningField => ({ field, of: 'SmartContract' });

/**
 * Fields that widen what is sponsored, or start a count anew. A manifest that owns `active` means that nobody else stops the rule, so
 * nobody else may change these either. A Paymaster's own belong to the owner of `active` of one of its contracts or policies.
 */
const wideningFields: Partial<Record<Kind, readonly WideningField[]>> = {
  Paymaster: [policy('withoutCampaign'), contract('contractsEnforcement'), contract('defaultContractAction')],
  SmartContract: [contract('abi'), contract('whitelistedMethods')],
  PaymasterPolicy: [
    policy('enforcement'),
    policy('campaign'),
    policy('spendingLimit'),
    policy('window'),
    policy('senders'),
    policy('expression'),
    policy('webhook.url'),
    policy('webhook.method'),
    policy('webhook.onError'),
    policy('webhook.timeoutSeconds'),
  ],
};

export type Widening = { readonly path: FieldPath; readonly of: Kind };

/** Which of them change when a manager that owns `owned` of `spec` owns `next` instead. */
export function wideningIn(kind: Kind, spec: Tree, owned: Tree, next: Tree): readonly Widening[] {
  const set = listLeaves(next).filter(({ path, value }) => !isSameJson(getAt(spec, path), value));
  const gone = listLeaves(owned).filter(({ path }) => getAt(next, path) === undefined);
  return [...set, ...gone].flatMap(({ path }) => {
    const name = formatPath(path);
    const row = wideningFields[kind]?.find(({ field }) => name === field || name.startsWith(`${field}.`));
    return row === undefined ? [] : [{ path, of: row.of }];
  });
}
