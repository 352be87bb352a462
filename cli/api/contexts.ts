import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { readYaml, renderYaml } from '../../adapters/manifests/yaml.js';
import { DomainError, invalidInput, errorMessage, quote, type Problem } from '../../core/errors.js';
import { readField, isObject } from '../../core/schema/json-value.js';
import type { Terminal } from '../terminal.js';

/** A server and the token for it. */
export type Context = {
  readonly name: string;
  readonly url: string;
  readonly token: string;
  /** The token may go over http to another machine. */
  readonly insecure?: boolean;
  /** It is a token of the platform, which is taken below `/platform` alone. */
  readonly platform?: boolean;
};
export type Contexts = { readonly contexts: readonly Context[]; readonly current?: string };

type Check = { readonly is: (value: unknown) => boolean; readonly expected: string };
const isText = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.length <= most;
const name: Check = {
  is: (value) => isText(value, 63) && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(value),
  expected: 'letters, digits, ".", "_" and "-", at most 63 characters',
};
const truth: Check = { is: (value) => typeof value === 'boolean', expected: 'true or false' };
const required: Readonly<Record<string, Check>> = {
  name,
  url: { is: (value) => isText(value, 2_048), expected: 'a text of at most 2048 characters' },
  token: { is: (value) => isText(value, 1_024), expected: 'a text of at most 1024 characters' },
};
const members: Readonly<Record<string, Check>> = { ...required, insecure: truth, platform: truth };
const maxContexts = 256;

export function contextsFile({ env }: Pick<Terminal, 'env'>): string {
  const folder = env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config');
  return join(folder, 'paymaster', 'config.yaml');
}

/** An empty list before the first sign-in. Throws INVALID_INPUT for a file that others can read, or that somebody else has written. */
export function readContexts(terminal: Pick<Terminal, 'env'>): Contexts {
  const file = contextsFile(terminal);
  const content = readOwn(file);
  if (content === undefined) return { contexts: [] };
  const found = parsed(file, content);
  const problem = findProblem(found);
  if (problem !== undefined) throw invalidInput({ ...problem, field: `${file}: ${problem.field}` });
  // Just proven.
  return found as Contexts;
}

/** Throws INVALID_INPUT for a name with which the file could not be read again. */
export function requireContextName(text: string): void {
  if (!name.is(text)) throw invalidInput({ field: '--context', expected: name.expected, value: quote(text) });
}

/** Checked by hand: to load the schemas of resources takes longer than everything else here. Values are not quoted, since one is the token. */
function findProblem(found: unknown): Problem | undefined {
  const contexts = readField(found, 'contexts');
  if (!isObject(found) || !Array.isArray(contexts) || contexts.length > maxContexts)
    return { field: 'contexts', expected: `a list of at most ${maxContexts} servers` };
  const { current, contexts: _, ...unknown } = found;
  if (Object.keys(unknown).length > 0)
    return { field: 'the file', expected: 'without members but contexts and current' };
  if (current !== undefined && !name.is(current)) return { field: 'current', expected: name.expected };
  for (const [at, context] of contexts.entries()) {
    const field = `contexts[${at}]`;
    if (!isObject(context)) return { field, expected: 'an object' };
    for (const member of Object.keys({ ...required, ...context })) {
      const check = Object.hasOwn(members, member) ? members[member] : undefined;
      if (check === undefined)
        return { field, expected: `without members but ${Object.keys(members).join(', ')}` };
      if (!check.is(context[member])) return { field: `${field}.${member}`, expected: check.expected };
    }
  }
  return undefined;
}

/** Nobody else can read it at any moment, and a reader sees the former file or this one. */
export function writeContexts(terminal: Pick<Terminal, 'env'>, contexts: Contexts): void {
  const file = contextsFile(terminal);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.${process.pid}`;
  rmSync(next, { force: true });
  writeFileSync(next, renderYaml(contexts), { mode: 0o600, flag: 'wx', flush: true });
  renameSync(next, file);
}

/** Access is checked on the opened file, so that it cannot be swapped in between. */
function readOwn(file: string): string | undefined {
  let opened: number;
  try {
    opened = openSync(file, 'r');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw new DomainError('INVALID_INPUT', `${file} cannot be read: ${errorMessage(cause)}`, { cause });
  }
  try {
    const { mode, uid } = fstatSync(opened);
    if ((mode & 0o077) !== 0 || uid !== (process.getuid?.() ?? uid))
      throw invalidInput({
        field: file,
        expected: `yours, and closed to others (chmod 600 ${file}): it holds tokens`,
        value: `mode ${(mode & 0o777).toString(8).padStart(4, '0')}`,
      });
    return readFileSync(opened, 'utf8');
  } finally {
    closeSync(opened);
  }
}

function parsed(file: string, content: string): unknown {
  try {
    return readYaml(content);
  } catch {
    // Its message may quote a word, and one of them is the token.
    throw invalidInput({ field: file, expected: 'YAML as "paymaster login" writes it' });
  }
}
