import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { group, version } from '../core/meta/meta.js';
import { compiledDefinitions } from '../core/config/compiled.schema.js';
import { definitions } from '../core/resources/schemas.js';
import { type KindDefinition, toCrd } from '../core/schema/crd.js';
import { renderConditions } from './conditions-page.js';
import { renderErrors } from './errors-page.js';
import { checkTable, policyTable, withTable } from './tables.js';

/**
 * Entry point of `make generate`: writes one CustomResourceDefinition per kind to `crds/`, from the schemas beside the
 * types, and the pages of conditions and errors. With `--check` it writes nothing and fails when a file differs, is missing or
 * should not be there.
 */
const header = '# Generated from core/resources. Do not edit: change the schema and run `make generate`.\n';

function generatedFiles(): ReadonlyMap<string, string> {
  const all: readonly KindDefinition[] = [
    ...Object.values(definitions),
    ...Object.values(compiledDefinitions),
  ];
  return new Map(all.map((kind) => [`${kind.plural}.yaml`, render(kind)]));
}

function render(kind: KindDefinition): string {
  // Parts that several kinds share are written out each time: the API server does not support YAML aliases.
  return (
    header +
    stringify(toCrd(kind, group, version), {
      lineWidth: 110,
      aliasDuplicateObjects: false,
      compat: 'yaml-1.1',
    })
  );
}

/** Pages of tables, and pages with one, from what is there. They are generated here because all come from the core. */
const pages = new Map<string, (present: string) => string>([
  [join('docs', 'conditions.md'), renderConditions],
  [join('docs', 'errors.md'), renderErrors],
  [join('docs', 'runbooks.md'), (present) => withTable(present, 'checks', checkTable())],
  [join('docs', 'policies.md'), (present) => withTable(present, 'policies', policyTable())],
]);

/** Pages that differ from the tables. */
export async function stalePages(root: string): Promise<readonly string[]> {
  const wrong = [...pages].map(async ([page, rendered]) => {
    const found = await readFile(join(root, page), 'utf8').catch(() => '');
    return found === rendered(found) ? [] : [page];
  });
  return (await Promise.all(wrong)).flat();
}

/** Names of files in `directory` that differ, are missing or should not be there. */
export async function staleFiles(directory: string): Promise<string[]> {
  const files = generatedFiles();
  const present = (await readdir(directory).catch(() => [])).filter((name) => name.endsWith('.yaml'));
  const wrong = await Promise.all(
    [...files].map(async ([name, text]) => {
      const found = await readFile(join(directory, name), 'utf8').catch(() => undefined);
      return found === text ? [] : [name];
    }),
  );
  return [...wrong.flat(), ...present.filter((name) => !files.has(name))].sort();
}

async function main(args: readonly string[]): Promise<number> {
  const isCheck = args.includes('--check');
  // Compiled files are in dist/operator, sources in operator; crds is beside both `dist` and `operator`.
  const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
  const directory = join(root, 'crds');
  const stale = await staleFiles(directory);
  const wrongPages = await stalePages(root);
  if (isCheck) {
    const wrong = [...wrongPages, ...stale.map((name) => join('crds', name))];
    if (wrong.length === 0) return 0;
    console.error(`not up to date (${wrong.join(', ')}): run "make generate" and commit the result`);
    return 1;
  }
  for (const page of wrongPages) {
    const present = await readFile(join(root, page), 'utf8').catch(() => '');
    await writeFile(join(root, page), pages.get(page)?.(present) ?? '');
    console.log(`wrote ${page}`);
  }
  const files = generatedFiles();
  await mkdir(directory, { recursive: true });
  for (const name of stale) {
    const text = files.get(name);
    if (text === undefined) await rm(join(directory, name));
    else await writeFile(join(directory, name), text);
  }
  console.log(
    stale.length === 0 ? 'crds/ is up to date' : `wrote ${stale.map((name) => `crds/${name}`).join(', ')}`,
  );
  return 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2));
