import { open } from 'node:fs/promises';
import { invalidInput } from '../../../core/errors.js';

const keyPattern = /^(?:0x)?([0-9a-fA-F]{64})$/;
/** A key has 66 bytes; a signer with certificates has some thousand. */
const maxFileBytes = 32 * 1024;

/**
 * Who may read key files besides the owner. `group` is for mounted Secrets, which a non-root process reads by its
 * group.
 */
export type KeyFileAccess = 'owner' | 'group';

/**
 * Reads a file that may hold a key. Throws INVALID_INPUT for a file that others can read, or that is too long; the message never
 * quotes the content. Access is checked on the opened file, so that the file cannot be swapped in between.
 */
export async function readKeyFile(path: string, access: KeyFileAccess): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { mode, size } = await file.stat();
    const forbidden = access === 'owner' ? 0o077 : 0o037;
    if ((mode & forbidden) !== 0)
      throw invalidInput({
        field: path,
        expected: `readable by its ${access === 'owner' ? 'owner' : 'owner and group'} only (chmod ${access === 'owner' ? '600' : '640'} ${path})`,
        value: `mode ${(mode & 0o777).toString(8).padStart(4, '0')}`,
      });
    if (size > maxFileBytes) throw notAKey(path);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** 64 hex digits, with or without 0x, and surrounding white space. `origin` names the file or variable in the error. */
export function parseKey(text: string, origin: string): Uint8Array {
  const digits = keyPattern.exec(text.trim())?.[1];
  if (digits === undefined) throw notAKey(origin);
  return Buffer.from(digits, 'hex');
}

export function notAKey(origin: string) {
  return invalidInput({
    field: origin,
    expected:
      'a private key (0x and 64 hex digits, in 1…n-1 of secp256k1), or YAML with the "kind" of a signer and its fields',
  });
}
