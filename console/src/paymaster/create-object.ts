import { call } from '../api.js';
import type { Values } from '../parts/form-facts.js';
import type { Policy } from '../records.js';

/** What is to be made. `noun` is as paths have it. */
export type NewObject = {
  readonly noun: 'paymasters' | 'contracts' | 'policies';
  readonly object: string;
  readonly spec: object;
};

/** `onceKey`: sent again with the same key, it is not made twice. */
export function create({ noun, object, spec }: NewObject, onceKey?: string): Promise<unknown> {
  return call(`/manage/v1/${noun}`, {
    method: 'POST',
    body: { name: object, spec },
    ...(onceKey !== undefined && { headers: { 'idempotency-key': onceKey } }),
  });
}

/** A policy of what a form says; `settings` has the member of its kind. */
export function composePolicy<Settings extends object>(
  paymaster: string,
  policyType: Policy['spec']['policyType'],
  { name = '', campaign, enforcement }: Values,
  settings: Settings,
) {
  const spec = {
    paymasterRef: { name: paymaster },
    name,
    policyType,
    ...(campaign && { campaign }),
    ...(enforcement === 'Shadow' && { enforcement }),
    ...settings,
  };
  return { noun: 'policies', object: objectName(`${paymaster}-${name}`), spec } as const;
}

/** Names of objects have small letters, digits and dashes. */
export function objectName(text: string): string {
  const dashed = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63);
  return dashed.replace(/^-|-$/g, '') || 'unnamed';
}
