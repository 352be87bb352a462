// Installs the clients of package.json into this folder, once per change of it, and runs them against the service that was
// built. Apart from the other tests: the bundler is GPL and large, and neither it nor the vendor's SDK is a dependency.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const wanted = readFileSync(join(folder, 'package.json'), 'utf8');
const stamp = join(folder, 'node_modules', '.installed');

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  console.log('Installing clients and bundler in test/clients (about a minute)…');
  // Fewer and shorter retries than npm's own: without a network it should say so within a minute.
  const options = ['--ignore-scripts', '--no-save', '--no-package-lock', '--no-audit', '--no-fund'];
  const patience = ['--loglevel=error', '--fetch-retries=1', '--fetch-retry-mintimeout=1000'];
  run(
    'npm',
    ['install', ...options, ...patience],
    'The clients and the bundler could not be installed, so nothing was tested: this target needs the network and the ' +
      'package registry that npm is configured for.',
  );
  writeFileSync(stamp, wanted);
}
run(process.execPath, ['--no-warnings', '--test', '--test-concurrency=1', '*.test.mjs']);

function run(command, values, onFailure) {
  const { status, error } = spawnSync(command, values, { cwd: folder, stdio: 'inherit' });
  if (error !== undefined) console.error(`${command} could not be started: ${error.message}`);
  if (status === 0) return;
  if (onFailure !== undefined) console.error(`\nerror: ${onFailure}`);
  process.exit(status ?? 1);
}
