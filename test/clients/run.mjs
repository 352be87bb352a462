// Runs published clients and a bundler against the service that was built: the pinned ones of package.json, or with LATEST=1 the newest
// ones, each in another folder, because they do not resolve together. Apart from the other tests: the bundler is GPL and large, and
// neither it nor the vendor's SDK is a dependency.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writePage } from './page.mjs';

const folder = fileURLToPath(new URL('.', import.meta.url));
const noNetwork =
  'The clients and the bundler could not be installed, so nothing was tested: this target needs the network and the ' +
  'package registry that npm is configured for.';
/** Which packages the pinned tests of each file are about; those of other folders are in their package.json. */
const clientsOf = {
  'aa-sdk.mjs': ['@aa-sdk/core', '@account-kit/infra'],
  'abstractionkit.mjs': ['abstractionkit'],
  'abstractjs.mjs': ['@biconomy/abstractjs', 'viem'],
  'accounts.test.mjs': ['permissionless', '@safe-global/safe-4337', '@metamask/smart-accounts-kit'],
  'bundler.test.mjs': ['viem', 'permissionless'],
  'conformance.test.mjs': ['clients/conformance', '@pimlico/mock-paymaster'],
  'ethers.test.mjs': ['ethers'],
  'near-safe.test.mjs': ['near-safe'],
  'op-stack.test.mjs': ['viem'],
  'others-methods.mjs': ['@zerodev/sdk', 'permissionless', 'viem'],
  'relay-kit.mjs': ['@safe-global/relay-kit', '@safe-global/protocol-kit'],
  'startale.mjs': ['@startale-scs/aa-sdk', 'viem'],
  'vendor-paymaster.mjs': ['@biconomy/account'],
  'viem-package.mjs': ['clients/viem', 'viem'],
  'wagmi.test.mjs': ['@wagmi/core', 'viem'],
};
const results = fileURLToPath(new URL('../../test-results', import.meta.url));
const latest = [
  'viem',
  'permissionless',
  'vendor-account',
  'vendor-abstractjs',
  'abstractionkit',
  'relay-kit',
  'aa-sdk',
  'startale',
  'zerodev',
];

process.exitCode = process.env.LATEST === '1' ? runLatest() : runPinned();

/** CLIENT names one file, as in `wagmi.test.mjs`; the page is written by a run of all. */
function runPinned() {
  const { CLIENT: only = '*' } = process.env;
  run('sh', [join(folder, '../../hack/bundler/install.sh')], folder, noNetwork);
  const wanted = readFileSync(join(folder, 'package.json'), 'utf8');
  const stamp = join(folder, 'node_modules', '.installed');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    console.log('Installing clients in test/clients (about a minute)…');
    install(folder, []);
    writeFileSync(stamp, wanted);
  }
  const { status, rows } = test(folder, process.env, `${only}.test.mjs`);
  const told = rows.map(({ file, ...row }) => ({
    client: namesOf(clientsOf[file] ?? [file], folder),
    ...row,
  }));
  tell(told);
  if (only === '*') writePage(told);
  return status;
}

/** CLIENT names one folder, also one that is not in the list; otherwise all are run, also after a failure, and the versions are listed at the end. */
function runLatest() {
  const { CLIENT: only } = process.env;
  const chosen = only ? [only] : latest;
  const seen = [];
  for (const name of ['alto', ...chosen]) {
    console.log(`Installing test/clients/latest/${name}…`);
    seen.push(installLatest(join(folder, 'latest', name)));
  }
  const [alto, ...clients] = seen;
  const environment = { ...process.env, TEST_ALTO: join(folder, 'latest/alto') };
  const runs = clients.map((client, index) => {
    const { status, rows } = test(join(folder, 'latest', chosen[index]), environment);
    return { status, rows: rows.map(({ file: _file, ...row }) => ({ client, ...row })) };
  });
  console.log(`\nWith ${alto}:`);
  tell(runs.flatMap(({ rows }) => rows));
  return Math.max(...runs.map(({ status }) => status));
}

/** Client with version, flow and result of each test: as a table, and for programs in `test-results/clients.json`. */
function tell(rows) {
  mkdirSync(results, { recursive: true });
  writeFileSync(join(results, 'clients.json'), `${JSON.stringify(rows, undefined, 2)}\n`);
  let above = '';
  console.log('');
  for (const { client, flow, result, milliseconds } of rows) {
    if (client !== above) console.log(client);
    above = client;
    console.log(`  ${result}  ${String(milliseconds).padStart(6)} ms  ${flow}`);
  }
  console.log('\nThe same as JSON: test-results/clients.json');
}

/** Installs the newest versions of what package.json names, and answers what came, as text. */
function installLatest(client) {
  const { dependencies } = readJson(join(client, 'package.json'));
  // npm keeps a copy whose version has not changed.
  rmSync(join(client, 'node_modules/@paymaster-operator'), { recursive: true, force: true });
  install(
    client,
    Object.entries(dependencies).map(([name, version]) => `${name}@${version}`),
  );
  return namesOf(Object.keys(dependencies), client);
}

/** Names with the versions that a file of this directory would import, as text. */
function namesOf(packages, directory) {
  const paths = createRequire(join(directory, 'package.json')).resolve.paths('');
  return packages
    .map((name) => {
      const found = paths.map((path) => join(path, name, 'package.json')).find((path) => existsSync(path));
      return found === undefined ? name : `${name} ${readJson(found).version}`;
    })
    .join(', ');
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

function install(directory, packages) {
  // Fewer and shorter retries than npm's own: without a network it should say so within a minute.
  // A package of ours is copied, as it is published: a link would find the viem of this project.
  const options = [
    '--install-links',
    '--ignore-scripts',
    '--no-save',
    '--no-package-lock',
    '--no-audit',
    '--no-fund',
  ];
  const patience = ['--loglevel=error', '--fetch-retries=1', '--fetch-retry-mintimeout=1000'];
  run('npm', ['install', ...options, ...patience, ...packages], directory, noNetwork);
}

function test(directory, env, files = '*.test.mjs') {
  const lines = join(mkdtempSync(join(tmpdir(), 'clients-')), 'rows');
  const reporters = [
    ['spec', 'stdout'],
    [join(folder, 'rows.mjs'), lines],
  ].flatMap(([reporter, to]) => [`--test-reporter=${reporter}`, `--test-reporter-destination=${to}`]);
  const values = ['--no-warnings', '--test', '--test-concurrency=1', ...reporters, files];
  const { status, error } = spawnSync(process.execPath, values, { cwd: directory, stdio: 'inherit', env });
  if (error !== undefined) console.error(`node could not be started: ${error.message}`);
  const rows = existsSync(lines) ? readFileSync(lines, 'utf8').split('\n').filter(Boolean) : [];
  rmSync(join(lines, '..'), { recursive: true, force: true });
  return { status: status ?? 1, rows: rows.map((line) => JSON.parse(line)) };
}

function run(command, values, directory, onFailure) {
  const { status, error } = spawnSync(command, values, { cwd: directory, stdio: 'inherit' });
  if (status === 0) return;
  if (error !== undefined) console.error(`${command} could not be started: ${error.message}`);
  console.error(`\nerror: ${onFailure}`);
  process.exit(status ?? 1);
}
