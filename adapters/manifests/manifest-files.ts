import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type ParsedManifest, parseManifest } from './parse-manifest.js';
import { messageOf } from '../../core/errors.js';
import { hasCode } from '../process/has-code.js';

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
  const names = await readdir(directory).catch((error: unknown) => messageOf(error));
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
    const { mtimeNs, ctimeNs, size, ino, isFile } = await signatureOf(path);
    if (!isFile) return undefined;
    if (size > maxFileBytes) return unreadable(name, `at most ${maxFileBytes} bytes`, `it has ${size} bytes`);
    const signature = [mtimeNs, ctimeNs, size, ino].join(' ');
    if (known?.signature === signature) return known;
    const text = await readFile(path, 'utf8');
    return { name, signature, text, ...parseManifest(name, text) };
  } catch (error) {
    // Deleted between the listing and the reading: treated as if it had not been listed.
    if (hasCode(error, 'ENOENT')) return undefined;
    return unreadable(name, 'a file that can be read', messageOf(error));
  }
}

async function signatureOf(path: string) {
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
