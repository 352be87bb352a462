import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { DomainError, quote } from '../../core/errors.js';
import type { ConnectionSecrets } from '../../core/secrets.js';
import { hasCode } from '../process/has-code.js';
import { readField, isObject, parseJson } from '../../core/schema/json-value.js';

type Stored = { readonly owner: string; readonly data: Readonly<Record<string, string>> };

/**
 * Connection secrets as files `<directory>/<namespace>/<name>.json`, mode 0600, each `{owner, data}`. A file whose
 * owner is not the same Paymaster is never touched. A file is written whole or not at all, also when the process is
 * killed. A Paymaster that is deleted and created again under its name is the same owner: its keys are the same.
 */
export function createFileConnectionSecrets({
  directory,
}: {
  readonly directory: string;
}): ConnectionSecrets {
  return {
    async write({ namespace, name, owner, data }) {
      const path = join(directory, fileName(namespace), `${fileName(name)}.json`);
      const wanted: Stored = { owner: owner.name, data };
      try {
        const present = await readSecret(path);
        if (present === 'none') return (await create(path, wanted)) ? 'written' : 'not-ours';
        if (present === 'foreign' || present.owner !== owner.name) return 'not-ours';
        if (isDeepStrictEqual(present.data, data)) return 'unchanged';
        await replace(path, wanted);
        return 'written';
      } catch (error) {
        throw new DomainError('UNAVAILABLE', `connection secret ${namespace}/${name} could not be written`, {
          cause: error,
        });
      }
    },
  };
}

// Schemas allow only such names. Checked again because any other name could lead out of the directory.
const namePattern = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

function fileName(name: string): string {
  if (!namePattern.test(name) || name.includes('..'))
    throw new DomainError(
      'INVALID_INPUT',
      `a secret's name must be a Kubernetes object name, got ${quote(name)}`,
    );
  return name;
}

async function readSecret(path: string): Promise<Stored | 'none' | 'foreign'> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 'none';
    throw error;
  }
  const value = parseJson(text);
  return isStored(value) ? value : 'foreign';
}

function isStored(value: unknown): value is Stored {
  return typeof readField(value, 'owner') === 'string' && isObject(readField(value, 'data'));
}

/** False when another process created the file meanwhile: a hard link, unlike a rename, never replaces a file. */
async function create(path: string, secret: Stored): Promise<boolean> {
  const draft = await writeDraft(path, secret);
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await unlink(draft);
  }
}

async function replace(path: string, secret: Stored): Promise<void> {
  await rename(await writeDraft(path, secret), path);
}

async function writeDraft(path: string, secret: Stored): Promise<string> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomUUID()}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(secret, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  return draft;
}
