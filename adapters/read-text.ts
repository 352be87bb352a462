import { readFileSync } from 'node:fs';
import { invalidInput } from '../core/errors.js';

/** A mounted file without its last line break. Throws INVALID_INPUT, which names the field, where it cannot be read. */
export function readText(field: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch {
    throw invalidInput({ field, expected: 'a file that can be read', value: JSON.stringify(path) });
  }
}
