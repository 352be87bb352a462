// Runs the compiled tests with jest and ends with the totals alone on a line. Unit tests run in parallel; tests that
// start processes or open ports (`*.component.test.ts`) run in band, since they share ports, disks and two cores.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const fast = process.argv.includes('--fast');
/** `--only=REGEX`: component tests whose path matches, and nothing else. */
const only = process.argv.find((argument) => argument.startsWith('--only='))?.slice('--only='.length);
const totals = { passed: 0, failed: 0, skipped: 0 };

rmSync(join(root, 'test-results'), { recursive: true, force: true });
mkdirSync(join(root, 'test-results'));

if (only === undefined)
  runGroup('unit', ['--testPathIgnorePatterns=\\.component\\.test\\.js$', '--maxWorkers=2']);
if (!fast) {
  const components = [`--testPathPatterns=${only ?? ''}.*\\.component\\.test\\.js$`, '--runInBand'];
  runGroup('component', components);
  // The tests of the service document once more, unchanged; those that `--only` names, which may be none.
  runGroup('kubernetes', [...components, '--config=jest.kubernetes.config.js', '--passWithNoTests']);
}

console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(totals.failed > 0 || totals.passed === 0 ? 1 : 0);

function runGroup(name, options) {
  const outputFile = join(root, 'test-results', `${name}.json`);
  console.log(`\n== ${name} tests ==`);
  const run = spawnSync(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--no-warnings',
      '--enable-source-maps',
      join(root, 'node_modules/jest/bin/jest.js'),
      '--json',
      `--outputFile=${outputFile}`,
      ...options,
    ],
    // The JSON that jest prints is in the file; stdout would repeat it.
    { cwd: root, stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, FORCE_COLOR: '0' } },
  );
  if (!existsSync(outputFile)) {
    console.log(`jest ended without a result (exit ${run.status ?? run.signal})`);
    totals.failed += 1;
    return;
  }
  const result = JSON.parse(readFileSync(outputFile, 'utf8'));
  totals.passed += result.numPassedTests;
  totals.failed += result.numFailedTests + result.numRuntimeErrorTestSuites;
  totals.skipped += result.numPendingTests + result.numTodoTests;
  if (run.status !== 0 && result.numFailedTests + result.numRuntimeErrorTestSuites === 0) {
    console.log(`jest exited with ${run.status ?? run.signal} although no test failed`);
    totals.failed += 1;
  }
}
