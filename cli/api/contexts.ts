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
import { DomainError, invalidInput, messageOf } from '../../core/errors.js';
import { boolean, list, object, text, type Infer } from '../../core/schema/structural.js';
import { compileSchema } from '../../core/schema/validate.js';
import type { Terminal } from '../terminal.js';

const name = text('How it is called.', {
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
  maxLength: 63,
  expected: 'letters, digits, ".", "_" and "-", at most 63 characters',
});
const context = object('A server.', {
  required: {
    name,
    url: text('Where it is.', { maxLength: 2_048 }),
    token: text('Its token.', { maxLength: 1_024, confidential: true }),
  },
  optional: {
    /** True: the token may go over http to another machine. */
    insecure: boolean('Over http.'),
    /** True: a token of the platform, which is taken below `/platform` alone. */
    platform: boolean('A token of the platform.'),
  },
});
const schema = object('Servers, and the tokens for them.', {
  required: { contexts: list('Servers.', context, { maxItems: 256 }) },
  optional: { current: name },
});
/** A server and the token for it. */
export type Context = Infer<typeof context>;
export type Contexts = Infer<typeof schema>;
const problemsOf = compileSchema(schema, '');

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
  const [problem] = problemsOf(found);
  if (problem !== undefined)
    throw invalidInput({ field: `${file}: ${problem.field}`, expected: problem.expected });
  // The schema has just proven it.
  return found as Contexts;
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
    throw new DomainError('INVALID_INPUT', `${file} cannot be read: ${messageOf(cause)}`, { cause });
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
