import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { invalidInput } from '../../core/errors.js';
import type { MountedKeys } from '../../core/master-keys.js';
import { hasCode } from '../process/has-code.js';
import type { Ambient } from '../../core/ambient.js';

/**
 * Reads `master.key` and `webhook-master.key` and, while one is being rotated, `master-previous.key` and
 * `webhook-master-previous.key`: 64 hex digits each. A mounted Secret is read whole, also while it is being replaced.
 * Throws INVALID_INPUT naming the file, never quoting it.
 */
export async function readMountedKeys(directory: string): Promise<MountedKeys> {
  const place = await presentVersion(directory);
  return { apiKeys: await readPair(place, 'master'), webhook: await readPair(place, 'webhook-master') };
}

/** Only the webhook keys, for a process that checks apiKeys by their hash. */
export async function readMountedWebhookKeys(directory: string): Promise<MountedKeys> {
  return { apiKeys: [], webhook: await readPair(await presentVersion(directory), 'webhook-master') };
}

/** `session.key`, in the same form. Only the dashboard reads it. */
async function readSessionKey(directory: string): Promise<Uint8Array> {
  const [key] = await readPair(await presentVersion(directory), 'session');
  return key as Uint8Array;
}

/**
 * Kubernetes replaces all files of a volume at once by turning the link `..data`. Files that are read through the link
 * could be of two versions.
 */
async function presentVersion(directory: string): Promise<string> {
  try {
    return await realpath(join(directory, '..data'));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return directory;
    throw error;
  }
}

async function readPair(directory: string, name: string): Promise<readonly Uint8Array[]> {
  const path = join(directory, `${name}.key`);
  const [current, previous] = await Promise.all([
    readOptionalKey(path),
    readOptionalKey(join(directory, `${name}-previous.key`)),
  ]);
  if (current === undefined)
    throw invalidInput({
      field: `${name}.key`,
      expected: `a file of 64 hex digits in ${directory}; no such file exists`,
    });
  return previous === undefined ? [current] : [current, previous];
}

async function readOptionalKey(path: string): Promise<Uint8Array | undefined> {
  let text: string;
  try {
    text = (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
  if (!/^[0-9a-fA-F]{64}$/.test(text)) throw invalidInput({ field: path, expected: '64 hex digits' });
  return Buffer.from(text, 'hex');
}

const everyMs = 5_000;

/**
 * The key that seals sessions of the console, as it is mounted now. A new one ends all sessions. While the file cannot be read, the
 * last key that was read is used. Rejects when the file cannot be read at the start.
 */
export async function createSessionKey({
  directory,
  log,
}: Pick<Ambient, 'log'> & { readonly directory: string }) {
  let key = await readSessionKey(directory);
  let failure: string | undefined;
  const timer = setInterval(() => {
    readSessionKey(directory).then(
      (next) => {
        key = next;
        failure = undefined;
      },
      (error: unknown) => {
        if (String(error) !== failure) log.warn('reading the session key failed', { error });
        failure = String(error);
      },
    );
  }, everyMs);
  timer.unref();
  return { current: (): Uint8Array => key, stop: (): void => clearInterval(timer) };
}
