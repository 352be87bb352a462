import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isManifestName } from '../../adapters/manifests/manifest-files.js';
import { parseManifest } from '../../adapters/manifests/parse-manifest.js';
import type { Tree } from '../../core/meta/field-tree.js';
import { isKind } from '../../core/resources/kinds.js';
import { group } from '../../core/meta/meta.js';
import { DomainError, messageOf } from '../../core/errors.js';

export type ReadManifests = Readonly<ReturnType<typeof readFiles>>;

/**
 * Reads files, and folders with their subfolders; in folders only files that end in .yaml or .yml. Throws
 * INVALID_INPUT for a path that cannot be read: a wrong argument, not a mistake in a manifest.
 */
export function readFiles(paths: readonly string[]) {
  const files = [...new Set(paths.flatMap(manifestsOf))];
  const leftOut: { file: string; what: string }[] = [];
  const parsed = files.map((file) =>
    parseManifest(file, textOf(file), (document) => {
      if (!isForeign(document)) return false;
      leftOut.push({ file, what: `${String(document['apiVersion'])} ${String(document['kind'])}` });
      return true;
    }),
  );
  return {
    files,
    objects: parsed.flatMap(({ objects }) => objects),
    problems: parsed.flatMap(({ problems }) => problems),
    /** Documents of other APIs, such as `apps/v1 Deployment`: the operator does not check them. */
    leftOut,
  };
}

function manifestsOf(path: string): readonly string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter((name) => !name.split('/').some((part) => part.startsWith('.')))
      .filter((name) => isManifestName(name.slice(name.lastIndexOf('/') + 1)))
      .sort()
      .map((name) => join(path, name))
      .filter((file) => statSync(file).isFile());
  } catch (error) {
    throw unreadable(path, error);
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unreadable(file, error);
  }
}

function unreadable(path: string, cause: unknown): DomainError {
  return new DomainError('INVALID_INPUT', `${path} cannot be read: ${messageOf(cause)}`, { cause });
}

/**
 * A document of another API. A document of one of our kinds or of our group, or a List, is ours, whatever else is wrong
 * with it.
 */
function isForeign({ apiVersion, kind }: Tree): boolean {
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return false;
  return !apiVersion.startsWith(`${group}/`) && !isKind(kind) && kind !== 'List';
}
