import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { invalidInput } from '../../errors.js';
import { isMissingFile } from '../process/is-missing-file.js';
import type { MasterKeys } from '../../secrets.js';

/**
 * Reads `master.key`, `webhook-master.key` and, while the first is being rotated, `master-previous.key`: 64 hex digits
 * each. Throws INVALID_INPUT naming the file, never quoting it.
 */
export async function readMasterKeys(directory: string): Promise<MasterKeys> {
  const [current, webhook, previous] = await Promise.all([
    readKey(join(directory, 'master.key')),
    readWebhookMasterKey(directory),
    readOptionalKey(join(directory, 'master-previous.key')),
  ]);
  return { current, webhook, ...(previous === undefined ? {} : { previous }) };
}

/** The only one of them that a process which checks apiKeys by their hash needs. */
export function readWebhookMasterKey(directory: string): Promise<Uint8Array> {
  return readKey(join(directory, 'webhook-master.key'));
}

async function readKey(path: string): Promise<Uint8Array> {
  const key = await readOptionalKey(path);
  if (key === undefined)
    throw invalidInput([{ field: path, expected: 'a file with 64 hex digits; there is none' }]);
  return key;
}

async function readOptionalKey(path: string): Promise<Uint8Array | undefined> {
  let text: string;
  try {
    text = (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (isMissingFile(error)) return undefined;
    throw error;
  }
  if (!/^[0-9a-fA-F]{64}$/.test(text)) throw invalidInput([{ field: path, expected: '64 hex digits' }]);
  return Buffer.from(text, 'hex');
}
