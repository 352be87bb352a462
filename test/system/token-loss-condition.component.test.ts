import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { loadSigners } from '../../adapters/signer/signers.js';
import { createStops } from '../../adapters/process/stops.js';
import { createSqliteConfigStore } from '../../adapters/configs/sqlite/configs.js';
import { openDatabase } from '../../adapters/sqlite/database.js';
import { createSqliteResourceStore } from '../../adapters/resources/sqlite/resources.js';
import { createSqliteUsageStore } from '../../adapters/store/sqlite/usage.js';
import { deriveApiKey, hashCredential } from '../../core/config/api-key.js';
import { silentLogger } from '../../core/log.js';
import { createMemoryReports } from '../../core/reports/reports.js';
import type { ProblemRecord } from '../../core/problems/render.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { EpochMs } from '../../core/units/time.js';
import { createOperator } from '../../operator/operator.js';
import { systemTimers, type Timers } from '../../adapters/timers.js';
import { createServer } from '../../server/server.js';
import { startDevChain, sponsorSignerKey, type DevChain } from '../chain/support/dev-chain.js';
import { aChain, aFeeToken, anOrganisation, aPaymaster } from '../build/resources.js';
import { paymaster } from '../support/paymaster.js';
import { until } from '../support/until.js';
import { aDirectory } from '../adapters/usage/sqlite-usage.js';
import { tokenPayers } from './support/token-payer.js';

// Operator and server of the standalone command on a real chain, with a clock that reaches the end of the day in time.

const version = 'singleton-0.7';
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const patienceMs = 240_000;
const authToken = 'a-token-of-acme-0123456789';
const master = new Uint8Array(32).fill(1);

const stops = createStops();
let devChain: DevChain;
let resources: ResourceStore;
let origin: string;
let rpcUrl: string;
let tokenFile: string;
let offsetMs = 0;
const clock = { now: () => (Date.now() + offsetMs) as EpochMs };
/** Makes the operator's periodic work due soon, while the clock decides the day. */
const timers: Timers = { after: (ms, action) => systemTimers.after(Math.min(ms, 250), action) };

beforeAll(async () => {
  devChain = await startDevChain();
  stops.add(() => devChain.stop());
  // Noon: neither the day nor its bar ends by itself while this runs.
  await skip(dayMs - (clock.now() % dayMs) + 12 * hourMs);
  const directory = aDirectory();
  stops.add(() => directory.remove());
  tokenFile = `${directory.path}/token`;
  writeFileSync(tokenFile, authToken);
  const db = openDatabase(`${directory.path}/store.db`, { durability: 'process', exclusive: true });
  stops.add(() => db.close());
  resources = createSqliteResourceStore({ db, clock });
  const configs = createSqliteConfigStore({ db, clock });
  const usage = createSqliteUsageStore({
    path: `${directory.path}/usage.db`,
    clock,
    log: silentLogger,
    durability: 'process',
  });
  stops.add(() => usage.stop());
  const { chains } = devChain;
  const signers = await loadSigners({
    environment: { PAYMASTER_SIGNER_KEY_DEV: sponsorSignerKey },
    log: silentLogger,
  });
  const reports = createMemoryReports({ clock, log: silentLogger });
  const common = { configs, chains, signers, reports, clock, log: silentLogger };
  const operator = createOperator({
    ...common,
    resources,
    masterKeys: { current: master, webhook: master },
    connectionSecrets: { write: () => Promise.resolve('unchanged') },
    rpcUrlOf: () => '',
    metrics: createMetrics({ process: false }),
    timers,
  });
  const server = createServer({
    ...common,
    roles: ['rpc', 'dashboard'],
    usage,
    texts: usage.texts,
    webhooks: { call: () => Promise.resolve([]), stop: () => Promise.resolve() },
    dashboard: { resources, masterKeys: { current: master, webhook: master } },
    metrics: createMetrics({ process: false }),
  });
  await apply('0.1');
  await operator.start();
  stops.add(() => operator.stop());
  stops.add(() => server.stop());
  const { port } = await server.listen(0, '127.0.0.1');
  const apiKey = deriveApiKey(master, { namespace: 'acme', name: 'shop', keyGeneration: 1 });
  origin = `http://127.0.0.1:${port}`;
  rpcUrl = `${origin}/api/v1/${devChain.chainId}/${apiKey}`;
});
afterAll(() => stops.run());

test('a token payment that was mined without paying stops token mode and is shown until its day has ended', async () => {
  const payers = tokenPayers(devChain, version, rpcUrl);
  const reasonFor = async (account: typeof honest) => (await payers.ask(account)).error?.data?.['reason'];
  const honest = await payers.newAccount();
  const thief = await payers.newAccount();
  const refusedFor = async (account: typeof honest, reason: string | undefined, what: string) => {
    let found: unknown;
    const check = async (): Promise<boolean> => (found = await reasonFor(account)) === reason;
    await until(() => `${what}, refused for ${String(found)}`, check, patienceMs);
  };
  const taken = (account: typeof honest, what: string) => refusedFor(account, undefined, what);
  await taken(honest, 'token payments are taken');
  await becomes('False', 'WithinBudget');
  expect(await foundByDoctor()).not.toContain('token-loss');
  for (const account of [honest, thief]) expect((await payers.pay(account)).success).toBe(true);
  await taken(thief, 'the thief is trusted');

  await payers.cheat(thief);
  await refusedFor(thief, 'SENDER_BARRED', 'the thief is barred');
  await apply('0');
  await becomes('True', 'BudgetLow');
  expect(await foundByDoctor()).toContain('token-loss');
  expect(await reasonFor(honest)).toBe('TOKEN_LOSS');

  await skip(12 * hourMs);
  await becomes('False', 'WithinBudget');
  // Of nothing nothing can be lost: payments that may not come are not signed at all.
  await refusedFor(honest, 'TOKEN_EXPOSURE_FULL', 'unsecured payments wait');
  await apply('0.1');
  await taken(honest, 'they are taken again');
  expect((await payers.pay(honest)).success).toBe(true);
  // The bar of an account outlasts the day.
  expect(await reasonFor(thief)).toBe('SENDER_BARRED');
});

/** Chain and services go on at a later time together. */
async function skip(ms: number): Promise<void> {
  await devChain.chain.request('evm_increaseTime', [Math.ceil(ms / 1000)]);
  await devChain.chain.request('evm_mine', []);
  offsetMs += ms;
}

async function becomes(status: string, reason: string): Promise<void> {
  await until(
    `TokenLoss is ${status}`,
    async () => {
      const chain = await resources.get('Chain', { name: 'dev' });
      const condition = chain?.status?.conditions?.find(({ type }) => type === 'TokenLoss');
      return condition?.status === status && condition.reason === reason;
    },
    patienceMs,
  );
}

/** What the command lists, of the endpoint behind the console's page. */
async function foundByDoctor(): Promise<readonly string[]> {
  const { out } = await paymaster(['doctor', '-o', 'json'], {
    PAYMASTER_URL: origin,
    PAYMASTER_TOKEN_FILE: tokenFile,
  });
  const { problems } = JSON.parse(out) as { readonly problems: readonly ProblemRecord[] };
  return problems.map(({ check }) => check);
}

async function apply(tokenLossBudget: string): Promise<void> {
  const { feeToken, defaultFunding } = devChain.deployments;
  const { layout, entryPoint, sponsorship, token, options } = devChain.profile(version);
  if (token === undefined) throw new Error(`${version} has no token contract`);
  const profile = {
    version,
    layout,
    entryPoint,
    addresses: { sponsorship, token },
    signer: { file: 'dev' },
    defaultFunding: { address: defaultFunding, organisations: ['*'] },
    options,
    tokenLossBudget,
  };
  const { chainId, url } = devChain;
  const chain = aChain({ chainId, rpc: { urls: [url] }, confirmations: 0, profiles: [profile] });
  const manager = 'manifests';
  await resources.apply({ manager, kind: 'Chain', key: { name: 'dev' }, spec: chain.spec });
  const tokenSpec = aFeeToken({ chainId, ...feeToken }).spec;
  await resources.apply({ manager, kind: 'FeeToken', key: { name: 'dusd' }, spec: tokenSpec });
  const { spec } = anOrganisation({ tokens: [{ name: 'doctor', sha256: hashCredential(authToken) }] });
  await resources.apply({ manager, kind: 'Organisation', key: { name: 'acme' }, spec });
  const key = { namespace: 'acme', name: 'shop' };
  await resources.apply({ manager, kind: 'Paymaster', key, spec: aPaymaster({ chainId, version }).spec });
}
