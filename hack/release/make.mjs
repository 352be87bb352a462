// Makes the files of a release, as far as that takes no registry, and nothing else: the same commit gives the same bytes.
//
//   node hack/release/make.mjs OUT [TAG]      after `make build`; TAG must be v and the version that every file names
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sameBytes } from '../tar.mjs';
import { bill } from './bill.mjs';
import { notesOf } from './notes.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const [out, tag] = process.argv.slice(2);
if (out === undefined) {
  console.error('usage: node hack/release/make.mjs OUT [TAG]');
  process.exit(2);
}
const text = (path) => readFileSync(join(root, path), 'utf8');
const json = (path) => JSON.parse(text(path));
const manifest = json('package.json');
const { version } = manifest;
const charts = ['paymaster-crds', 'paymaster-operator'];
const target = resolve(out);
const work = mkdtempSync(join(tmpdir(), 'paymaster-release-'));
try {
  requireOneVersion();
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const notes = notesOf(text('CHANGELOG.md'), version, tag !== undefined);
  writeFileSync(join(target, 'notes.md'), withWholeLinks(notes));
  for (const chart of charts) packChart(chart);
  packNpm(join(root, 'clients/viem'));
  packNpm(join(root, 'clients/conformance'));
  packNpm(stageCli());
  const sbom = bill(json('package-lock.json'), manifest, json('node_modules/node/package.json').version);
  writeFileSync(join(target, `paymaster-operator-${version}.cdx.json`), `${JSON.stringify(sbom, null, 2)}\n`);
  packImage();
  writeFileSync(join(target, 'SHA256SUMS'), sums());
  console.log(`${target}: ${readdirSync(target).length} files of version ${version}`);
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** A chart that names another image than the one that is built with it would install an old release. */
function requireOneVersion() {
  const named = {
    'package-lock.json': [json('package-lock.json').version],
    'clients/viem/package.json': [json('clients/viem/package.json').version],
    'clients/conformance/package.json': [json('clients/conformance/package.json').version],
    ...Object.fromEntries(
      charts.map((chart) => {
        const path = `charts/${chart}/Chart.yaml`;
        return [path, [...text(path).matchAll(/^(?:version|appVersion): (.*)$/gm)].map(([, found]) => found)];
      }),
    ),
    ...(tag === undefined ? {} : { [`tag ${tag}`]: [tag.replace(/^v/, '')] }),
  };
  const others = Object.entries(named).filter(([, found]) => found.some((each) => each !== version));
  if (others.length === 0) return;
  const list = others.map(([name, found]) => `${name} (${found.join(', ')})`).join(', ');
  console.error(`error: package.json has version ${version}, and other versions are in ${list}`);
  process.exit(1);
}

/** The notes are read elsewhere than beside the files that they name. */
function withWholeLinks(notes) {
  const { url } = json('clients/viem/package.json').repository;
  const pages = `${url.replace(/^git\+|\.git$/g, '')}/blob/v${version}`;
  return notes.replace(/\]\((?!https?:)([^)]+)\)/g, `](${pages}/$1)`);
}

/** As `helm package` does, which writes the time of day into the archive. */
function packChart(chart) {
  tar(join(root, 'charts'), [chart], join(target, `${chart}-${version}.tgz`));
}

function packNpm(folder) {
  execFileSync('npm', ['pack', '--ignore-scripts', '--silent', `--pack-destination=${target}`], {
    cwd: folder,
  });
}

/** The package of the command line is what the image has of it, with its own manifest. */
function stageCli() {
  const folder = join(work, 'cli');
  for (const part of ['dist/bin', 'contracts/artifacts', 'LICENSE', 'NOTICE', 'cli/README.md'])
    cpSync(join(root, part), join(folder, part === 'cli/README.md' ? 'README.md' : part), {
      recursive: true,
    });
  const { repository } = json('clients/viem/package.json');
  const { license, type, dependencies } = manifest;
  const own = {
    name: '@paymaster-operator/cli',
    version,
    description: 'paymaster, the command line of Paymaster Operator, also as kubectl paymaster',
    // By this word the programs find the folder that they read artifacts from.
    keywords: ['paymaster-operator'],
    license,
    type,
    repository: { type: repository.type, url: repository.url, directory: 'cli' },
    bin: { paymaster: 'dist/bin/paymaster.js', 'kubectl-paymaster': 'dist/bin/paymaster.js' },
    files: ['dist', 'contracts', 'NOTICE'],
    // The first whose node:sqlite has backup.
    engines: { node: '>=22.16' },
    // All others are in the program.
    dependencies: Object.fromEntries(
      Object.entries(dependencies).filter(([name]) => name.endsWith('secp256k1')),
    ),
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(own, null, 2)}\n`);
  return folder;
}

/** For the architecture of this machine, without Docker: what a release builds from the Dockerfile has the same application. */
function packImage() {
  const name = `paymaster-operator-${version}-${process.arch === 'x64' ? 'amd64' : process.arch}.tar`;
  const file = join(target, name);
  execFileSync(process.execPath, [
    join(root, 'hack/image/pack.mjs'),
    'operator',
    `paymaster-operator:${version}`,
    file,
  ]);
}

function sums() {
  return readdirSync(target)
    .sort()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(target, name)))
          .digest('hex')}  ${name}\n`,
    )
    .join('');
}

function tar(folder, names, file) {
  const archive = execFileSync(
    'tar',
    [...sameBytes, '--mode=u=rwX,go=rX', '-C', folder, '-cf', '-', ...names],
    { maxBuffer: 64 * 1024 * 1024 },
  );
  writeFileSync(file, execFileSync('gzip', ['-n', '-9'], { input: archive, maxBuffer: 64 * 1024 * 1024 }));
}
