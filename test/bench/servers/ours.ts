import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { computeAddress } from 'ethers';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { loadSigners } from '../../../adapters/signer/signers.js';
import { createSqliteResourceStore } from '../../../adapters/resources/sqlite/resources.js';
import { createSqliteConfigStore } from '../../../adapters/configs/sqlite/configs.js';
import { openDatabase, openReader } from '../../../adapters/sqlite/database.js';
import { createWebhookCaller } from '../../../adapters/webhook/webhook-caller.js';
import { CallReverted, type Chain, type Chains } from '../../../core/chain/chain.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { silentLogger } from '../../../core/log.js';
import { tokenAccountCall } from '../../../core/paymaster/abi.js';
import { toTrial } from '../../../core/paymaster/token-payment.js';
import { pass } from '../../../core/refusal.js';
import { given } from '../../../core/units/given.js';
import type { Hex } from '../../../core/units/hex.js';
import type { Metrics } from '../../../core/metrics.js';
import { systemClock, toSeconds, type EpochMs } from '../../../core/units/time.js';
import { createServer } from '../../../server/server.js';
import { benchChainConfig, benchPaymasterConfig } from '../configs.js';
import { publicKeyOf } from '../../fakes/signers/web3signer.js';
import { remoteKey, signerKey } from '../fixture.js';
import { deniedList, pricedChain, rulesOf } from '../rules.js';
import { reportSubject } from './subject.js';
import { ownedByConsole, seedConsole } from './dashboard.js';
import { keepLedger, openLedger } from './ledger.js';
import { fillBalances, openEmbeddedUsage, openPostgresUsage, usageFile } from './usage.js';

/**
 * (c) Ours: the real server in the rpc role, on the embedded stores or with its usage in the PostgreSQL at `--postgres`, with
 * authentication, validation, whitelist, spending limits, deposit and metrics. Only the chain is missing: heads are
 * given, and every call to it is counted.
 */
const { values } = parseArgs({
  options: {
    paymasters: { type: 'string', default: '10' },
    limits: { type: 'string', default: '2' },
    wallets: { type: 'string', default: 'own' },
    tokens: { type: 'string', default: '0' },
    postgres: { type: 'string' },
    // Port of a remote signer, which signs for the second half of the paymasters.
    remote: { type: 'string' },
    ledger: { type: 'boolean', default: false },
    // `within`: this process serves the console, too. `alone`: it does nothing else. `elsewhere`: another process does.
    dashboard: { type: 'string' },
    // Instead of the limits: rules of every kind.
    rules: { type: 'boolean', default: false },
    // Of the embedded store: `power` syncs each commit.
    durability: { type: 'string', default: 'process' },
    // Configs are of one generation, and limits count in one cycle, where this is the same.
    madeAt: { type: 'string', default: String(systemClock.now()) },
  },
});
const paymasters = Number(values.paymasters);
const shape = {
  limits: Number(values.limits),
  wallets: values.wallets === 'shared' ? 'shared' : 'own',
} as const;

const directory = mkdtempSync(join(tmpdir(), 'paymaster-bench-'));
const metrics = createMetrics();
const clock = systemClock;
const log = silentLogger;

const db = openDatabase(join(directory, 'configs.db'), { durability: 'process' });
const madeAt = Number(values.madeAt) as EpochMs;
const configs = createSqliteConfigStore({ db, clock: { ...clock, now: () => madeAt } });
const chainConfig = benchChainConfig(Number(values.tokens));
const [profile] = chainConfig.profiles;
if (profile === undefined) throw new Error('the chain of the bench has a profile');
if (values.rules) await configs.putList(deniedList);
await configs.putChain({
  ...chainConfig,
  ...(values.rules ? pricedChain : {}),
  profiles: [
    profile,
    ...(values.remote === undefined ? [] : [{ ...profile, version: 'remote', signerFile: 'remote' }]),
  ],
});
const owned: PaymasterConfig[] = [];
for (let index = 0; index < paymasters; index += 1) {
  const plain = benchPaymasterConfig(index, shape, madeAt);
  const ruled = values.rules ? { ...plain, ...rulesOf(plain.paymasterId, madeAt) } : plain;
  const config = values.dashboard === undefined ? ruled : ownedByConsole(ruled);
  owned.push(config);
  const isRemote = values.remote !== undefined && index >= paymasters / 2;
  await configs.putPaymaster(isRemote ? { ...config, version: 'remote' } : config);
}

const store = { commits: 0 };
const counting = countingCommits(metrics, store);
const usage =
  values.postgres === undefined
    ? openEmbeddedUsage(directory, counting, values.durability === 'power' ? 'power' : 'process')
    : await openPostgresUsage(values.postgres, { identity: `replica-${process.pid}`, metrics: counting });
await fillBalances(usage, paymasters, shape);

const chain = { calls: 0 };
const masterKeys = { current: new Uint8Array(32), webhook: new Uint8Array(32) };
const webhooks = createWebhookCaller({ masterKeys, clock, log, metrics });
const dashboard =
  values.dashboard === 'alone' || values.dashboard === 'within' ? await openDashboard() : undefined;
const server = createServer({
  roles:
    values.dashboard === 'alone' ? ['dashboard'] : dashboard === undefined ? ['rpc'] : ['rpc', 'dashboard'],
  ...given({ dashboard, texts: dashboard && usage.texts }),
  configs,
  usage,
  chains: countingChains(chain),
  signers: await loadSigners({
    environment: {
      PAYMASTER_SIGNER_KEY_BENCH: signerKey,
      ...(values.remote === undefined ? {} : { PAYMASTER_SIGNER_KEY_REMOTE: remoteText(values.remote) }),
    },
    log,
  }),
  webhooks,
  // The bench does not measure the node's part of a simulation, only the signing of its trial.
  payments: {
    async check({ codec, op, terms, sign }) {
      const trial = toTrial(op, terms);
      const item = codec.toSign(codec.hash(trial.op, trial.terms), trial.op, trial.terms);
      codec.encode(trial.op, trial.terms, await sign(item));
      codec.maxTokenCharge(op, terms);
      return pass;
    },
    ground: () => Promise.resolve({ block: 0, receivers: [] }),
    holdings: () => Promise.resolve({ balance: 0n, allowance: 0n }),
  },
  heads: {
    get: () => {
      const now = clock.now();
      const fees = { baseFeePerGas: 1_000_000_000n, priorityFeePerGas: 1_000_000_000n };
      return { number: 1, timestamp: toSeconds(now), ...fees, observedAt: now };
    },
  },
  ...(values.ledger ? { ledger: usage.ledger } : {}),
  clock,
  log,
  metrics,
});
const keeping =
  values.ledger && values.dashboard !== 'alone' ? await keepLedger(values.postgres ?? directory) : undefined;
const { port } = await server.listen(0, '127.0.0.1');

reportSubject(port, {
  counts: () => ({
    chainCalls: chain.calls,
    storeCommits: store.commits,
  }),
  ledgerBytes: () => (values.postgres === undefined ? ledgerBytesIn(usageFile(directory)) : 0),
  stop: async () => {
    await server.stop();
    await dashboard?.ledger.stop();
    await keeping?.stop();
    await webhooks.stop();
    await usage.stop();
    db.close();
    rmSync(directory, { recursive: true });
  },
});

async function openDashboard() {
  const resources = createSqliteResourceStore({ db, clock });
  await seedConsole(resources, owned);
  return { resources, masterKeys, ledger: await openLedger(values.postgres ?? directory) };
}

function remoteText(signerPort: string): string {
  const url = `http://127.0.0.1:${signerPort}`;
  return JSON.stringify({
    kind: 'web3signer',
    url,
    publicKey: publicKeyOf(remoteKey),
    address: computeAddress(remoteKey),
  });
}

/** What tables and indexes of the ledger take, the log of commits apart. */
function ledgerBytesIn(path: string): number {
  const reader = openReader(path);
  const [row] = reader.sql
    .prepare(`SELECT sum(pgsize) AS bytes FROM dbstat WHERE aggregate = TRUE AND name GLOB '*ledger_*'`)
    .all();
  reader.close();
  return Number(row?.['bytes']);
}

/** The same metrics, plus the number of commits of the usage store. */
function countingCommits(metrics: Metrics, count: { commits: number }): Metrics {
  return {
    ...metrics,
    counter: (options) => {
      const counter = metrics.counter(options);
      if (options.name !== 'paymaster_usage_commits_total') return counter;
      return {
        with: (labels) => {
          const bound = counter.with(labels);
          const inc = (by?: number) => {
            count.commits += by ?? 1;
            bound.inc(by);
          };
          return { inc };
        },
      };
    },
  };
}

/**
 * A chain that cannot be reached and counts the attempts. It only answers questions that are asked once and not per request: a
 * token's symbol, and that the contract keeps no balances for token mode.
 */
function countingChains(count: { calls: number }): Chains {
  const refuse = () => {
    count.calls += 1;
    return Promise.reject(new Error('the bench has no chain'));
  };
  const facts = new Map<string, Hex>([
    ['0x95d89b41', `0x${Buffer.from('USDC').toString('hex').padEnd(64, '0')}`],
    ['0x313ce567', `0x${'6'.padStart(64, '0')}`],
  ]);
  const unreachable: Chain = {
    chainId: refuse,
    block: refuse,
    call: ({ data }) => {
      const fact = facts.get(data);
      if (fact !== undefined) return Promise.resolve(fact);
      return data === tokenAccountCall ? Promise.reject(new CallReverted('0x', 'no such view')) : refuse();
    },
    code: refuse,
    balance: refuse,
    logs: refuse,
    priorityFee: refuse,
    transaction: refuse,
    words: refuse,
    request: refuse,
    stop: () => Promise.resolve(),
  };
  return { get: () => unreachable, stop: () => Promise.resolve() };
}
