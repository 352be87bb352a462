import { call } from '../api.js';

export function create(noun: string, name: string, spec: object): Promise<unknown> {
  return call(`/manage/v1/${noun}`, { method: 'POST', body: { name, spec } });
}

/** Names of objects have small letters, digits and dashes. */
export function objectName(text: string): string {
  const dashed = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63);
  return dashed.replace(/^-|-$/g, '') || 'unnamed';
}
