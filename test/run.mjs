// Runs the compiled tests with jest and ends with the totals alone on a line. Test files run beside each other, those that start
// processes and open ports (`*.component.test.ts`) too: each takes its own ports and directories.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const fast = process.argv.includes('--fast');
/** `--only=REGEX`: component tests whose path matches, and nothing else. */
const only = process.argv.find((argument) => argument.startsWith('--only='))?.slice('--only='.length);
const totals = { passed: 0, failed: 0, skipped: 0 };
const cores = availableParallelism();

rmSync(join(root, 'test-results'), { recursive: true, force: true });
mkdirSync(join(root, 'test-results'));

if (fast)
  await runGroup('unit', ['--testPathIgnorePatterns=\\.component\\.test\\.js$', `--maxWorkers=${cores}`]);
else {
  const components = `--testPathPatterns=${only ?? ''}.*\\.component\\.test\\.js$`;
  // One more than cores: component tests wait for processes and for time that has to pass.
  const all = [`--maxWorkers=${cores + 1}`, ...(only === undefined ? [] : [components])];
  // The tests of the service document once more, unchanged; those that `--only` names, which may be none. One after the other,
  // since they share an API server.
  const kubernetes = ['--config=jest.kubernetes.config.js', '--runInBand', '--passWithNoTests', components];
  await Promise.all([runGroup('all', all), runGroup('kubernetes', kubernetes)]);
}

console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(totals.failed > 0 || totals.passed === 0 ? 1 : 0);

async function runGroup(name, options) {
  const outputFile = join(root, 'test-results', `${name}.json`);
  console.log(`== ${name} tests ==`);
  const run = spawn(
    process.execPath,
    [
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
  const ended = await new Promise((resolve, reject) => {
    run.once('error', reject);
    run.once('close', (code, signal) => resolve(code ?? signal));
  });
  if (!existsSync(outputFile)) {
    console.log(`jest ended without a result (exit ${ended})`);
    totals.failed += 1;
    return;
  }
  const result = JSON.parse(readFileSync(outputFile, 'utf8'));
  totals.passed += result.numPassedTests;
  totals.failed += result.numFailedTests + result.numRuntimeErrorTestSuites;
  totals.skipped += result.numPendingTests + result.numTodoTests;
  if (ended !== 0 && result.numFailedTests + result.numRuntimeErrorTestSuites === 0) {
    console.log(`jest exited with ${ended} although no test failed`);
    totals.failed += 1;
  }
}
