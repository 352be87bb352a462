import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Paths of all files of one standalone instance. All of them have mode 0700/0600, since they hold keys. */
export type DataDirectory = ReturnType<typeof openDataDirectory>;

export function openDataDirectory(path: string) {
  const directory = {
    path,
    resourcesFile: join(path, 'resources.sqlite'),
    usageFile: join(path, 'usage.sqlite'),
    logFile: join(path, 'log.jsonl'),
    connectionFile: join(path, 'connection.json'),
    signerDirectory: join(path, 'signers'),
    /** Files with chain URLs, as `Chain.spec.rpc.file` names them. */
    urlDirectory: join(path, 'chains'),
    /** Files with request headers, as `headersFile` of HTTP price sources names them. */
    priceHeadersDirectory: join(path, 'price-headers'),
    /** Files with URLs, as `urlFile` of notifications names them. */
    notificationDirectory: join(path, 'notification-urls'),
    secretDirectory: join(path, 'secrets'),
    chainStateFile: join(path, 'chain-state.json'),
    /** Fingerprints of the master keys that were in force at the last start. */
    keysInForceFile: join(path, 'keys-in-force.json'),
  } as const;
  for (const each of [
    path,
    directory.signerDirectory,
    directory.urlDirectory,
    directory.priceHeadersDirectory,
    directory.notificationDirectory,
    directory.secretDirectory,
  ]) {
    mkdirSync(each, { recursive: true, mode: 0o700 });
    chmodSync(each, 0o700);
  }
  return directory;
}

/** A file in the data directory with unusable content; the message says what to do. */
export class UnusableFile extends Error {}

/** Writes a whole private file at once: a reader sees the old or the new content, never half of it. */
export function writePrivateFile(path: string, content: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, content, { mode: 0o600 });
  renameSync(temporary, path);
}

/** Text of a private file; `create` makes it the first time. */
export function readOrCreate(path: string, create: () => string): string {
  if (!existsSync(path)) writePrivateFile(path, `${create()}\n`);
  // A file that was copied here by hand may have any mode.
  chmodSync(path, 0o600);
  return readFileSync(path, 'utf8').trim();
}
