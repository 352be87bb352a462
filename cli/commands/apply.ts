import type { Command } from 'commander';
import type { ManifestObject } from '../../adapters/manifests/parse-manifest.js';
import { invalidInput, isDomainError, quote } from '../../core/errors.js';
import { readField } from '../../core/schema/json-value.js';
import { printableLines } from '../../core/terminal-text.js';
import { given } from '../../core/units/given.js';
import { formatKey } from '../../core/meta/meta.js';
import { isSameJson, type Tree } from '../../core/meta/field-tree.js';
import { callServer } from '../api/client.js';
import { requireValid } from '../api/short-form.js';
import { readServer, withServer, type Server, type ServerOptions } from '../api/server.js';
import { fieldChanges, renderFieldChanges } from '../state/compare.js';
import { readManifests } from '../state/manifest.js';
import { plurals } from '../state/source.js';
import { collect, Refused, say, unlessYes, withYes, type Terminal } from '../terminal.js';

type Options = ServerOptions & {
  readonly file: readonly string[];
  readonly yes?: true;
  readonly dryRun?: true;
};
const kinds = Object.keys(plurals) as readonly (keyof typeof plurals)[];

/** `kubectl apply` for people who have a token and no cluster. */
export function addApply(program: Command, terminal: Terminal): void {
  withServer(withYes(program.command('apply'), 'do it, also when a count begins anew'))
    .description(
      'Create and change what manifests say, at the server; what another manager owns stays as it is',
    )
    .requiredOption(
      '-f, --file <path>',
      'a manifest, or a folder of manifests with its subfolders; may be repeated',
      collect,
    )
    .option('--dry-run', 'write nothing; say what would be created and changed, and what would be refused')
    .action((options: Options) => apply(terminal, options));
}

async function apply(terminal: Terminal, options: Options): Promise<void> {
  const { objects } = readManifests(options.file);
  const server = readServer(terminal, options);
  const namespace = readField(
    readField(await callServer(server, { method: 'get', path: '/me' }), 'organisation'),
    'namespace',
  );
  // Before anything is written.
  for (const { kind, key } of objects) {
    if (!kinds.some((each) => each === kind))
      throw invalidInput({
        field: `${kind} ${key.name}`,
        expected: `one of ${kinds.join(', ')}: the platform applies the rest`,
      });
    if (key.namespace !== namespace)
      throw invalidInput({
        field: `namespace of ${kind} ${key.name}`,
        expected: `${quote(namespace)}, that of the token`,
        value: quote(key.namespace),
      });
  }
  let isRefused = false;
  const absent = new Set<string>();
  for (const object of objects.toSorted((a, b) => place(a) - place(b)))
    try {
      const done = await applyOne(terminal, server, object, options, absent);
      terminal.out(printableLines(`${formatName(object)} ${done}\n`));
    } catch (error) {
      if (!(error instanceof Refused) && !isDomainError(error, 'INVALID_INPUT')) throw error;
      isRefused = true;
      const what = `${object.kind} ${formatKey(object.key)}: `;
      say(terminal, `${formatName(object)}: ${error.message.replace(what, '')}`);
    }
  if (isRefused) throw new Refused();
}

/** `absent`: paymasters that a dry run would have made before this. */
async function applyOne(
  terminal: Terminal,
  server: Server,
  { kind, key: { name }, spec, labels }: ManifestObject,
  { yes, dryRun }: Pick<Options, 'yes' | 'dryRun'>,
  absent: Set<string>,
): Promise<string> {
  const path = `/${plurals[kind as keyof typeof plurals]}/${encodeURIComponent(name)}`;
  const request = { method: 'put', path, body: { spec, ...given({ labels }) } };
  const tell = (message: string) => say(terminal, `${kind} ${name}: ${message}`);
  const before = await callServer(server, { method: 'get', path }).catch((error: unknown) => {
    // It is not there: what it may be otherwise, the write says.
    if (error instanceof Refused) return undefined;
    throw error;
  });
  const isOfAbsent = absent.has(String(readField(readField(spec, 'paymasterRef'), 'name')));
  if (dryRun && isOfAbsent && before === undefined) {
    await requireValid(kind, name, spec);
    return 'created (dry run; the server can check it when its paymaster is there)';
  }
  if (dryRun || (kind === 'PaymasterPolicy' && before !== undefined && !yes)) {
    let isWarned = false;
    const would = await callServer(server, { ...request, query: { dryRun: 'true' } }, (message) => {
      isWarned = true;
      tell(message);
    });
    if (isWarned && !yes) throw unlessYes('changed', 'changes it');
    if (dryRun) {
      if (before === undefined && kind === 'Paymaster') absent.add(name);
      const fields = before === undefined ? [] : fieldChanges(toWritten(before), toWritten(would));
      return [`${doneTo(before, would)} (dry run)`, ...renderFieldChanges(fields)].join('\n');
    }
  }
  return doneTo(before, await callServer(server, request, tell));
}

function doneTo(before: unknown, after: unknown): 'created' | 'changed' | 'unchanged' {
  if (before === undefined) return 'created';
  const isSame = ['generation', 'labels'].every((member) =>
    isSameJson(readField(before, member), readField(after, member)),
  );
  return isSame ? 'unchanged' : 'changed';
}

/** The part of an object that a manifest sets, from what the API shows. */
function toWritten(shown: unknown): Tree {
  return { metadata: { labels: readField(shown, 'labels') ?? {} }, spec: readField(shown, 'spec') };
}

function place({ kind }: ManifestObject): number {
  return kinds.findIndex((each) => each === kind);
}

function formatName({ kind, key }: ManifestObject): string {
  return `${kind} ${key.name}`;
}
