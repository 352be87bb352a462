// Writes NOTICE: every package that ships, and every file of others' code in the repository, with its licence. Fails when a
// licence is not on the list. With `--check` it writes nothing and fails when NOTICE is not current.
//
//   node hack/licences.mjs [--check] [FOLDER]      FOLDER: another folder than the project's, for tests
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { bring, readText, root } from './generated.mjs';

/** Of packages that ship with Apache-2.0 code. Licences that ask for our source are not on it, nor those that restrict use. */
const allowed = new Set(
  '0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause BlueOak-1.0.0 ISC MIT PSF-2.0 Unlicense'.split(' '),
);
/**
 * Of files of EVM code. A node runs it for the length of one call, and our code is not linked with it: files beside ours, with
 * their licence, as GPL-3.0 allows ("aggregate").
 */
const allowedForBytes = new Set([...allowed, 'GPL-3.0']);
const bytes = 'contracts/artifacts/third-party';

const { packages } = readJson('package-lock.json');

const shipped = new Set([...installedInProduction(), ...usedByTheClient()]);
const files = readdirSync(join(root, bytes))
  .filter((name) => name.endsWith('.json'))
  .sort()
  .map((name) => ({ name: `${bytes}/${name}`, ...readJson(`${bytes}/${name}`) }));

const refused = [
  ...[...shipped]
    .filter((path) => !allowed.has(licenceOf(path)))
    .map((path) => `${packageName(path)}@${packages[path].version}: ${licenceOf(path)}`),
  ...files
    .filter(({ license }) => !allowedForBytes.has(license))
    .map(({ name, license }) => `${name}: ${license ?? 'no licence'}`),
];
if (refused.length > 0) {
  console.error(`These licences are not on the list of hack/licences.mjs:\n  ${refused.join('\n  ')}`);
  process.exitCode = 1;
} else {
  console.log(`Licences of the packages that ship: ${counts()}`);
  bring('NOTICE', notice());
}

/** What `npm install --omit=dev` installs, optional packages and those of other platforms included. */
function installedInProduction() {
  return Object.keys(packages).filter((path) => path !== '' && !packages[path].dev);
}

/** What a user of clients/viem installs with it. */
function usedByTheClient() {
  const { dependencies, peerDependencies } = readJson('clients/viem/package.json');
  const found = new Set();
  const visit = (name, from) => {
    const path = resolve(name, from);
    if (path === undefined)
      throw new Error(`package-lock.json must have ${name}, which ${from || 'clients/viem'} needs`);
    if (found.has(path)) return;
    found.add(path);
    for (const needed of Object.keys(packages[path].dependencies ?? {})) visit(needed, path);
  };
  for (const name of Object.keys({ ...dependencies, ...peerDependencies })) visit(name, '');
  return found;
}

/** As Node.js looks a package up: in the folder of the one that needs it, then in the folders above. */
function resolve(name, from) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (packages[path] !== undefined) return path;
    if (folder === '') return undefined;
  }
}

function notice() {
  const lines = [...shipped].map(
    (path) => `${packageName(path)} ${packages[path].version} (${licenceOf(path)})`,
  );
  return `Paymaster Operator
Licensed under the Apache License, Version 2.0 (LICENSE).

Written by hack/licences.mjs ("make generate").

Packages that ship with it, each with its licence in its folder under node_modules:

${[...new Set(lines)].sort(byCharacters).join('\n')}

EVM code of others, which nodes run in simulations, or which \`paymaster contract deploy\` puts on a chain. It is not linked with
the code of this project. The package named with it has the complete source, or names its repository; the texts of the licences
are ${bytes}/GPL-3.0.txt and ${bytes}/MIT.txt.

${files.map(({ name, source, license }) => `${name} (${license}): ${source}`).join('\n')}
`;
}

/** `MIT 150, ISC 8, …`, the most frequent first. */
function counts() {
  const licences = [...[...shipped].map(licenceOf), ...files.map(({ license }) => `${license} (bytes)`)];
  return [...Map.groupBy(licences, (licence) => licence)]
    .map(([licence, of]) => ({ licence, count: of.length }))
    .sort((a, b) => b.count - a.count || byCharacters(a.licence, b.licence))
    .map(({ licence, count }) => `${licence} ${count}`)
    .join(', ');
}

function byCharacters(a, b) {
  return a < b ? -1 : 1;
}

function licenceOf(path) {
  return packages[path].license ?? 'no licence';
}

function packageName(path) {
  return packages[path].name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function readJson(name) {
  return JSON.parse(readText(name));
}
