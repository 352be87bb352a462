import { fieldOf, parseJson } from '../../../core/schema/json-value.js';
import { CallFailed } from '../call-failed.js';

/** Bytes of a base64 member of a JSON answer. Throws CallFailed `unclear` when there are none: something was done, and we do not know what. */
export function bytesOf(body: string, member: string, service: string): Uint8Array {
  const text = fieldOf(parseJson(body), member);
  if (typeof text !== 'string' || text === '')
    throw new CallFailed('unclear', `${service} answers without ${member}`);
  return Buffer.from(text, 'base64');
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
