import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { measureBefore } from './before-part.js';
import { BenchProcess } from './child-process.js';
import { measureConsoles } from './consoles-part.js';
import { measureFailover } from './failover-part.js';
import { isMet, renderGoals, type Goal } from './goals.js';
import { measureKubernetes } from './kubernetes-part.js';
import { measureLedger } from './ledger-part.js';
import { measureWhatIf } from './what-if-part.js';
import { measureLedgerQuery } from './ledger-query-part.js';
import { parseOptions, type BenchOptions } from './options.js';
import { measureServers } from './servers-part.js';
import { measurePropagation } from './propagation-part.js';
import { measurePostgres } from './postgres-part.js';
import { measureRules } from './rules-part.js';
import { measureScale } from './scale-part.js';
import { measureSigners } from './signers-part.js';
import { measureStore } from './store-part.js';
import { measureTokens } from './tokens-part.js';
import { Load } from './subject-process.js';

/**
 * The bench of the sponsor path. One run, interleaved, the load in a separate process, every figure a median; prints
 * ratios and writes them to `bench-results/`. Never part of the tests: its figures depend on the machine, its ratios
 * less so.
 */
const options = parseOptions(process.argv.slice(2));
const results: Record<string, unknown> = {};
const goals: Goal[] = [];

// Processes that a part has started end with this process, but only if it exits by itself.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const load = new Load();
const signature = new BenchProcess('signature', 'servers/signature.js');
await signature.receive();
try {
  await runParts(options);
} finally {
  await Promise.all([load.stop(), signature.stop()]);
}

console.log(`\n${renderGoals(goals)}\n`);
mkdirSync('bench-results', { recursive: true });
const file = `bench-results/${new Date().toISOString().replace(/[:.]/g, '-')}.json`;
const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
const settings = { repeats: options.repeats, seconds: options.seconds, parts: [...options.parts] };
writeFileSync(file, JSON.stringify({ machine, settings, goals, results }, null, 2));
console.log(`written to ${file}`);
const missed = goals.filter((goal) => !isMet(goal));
if (missed.length > 0) {
  console.log(`not met: ${missed.map(({ name }) => name).join('; ')}`);
  process.exitCode = 1;
}

async function runParts({ parts }: BenchOptions): Promise<void> {
  if (parts.has('servers')) {
    const servers = await measureServers(options, load, signature);
    results['servers'] = servers;
    goals.push(...servers.goals);
  }
  if (parts.has('tokens')) {
    const tokens = await measureTokens(options, load);
    results['tokens'] = tokens;
    goals.push(...tokens.goals);
  }
  if (parts.has('signers')) {
    const signers = await measureSigners(options, load);
    results['signers'] = signers;
    goals.push(...signers.goals);
  }
  if (parts.has('scale')) {
    const scale = await measureScale(options, load);
    results['scale'] = scale;
    goals.push(...scale.goals);
  }
  if (parts.has('postgres')) {
    const postgres = await measurePostgres(options, load);
    results['postgres'] = postgres;
    goals.push(...postgres.goals);
  }
  if (parts.has('store')) {
    const store = await measureStore(options, load);
    results['store'] = store;
    goals.push(...store.goals);
  }
  if (parts.has('rules')) {
    const rules = await measureRules(options, load);
    results['rules'] = rules;
    goals.push(...rules.goals);
  }
  if (parts.has('ledger')) {
    const ledger = await measureLedger(options, load);
    results['ledger'] = ledger;
    goals.push(...ledger.goals);
  }
  if (parts.has('consoles')) {
    const consoles = await measureConsoles(options, load);
    results['consoles'] = consoles;
    goals.push(...consoles.goals);
  }
  if (parts.has('propagation')) {
    const propagation = await measurePropagation();
    results['propagation'] = propagation;
    goals.push(...propagation.goals);
  }
  if (parts.has('kube')) {
    const kubernetes = await measureKubernetes(options);
    results['kube'] = kubernetes;
    goals.push(...kubernetes.goals);
  }
  if (parts.has('ledger-query')) {
    const ledger = await measureLedgerQuery();
    results['ledger-query'] = ledger;
    goals.push(...ledger.goals);
  }
  if (parts.has('what-if')) {
    const whatIf = await measureWhatIf();
    results['what-if'] = whatIf;
    goals.push(...whatIf.goals);
  }
  if (parts.has('before')) {
    const before = await measureBefore(options, load);
    results['before'] = before;
    goals.push(...before.goals);
  }
  if (parts.has('failover')) {
    const failover = await measureFailover(options);
    results['failover'] = failover;
    goals.push(...failover.goals);
  }
}
