import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createAnnouncement,
  decideKeys,
  keysOfFiles,
  type KeyAnnouncement,
  type MountedKeys,
} from '../core/master-keys.js';
import type { MasterKeys } from '../core/secrets.js';
import { readOrCreate, UnusableFile, writePrivateFile, type DataDirectory } from './data-directory.js';

/**
 * The master keys of this instance, made at the first start and read once at every start. Files that have changed since
 * the last start are taken as a whole if they still hold both keys in force (one may have moved to its `-previous.key`
 * file). Otherwise UnusableFile, and nothing is written: an apiKey that wallets use must not end by mistake.
 */
export function loadMasterKeys(directory: DataDirectory): MasterKeys {
  const inForce = readInForce(directory);
  const mayCreate = inForce === undefined;
  const mounted: MountedKeys = {
    apiKeys: readPair(directory, 'master', mayCreate),
    webhook: readPair(directory, 'webhook-master', mayCreate),
  };
  const decision = decideKeys(inForce, mounted);
  if (decision.kind === 'refuse')
    throw new UnusableFile(
      `${directory.path} does not hold the master keys of the last start: add the former key as ${decision.lacking.join(' and ')} to accept both, or put it back; ${howToEnd(directory)}`,
    );
  if (decision.kind !== 'in-force')
    writePrivateFile(directory.keysInForceFile, `${JSON.stringify(createAnnouncement(mounted))}\n`);
  return keysOfFiles(mounted);
}

/** Seals sessions of the console. Made when it is missing: nothing but sessions ends with it. */
export function loadSessionKey(directory: DataDirectory): Uint8Array {
  return readKey(join(directory.path, 'session.key'));
}

function readPair(directory: DataDirectory, name: string, mayCreate: boolean): readonly Uint8Array[] {
  const path = join(directory.path, `${name}.key`);
  if (!mayCreate && !existsSync(path))
    throw new UnusableFile(`${path} is missing: restore it; ${howToEnd(directory)}`);
  const previous = join(directory.path, `${name}-previous.key`);
  return [path, ...(existsSync(previous) ? [previous] : [])].map(readKey);
}

function readKey(path: string): Uint8Array {
  const text = readOrCreate(path, () => randomBytes(32).toString('hex'));
  if (!/^[0-9a-f]{64}$/.test(text)) throw new UnusableFile(`${path} must hold 64 hex digits; restore it`);
  return Buffer.from(text, 'hex');
}

/** Undefined at the first start, and for data of a release that kept no record. */
function readInForce({ keysInForceFile: path }: DataDirectory): KeyAnnouncement | undefined {
  if (!existsSync(path)) return undefined;
  const text = readFileSync(path, 'utf8');
  const pattern = /^\{"apiKeys":\[("[0-9a-f]{16}",?){1,2}\],"webhook":\[("[0-9a-f]{16}",?){1,2}\]\}$/;
  if (!pattern.test(text.trim()))
    throw new UnusableFile(
      `${path} must hold the fingerprints of the master keys; delete it to take the key files as they are`,
    );
  return JSON.parse(text) as KeyAnnouncement;
}

function howToEnd({ keysInForceFile }: DataDirectory): string {
  return `to end every apiKey and webhook key made with it, delete ${keysInForceFile}`;
}
