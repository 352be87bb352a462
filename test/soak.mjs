// `make soak`: what `make test` shortens or leaves out, at full length and with new random steps. Needs no cluster (`make e2e` does).
// Takes `--minutes=N`: begins with another file each time, and stops after that time; `--only=REGEX`: files whose path in dist/test matches.
import { spawn } from 'node:child_process';
import { appendFileSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const tests = join(root, 'dist/test');

/** What runs, in this order, each file alone. `files` are globs in dist/test; `config` is the configuration of jest where it is another. */
const parts = [
  {
    does: 'attackers and faults in turn: STEPS in memory, fewer in files and on PostgreSQL',
    files: ['adversary/*.component.test.js'],
  },
  {
    does: 'the same on the real EntryPoints: CHAIN_STEPS, and random operations on ours and theirs',
    files: ['adversary/chain/*.component.test.js'],
  },
  {
    does: 'limits, budgets and campaigns of every kind, RULE_STEPS',
    files: ['adversary/rules/*.component.test.js'],
  },
  {
    does: 'usage against its model: thousands of random histories, a hundred kills of PostgreSQL, races of replicas until they finish',
    files: ['adapters/usage/*.component.test.js'],
  },
  {
    does: 'copies of a store, both ledgers, and histories as tables, of many random installations',
    files: [
      'adapters/store/copy-store.component.test.js',
      'adapters/store/ledger/{postgres,sqlite}-ledger.component.test.js',
      'cli/random-histories.component.test.js',
    ],
  },
  {
    does: 'each attack on both stores, tenants on both planes, and how long others wait during a flood',
    files: ['attacks/*.component.test.js'],
  },
  {
    does: 'one process under load: ten minutes of kills while the ledger is compared with the chain, kills and deletions while it signs',
    files: ['system/{ledger-kills,kill-under-load,deletion-under-load}.component.test.js'],
  },
  {
    does: 'outages of the Kubernetes API, etcd and PostgreSQL, a minute each, under load without pauses; half an hour of kills for the ledger',
    files: ['kube/*.component.test.js'],
  },
];
/** The service document in Kubernetes mode: `make test` has few of its suites. */
const kubernetes = {
  does: 'the service document in Kubernetes mode, every suite',
  files: ['spec/*.component.test.js', 'kube/mode/*.component.test.js'],
  config: 'jest.kubernetes.config.js',
};
/** Files that ask whether this is the soak, or take new random steps in it, and are in no part above. */
const others = {
  does: 'tests that make test shortens or leaves out',
  files: globSync('**/*.test.js', {
    cwd: tests,
    exclude: (path) => /(^|\/)kube\/mode$|\.release\./.test(path),
  }).filter(asksForSoak),
};
/** What is no file of tests. */
const failover = {
  does: 'how soon a lost leader is replaced',
  name: 'bench failover',
  command: ['dist/test/bench/main.js', '--only', 'failover'],
};

const option = (name) => process.argv.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3);
const minutes = Number(option('minutes') ?? Infinity);
const only = new RegExp(option('only') ?? '');
const seed = Number(process.env.PAYMASTER_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
  console.error('error: --minutes and PAYMASTER_TEST_SEED must be numbers');
  process.exit(2);
}
const environment = {
  PAYMASTER_TEST_OUTAGE_SECONDS: '60',
  PAYMASTER_TEST_HISTORIES: '1000',
  ...process.env,
  PAYMASTER_TEST_SEED: String(seed),
  // Tests start programs of packages, such as the dev chain's.
  PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
  FORCE_COLOR: '0',
};
const results = join(root, 'test-results');
const log = join(results, 'soak.log');
rmSync(results, { recursive: true, force: true });
mkdirSync(results);

const named = new Map(
  [...parts, others, kubernetes]
    .flatMap(tasksOf)
    .toReversed()
    .map((task) => [task.key, task]),
);
const all = [...named.values()]
  .toReversed()
  .concat(failover)
  .filter(({ name }) => only.test(name));
if (all.length === 0) {
  console.error('error: no part of the soak has such a name');
  process.exit(2);
}
const first = minutes === Infinity ? 0 : seed % all.length;
const tasks = [...all.slice(first), ...all.slice(0, first)];
say(`soak: ${tasks.length} files; PAYMASTER_TEST_SEED=${seed} takes the same random steps again`);

const end = Date.now() + minutes * 60_000;
const outcomes = { passed: [], failed: [], stopped: [], 'not begun': [] };
for (const task of tasks) outcomes[Date.now() < end ? await run(task) : 'not begun'].push(task.name);

for (const [outcome, names] of Object.entries(outcomes))
  if (names.length > 0) say(`${names.length} ${outcome}: ${names.join(', ')}`);
if (outcomes.failed.length > 0)
  say(`again: make soak PAYMASTER_TEST_SEED=${seed} ONLY='${outcomes.failed.join('|')}'`);
process.exit(outcomes.failed.length > 0 ? 1 : 0);

function tasksOf({ does, files, config }) {
  const found = files.flatMap((glob) => globSync(glob, { cwd: tests }).toSorted());
  return found.map((file) => {
    const name = file.slice(0, -'.js'.length);
    const command = [
      'node_modules/jest/bin/jest.js',
      '--runInBand',
      // Its configuration may leave the file out.
      '--passWithNoTests',
      '--json',
      `--outputFile=${join(results, `${name.replaceAll('/', '-')}.json`)}`,
      `--testPathPatterns=/dist/test/${name.replaceAll('.', '\\.')}\\.js$`,
      ...(config === undefined ? [] : [`--config=${config}`]),
    ];
    return { does, name, command, key: `${name} ${config ?? ''}` };
  });
}

function asksForSoak(file) {
  return /support\/(soak-seconds|test-of-soak|property)\.js/.test(readFileSync(join(tests, file), 'utf8'));
}

/** Resolves with the outcome. What runs when the time is over is stopped with all that it started. */
async function run({ does, name, command }) {
  say(`== ${name}: ${does}`);
  const begun = Date.now();
  const child = spawn(process.execPath, ['--no-warnings', '--enable-source-maps', ...command], {
    cwd: root,
    // A group of its own, so that its processes get the signal, too.
    detached: true,
    // What jest writes to stdout is in its file.
    stdio: ['ignore', command.includes('--json') ? 'ignore' : 'inherit', 'pipe'],
    env: environment,
  });
  child.stderr.on('data', (chunk) => {
    process.stderr.write(chunk);
    appendFileSync(log, chunk);
  });
  let isOver = false;
  const stop = (signal) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // It has ended.
    }
  };
  const timers =
    minutes === Infinity
      ? []
      : [
          setTimeout(() => {
            isOver = true;
            stop('SIGINT');
          }, end - Date.now()),
          setTimeout(() => stop('SIGKILL'), end - Date.now() + 60_000),
        ];
  const interrupt = () => {
    stop('SIGINT');
    process.exit(130);
  };
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  const ended = await new Promise((resolve) => {
    child.once('error', resolve);
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  timers.forEach(clearTimeout);
  process.off('SIGINT', interrupt);
  process.off('SIGTERM', interrupt);
  const outcome = ended === 0 ? 'passed' : isOver ? 'stopped' : 'failed';
  say(`== ${name}: ${outcome} after ${Math.round((Date.now() - begun) / 1000)} s (seed ${seed})`);
  return outcome;
}

function say(line) {
  console.log(line);
  appendFileSync(log, `${line}\n`);
}
