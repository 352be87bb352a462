import { call } from '../api.js';

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

/** Names of objects have small letters, digits and dashes. */
export function objectName(text: string): string {
  const dashed = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63);
  return dashed.replace(/^-|-$/g, '') || 'unnamed';
}
