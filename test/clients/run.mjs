// Runs published clients and a bundler against the service that was built: the pinned ones of package.json, or with LATEST=1 the newest
// ones, each in another folder, because they do not resolve together. Apart from the other tests: the bundler is GPL and large, and
// neither it nor the vendor's SDK is a dependency.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const noNetwork =
  'The clients and the bundler could not be installed, so nothing was tested: this target needs the network and the ' +
  'package registry that npm is configured for.';
const latest = ['viem', 'permissionless', 'vendor-account', 'vendor-abstractjs', 'abstractionkit'];

process.exitCode = process.env.LATEST === '1' ? runLatest() : runPinned();

function runPinned() {
  run('sh', [join(folder, '../../hack/bundler/install.sh')], folder, noNetwork);
  const wanted = readFileSync(join(folder, 'package.json'), 'utf8');
  const stamp = join(folder, 'node_modules', '.installed');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    console.log('Installing clients in test/clients (about half a minute)…');
    install(folder, []);
    writeFileSync(stamp, wanted);
  }
  return test(folder, process.env);
}

/** CLIENT names one folder; otherwise all are run, also after a failure, and the versions are listed at the end. */
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
  const rows = clients.map((versions, index) => {
    const status = test(join(folder, 'latest', chosen[index]), environment);
    return { result: status === 0 ? 'passed' : 'FAILED', status, versions };
  });
  console.log(`\nWith ${alto}:`);
  for (const { result, versions } of rows) console.log(`  ${result}  ${versions}`);
  return Math.max(...rows.map(({ status }) => status));
}

/** Installs the newest versions of what package.json names, and answers what came, as text. */
function installLatest(client) {
  const { dependencies } = JSON.parse(readFileSync(join(client, 'package.json'), 'utf8'));
  // npm keeps a copy whose version has not changed.
  rmSync(join(client, 'node_modules/@paymaster-operator'), { recursive: true, force: true });
  install(
    client,
    Object.entries(dependencies).map(([name, version]) => `${name}@${version}`),
  );
  const versionOf = (name) =>
    JSON.parse(readFileSync(join(client, 'node_modules', name, 'package.json'), 'utf8')).version;
  return Object.keys(dependencies)
    .map((name) => `${name} ${versionOf(name)}`)
    .join(', ');
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

function test(directory, env) {
  const values = ['--no-warnings', '--test', '--test-concurrency=1', '*.test.mjs'];
  const { status, error } = spawnSync(process.execPath, values, { cwd: directory, stdio: 'inherit', env });
  if (error !== undefined) console.error(`node could not be started: ${error.message}`);
  return status ?? 1;
}

function run(command, values, directory, onFailure) {
  const { status, error } = spawnSync(command, values, { cwd: directory, stdio: 'inherit' });
  if (status === 0) return;
  if (error !== undefined) console.error(`${command} could not be started: ${error.message}`);
  console.error(`\nerror: ${onFailure}`);
  process.exit(status ?? 1);
}
