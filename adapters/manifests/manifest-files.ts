import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { watch, type FSWatcher } from 'node:fs';
import { parseManifest, type ParsedManifest } from './parse-manifest.js';
import { errorMessage } from '../../core/errors.js';
import { hasCode } from '../process/has-code.js';
import type { Logger } from '../../core/log.js';

/** A file as it was last read. */
export type ManifestFile = ParsedManifest & {
  readonly name: string;
  /** Changes whenever the file does; equal signatures are not read again. */
  readonly signature: string;
  /** Empty when the file cannot be read. */
  readonly text: string;
};

/** Larger than any hand-written manifest: several contracts with the longest ABI. */
const maxFileBytes = 8 * 1024 * 1024;

/**
 * Reads the YAML files of a directory, sorted by name, without subdirectories. Files that have not changed since
 * `known` are not read again. A directory that does not exist counts as one unreadable file, so that nothing is deleted
 * because of it. Hidden files, and backups and swap files of editors, are not manifests.
 */
export async function readManifestFiles(
  directory: string,
  known: ReadonlyMap<string, ManifestFile>,
): Promise<Map<string, ManifestFile>> {
  const names = await readdir(directory).catch((error: unknown) => errorMessage(error));
  if (typeof names === 'string')
    return new Map([[directory, unreadable(directory, 'a directory that can be read', names)]]);
  const files = await Promise.all(
    names
      .filter(isManifestName)
      .sort()
      .map((name) => readManifestFile(directory, name, known.get(name))),
  );
  return new Map(files.flatMap((file) => (file ? [[file.name, file] as const] : [])));
}

export function isManifestName(name: string): boolean {
  return /^[^.#~].*\.ya?ml$/i.test(name);
}

async function readManifestFile(
  directory: string,
  name: string,
  known: ManifestFile | undefined,
): Promise<ManifestFile | undefined> {
  const path = join(directory, name);
  try {
    const { mtimeNs, ctimeNs, size, ino, isFile } = await readFileState(path);
    if (!isFile) return undefined;
    if (size > maxFileBytes) return unreadable(name, `at most ${maxFileBytes} bytes`, `it has ${size} bytes`);
    const signature = [mtimeNs, ctimeNs, size, ino].join(' ');
    if (known?.signature === signature) return known;
    const text = await readFile(path, 'utf8');
    return { name, signature, text, ...parseManifest(name, text) };
  } catch (error) {
    // Deleted between the listing and the reading: treated as if it had not been listed.
    if (hasCode(error, 'ENOENT')) return undefined;
    return unreadable(name, 'a file that can be read', errorMessage(error));
  }
}

async function readFileState(path: string) {
  const stats = await stat(path, { bigint: true });
  const { mtimeNs, ctimeNs, size, ino } = stats;
  return { mtimeNs, ctimeNs, size, ino, isFile: stats.isFile() };
}

function unreadable(name: string, expected: string, value: string): ManifestFile {
  return {
    name,
    signature: 'unreadable',
    text: '',
    objects: [],
    identities: [],
    problems: [{ file: name, line: 1, column: 1, field: 'file', expected, value }],
    isComplete: false,
  };
}

/** If a writer pauses longer than this between two writes, we read it half written, and again once it is complete. */
const quietMs = 50;
/** Longest wait while events keep coming. */
const patienceMs = 250;
const pollMs = 1000;

/**
 * Calls `changed` soon after a manifest in the directory changes. File events are fast but not reliable (network file
 * systems, a directory that is replaced, too many watches), so names, sizes and times are also compared each second.
 */
export function watchDirectory(directory: string, log: Logger, changed: () => void): { stop(): void } {
  let events: FSWatcher | undefined;
  let quiet: NodeJS.Timeout | undefined;
  let firstEventAt: number | undefined;
  let lastSeen: string | undefined;
  let isStopped = false;

  function noticed(): void {
    if (isStopped) return;
    firstEventAt ??= performance.now();
    clearTimeout(quiet);
    const waited = performance.now() - firstEventAt;
    quiet = setTimeout(
      () => {
        firstEventAt = undefined;
        changed();
      },
      Math.max(0, Math.min(quietMs, patienceMs - waited)),
    );
  }

  function listen(): void {
    if (events || isStopped) return;
    try {
      events = watch(directory, (_type, name) => {
        if (name === null || isManifestName(name) || name.startsWith('..')) noticed();
      });
      events.on('error', (error) => {
        log.warn('file events lost, polling instead', { directory, error });
        deafen();
      });
    } catch {
      // The directory does not exist yet, or no watches are left: the poll notices changes and tries to listen again.
    }
  }

  function deafen(): void {
    events?.close();
    events = undefined;
  }

  async function poll(): Promise<void> {
    const seen = await fingerprint(directory);
    if (isStopped) return;
    if (lastSeen !== undefined && seen !== lastSeen) {
      // Also when the directory itself was replaced: its old watch no longer gets events.
      deafen();
      noticed();
    }
    lastSeen = seen;
    listen();
  }

  listen();
  void poll();
  const timer = setInterval(() => void poll(), pollMs);

  return {
    stop: () => {
      isStopped = true;
      clearInterval(timer);
      clearTimeout(quiet);
      deafen();
    },
  };
}

/** Changes whenever a manifest does; never rejects. */
async function fingerprint(directory: string): Promise<string> {
  try {
    const names = (await readdir(directory)).filter(isManifestName).sort();
    const entries = await Promise.all(
      [directory, ...names.map((name) => join(directory, name))].map(describe),
    );
    return entries.join('\n');
  } catch {
    return 'unreadable';
  }
}

async function describe(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(path);
    return [path, ino, size, mtimeMs, ctimeMs].join(' ');
  } catch {
    return `${path} unreadable`;
  }
}
