// Runs the compiled tests with jest, says what they cost, and ends with the totals alone on a line. Test files run beside each other,
// those that start processes and open ports (`*.component.test.ts`) too: each takes its own ports and directories.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const results = join(root, 'test-results');
const timesFile = join(results, 'times.jsonl');
const isFast = process.argv.includes('--fast');
/** `--only=PATHS`: files and folders below test/, with blanks between them. */
const only = valueOf('--only');
const totals = { passed: 0, failed: 0, skipped: 0 };
const cores = availableParallelism();
const begun = performance.now();
const busyBefore = processorTimes();
/** What needs an API server, helm, promtool, Lua or actionlint; and so much of the rest that all workers end at about the same time. */
const clusters = 'dist/test/(kube|charts|release|attacks/tenants-names|adversary|chain)\\b';

rmSync(results, { recursive: true, force: true });
mkdirSync(results);
writeFileSync(timesFile, '');

const inside = only === undefined ? '' : `(${only.trim().split(/\s+/).map(pathPattern).join('|')})`;
if (isFast)
  await runJest('unit', [
    '--testPathIgnorePatterns=\\.(component|slow)\\.test\\.js$',
    `--testPathPatterns=dist/test/${inside}`,
    // Some files wait more than they compute.
    `--maxWorkers=${2 * cores}`,
  ]);
else if (process.argv.includes('--release'))
  await runJest('release', [
    '--config=jest.release.config.js',
    `--testPathPatterns=dist/test/${inside}`,
    `--maxWorkers=${cores}`,
  ]);
else if (only === undefined) await Promise.all([runOthers(), runClusters()]);
else await runSome();

reportTimes();
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(totals.failed > 0 || totals.passed === 0 ? 1 : 0);

/** Everything that needs no API server, one worker for each core. */
function runOthers() {
  return runJest('others', [`--testPathIgnorePatterns=${clusters}`, `--maxWorkers=${cores}`]);
}

/**
 * One after the other, since each is an API server with the processes around it: suites of the service document once more, unchanged,
 * and what needs a cluster or a chart. They begin when that server is built, which takes minutes on a new machine.
 */
async function runClusters() {
  await bringBuilt();
  await runKubernetes();
  await runJest('clusters', [`--testPathPatterns=${clusters}`, '--runInBand']);
}

async function runSome() {
  if (/(^|[\s/])(kube|charts|release|spec|attacks)\b/.test(only)) await bringBuilt();
  await runJest('others', [`--testPathPatterns=dist/test/${inside}`, `--maxWorkers=${cores}`]);
  await runKubernetes();
}

function runKubernetes() {
  return runJest('kubernetes', [
    '--config=jest.kubernetes.config.js',
    '--runInBand',
    `--testPathPatterns=dist/test/${inside}.*\\.component\\.test\\.js$`,
  ]);
}

function bringBuilt() {
  const run = spawn('sh', [join(root, 'hack/components.sh'), '--built'], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return new Promise((resolve) => run.once('close', resolve));
}

function valueOf(option) {
  return (
    process.argv.find((argument) => argument.startsWith(`${option}=`))?.slice(option.length + 1) || undefined
  );
}

/** `test/kube/rules.component.test.ts`, `kube/rules` and `kube` are all understood. */
function pathPattern(path) {
  return path
    .replace(/^(\.\/)?(dist\/)?(test\/)?/, '')
    .replace(/\.[jt]s$/, '')
    .replaceAll('.', '\\.');
}

async function runJest(name, options) {
  const outputFile = join(results, `${name}.json`);
  console.log(`== ${name} tests ==`);
  const run = spawn(
    process.execPath,
    [
      '--no-warnings',
      '--enable-source-maps',
      join(root, 'node_modules/jest/bin/jest.js'),
      '--passWithNoTests',
      '--json',
      `--outputFile=${outputFile}`,
      ...options,
    ],
    {
      cwd: root,
      // The JSON that jest prints is in the file; stdout would repeat it.
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        FORCE_COLOR: '0',
        PAYMASTER_TEST_TIMES: timesFile,
        ...(isFast && { PAYMASTER_TEST_FAST: '1' }),
      },
    },
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

/** Writes `test-results/times.json`, slowest first, and prints what the folders and the slowest files took. */
function reportTimes() {
  const files = readFileSync(timesFile, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .map((row) => ({
      ...row,
      seconds: round(row.seconds),
      cpu: round(row.cpu),
      cores: round(row.cpu / row.seconds),
    }))
    .toSorted((a, b) => b.seconds - a.seconds);
  rmSync(timesFile);
  writeFileSync(join(results, 'times.json'), `${JSON.stringify(files, undefined, 1)}\n`);
  const folders = Map.groupBy(files, ({ file }) => file.split('/')[0]);
  const rows = [...folders].map(([folder, inIt]) => ({
    file: folder,
    seconds: sum(inIt, 'seconds'),
    cpu: sum(inIt, 'cpu'),
    ...starts(inIt),
  }));
  printTable(
    'Seconds by folder',
    rows.toSorted((a, b) => b.seconds - a.seconds),
  );
  printTable('The ten slowest files', files.slice(0, 10));
  const minutes = (milliseconds) => (milliseconds / 60_000).toFixed(1);
  const earlier = Number(process.env['PAYMASTER_CI_BEGAN'] ?? 0) * 1000;
  const tests = performance.now() - begun;
  const before = earlier === 0 ? '' : `install and build ${minutes(Date.now() - tests - earlier)}, `;
  console.log(
    `\nminutes: ${before}tests ${minutes(tests)}; processor minutes of tests: ${minutes(sum(files, 'cpu') * 1000)}; the machine was busy ${busyShare()} % of the time\n`,
  );
}

/** Of all processors, in percent: what ends outside of a file's time, such as the browser, is in no file's figure. */
function busyShare() {
  const now = processorTimes();
  const [all, idle] = [now.all - busyBefore.all, now.idle - busyBefore.idle];
  return all === 0 ? 0 : Math.round((100 * (all - idle)) / all);
}

function processorTimes() {
  const times = cpus().map((processor) => processor.times);
  return {
    all: times.flatMap(Object.values).reduce((total, time) => total + time, 0),
    idle: sum(times, 'idle'),
  };
}

function printTable(title, rows) {
  console.log(`\n${title} (wall, processor; starts of chains, PostgreSQL, API servers, standalones)`);
  for (const { file, seconds, cpu, chains, postgres, apiServers, standalones } of rows)
    console.log(
      `${String(Math.round(seconds)).padStart(6)} ${String(Math.round(cpu)).padStart(6)}  ${[chains, postgres, apiServers, standalones].join(' ')}  ${file}`,
    );
}

function starts(rows) {
  return Object.fromEntries(
    ['chains', 'postgres', 'apiServers', 'standalones'].map((kind) => [kind, sum(rows, kind)]),
  );
}

function sum(rows, member) {
  return rows.reduce((total, row) => total + row[member], 0);
}

function round(value) {
  return Math.round(value * 100) / 100;
}
