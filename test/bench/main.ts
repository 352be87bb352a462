import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { measureBefore } from './before-part.js';
import { BenchProcess } from './child-process.js';
import { measureConsoles } from './consoles-part.js';
import { measureDurable } from './durable-part.js';
import { measureFailover } from './failover-part.js';
import { isAboutErrors, isMet, renderGoals, type Goal } from './goals.js';
import { measureKubernetes } from './kubernetes-part.js';
import { measureLedger } from './ledger-part.js';
import { measureWhatIf } from './what-if-part.js';
import { measureLedgerQuery } from './ledger-query-part.js';
import { parseOptions, type Part } from './options.js';
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
const failed: Part[] = [];

// Processes that a part has started end with this process, but only if it exits by itself.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const load = new Load();
const signature = new BenchProcess('signature', 'servers/signature.js');
await signature.receive();

const measures: Readonly<Record<Part, () => Promise<{ readonly goals: readonly Goal[] }>>> = {
  servers: () => measureServers(options, load, signature),
  durable: () => measureDurable(options, load),
  tokens: () => measureTokens(options, load),
  signers: () => measureSigners(options, load),
  scale: () => measureScale(options, load),
  postgres: () => measurePostgres(options, load),
  store: () => measureStore(options, load),
  rules: () => measureRules(options, load),
  ledger: () => measureLedger(options, load),
  'ledger-query': () => measureLedgerQuery(options),
  'what-if': () => measureWhatIf(options),
  consoles: () => measureConsoles(options, load),
  propagation: () => measurePropagation(options),
  kube: () => measureKubernetes(options),
  failover: () => measureFailover(options),
  before: () => measureBefore(options, load),
};

for (const part of options.parts) {
  const begun = performance.now();
  try {
    const result = await measures[part]();
    results[part] = result;
    goals.push(...result.goals);
  } catch (error) {
    // The figures of the other parts took half an hour.
    console.error(`${part} failed:`, error);
    failed.push(part);
  }
  console.log(`${part}: ${((performance.now() - begun) / 1000).toFixed(0)} s`);
}
await Promise.all([load.stop(), signature.stop()]);

console.log(`\n${renderGoals(goals)}\n`);
mkdirSync('bench-results', { recursive: true });
const file = `bench-results/${new Date().toISOString().replace(/[:.]/g, '-')}.json`;
const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
const { repeats, seconds, parts, isShort } = options;
const settings = { repeats, seconds, parts, isShort };
writeFileSync(file, JSON.stringify({ machine, settings, goals, results, failed }, null, 2));
console.log(`written to ${file}`);
const judged = isShort ? goals.filter(isAboutErrors) : goals;
const missed = judged.filter((goal) => !isMet(goal)).map(({ name }) => name);
if (missed.length > 0) console.log(`not met: ${missed.join('; ')}`);
if (failed.length > 0) console.log(`failed: ${failed.join(', ')}`);
process.exitCode = missed.length + failed.length > 0 ? 1 : 0;
