import type { Command } from 'commander';
import { formatManifestProblem } from '../../adapters/manifests/manifest-problem.js';
import type { ManifestObject } from '../../adapters/manifests/parse-manifest.js';
import { DomainError, invalidInput, isDomainError, quote } from '../../core/errors.js';
import { fieldOf, isObject } from '../../core/schema/json-value.js';
import { given } from '../../core/units/given.js';
import { isSameJson } from '../../core/meta/field-tree.js';
import { readFiles } from '../../operator/validate/read-files.js';
import { callServer } from '../api/client.js';
import { readServer, withServer, type Server, type ServerOptions } from '../api/server.js';
import { plurals } from '../state/source.js';
import { collect, Refused, say, unlessYes, withYes, type Terminal } from '../terminal.js';

type Options = ServerOptions & { readonly file: readonly string[]; readonly yes?: true };
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
    .action((options: Options) => apply(terminal, options));
}

async function apply(terminal: Terminal, options: Options): Promise<void> {
  const { objects, problems } = readFiles(options.file);
  const [problem] = problems;
  if (problem !== undefined) throw new DomainError('INVALID_INPUT', formatManifestProblem(problem));
  const server = readServer(terminal, options);
  const namespace = fieldOf(
    fieldOf(await callServer(server, { method: 'get', path: '/me' }), 'organisation'),
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
  for (const object of objects.toSorted((a, b) => place(a) - place(b)))
    try {
      const done = await applyOne(terminal, server, object, options.yes === true);
      terminal.out(`${nameOf(object)} ${done}\n`);
    } catch (error) {
      if (!(error instanceof Refused) && !isDomainError(error, 'INVALID_INPUT')) throw error;
      isRefused = true;
      say(terminal, `${nameOf(object)}: ${error.message}`);
    }
  if (isRefused) throw new Refused();
}

async function applyOne(
  terminal: Terminal,
  server: Server,
  { kind, key: { name }, spec, labels }: ManifestObject,
  yes: boolean,
): Promise<string> {
  const path = `/${plurals[kind as keyof typeof plurals]}/${encodeURIComponent(name)}`;
  const request = { method: 'put', path, body: { spec, ...given({ labels }) } };
  const tell = (message: string) => say(terminal, `${kind} ${name}: ${message}`);
  const before = await callServer(server, { method: 'get', path }).catch((error: unknown) => {
    // It is not there: what it may be otherwise, the write says.
    if (error instanceof Refused) return undefined;
    throw error;
  });
  if (kind === 'PaymasterPolicy' && before !== undefined && !yes) {
    let isWarned = false;
    await callServer(server, { ...request, query: { dryRun: 'true' } }, (message) => {
      isWarned = true;
      tell(message);
    });
    if (isWarned) throw unlessYes('changed', 'changes it');
  }
  const after = await callServer(server, request, tell);
  if (!isObject(before)) return 'created';
  const isSame = ['generation', 'labels'].every((member) =>
    isSameJson(before[member], fieldOf(after, member)),
  );
  return isSame ? 'unchanged' : 'changed';
}

function place({ kind }: ManifestObject): number {
  return kinds.findIndex((each) => each === kind);
}

function nameOf({ kind, key }: ManifestObject): string {
  return `${kind} ${key.name}`;
}
