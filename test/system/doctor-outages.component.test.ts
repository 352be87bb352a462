import { createServer as createHttp, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createChains } from '../../adapters/chain/chains.js';
import { createSqliteConfigStore } from '../../adapters/configs/sqlite/configs.js';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { parsePostgresUrl } from '../../adapters/postgres/address.js';
import { createStops } from '../../adapters/process/stops.js';
import { createSqliteResourceStore } from '../../adapters/resources/sqlite/resources.js';
import { loadSigners } from '../../adapters/signer/signers.js';
import { openDatabase } from '../../adapters/sqlite/database.js';
import { systemTimers, type Timers } from '../../adapters/timers.js';
import { DomainError } from '../../core/errors.js';
import { acceptedLossAnnotation } from '../../core/meta/meta.js';
import { createMemoryEpochMirror } from '../../core/usage/epoch.js';
import { hashCredential } from '../../core/config/api-key.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { createMemoryReports } from '../../core/reports/reports.js';
import type { CheckId } from '../../core/problems/checks.js';
import type { ProblemRecord } from '../../core/problems/render.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import { Settings } from '../../core/settings.js';
import type { EpochMs } from '../../core/units/time.js';
import { createOperator } from '../../operator/operator.js';
import { readLedgerSettings } from '../../server/ledger-settings.js';
import { createServer } from '../../server/server.js';
import { createUsageStore, openLedger } from '../../server/usage-store.js';
import { aDirectory } from '../adapters/usage/sqlite-usage.js';
import { aChain, anOrganisation, aPaymaster, aPolicy } from '../build/resources.js';
import { startDevChain, sponsorSignerKey, type DevChain } from '../chain/support/dev-chain.js';
import { paymaster } from '../support/paymaster.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { until } from '../support/until.js';

// `paymaster doctor` where a part that all share is away: operator and server on a real chain and a real PostgreSQL, whose clock is moved.

const version = '1.1.0';
const token = 'a-token-of-acme-0123456789';
const hourMs = 3_600_000;
const stops = createStops();
let devChain: DevChain;
let database: PostgresServer;
let node: Node;
let origin: string;
let folder: string;
let offsetMs = 0;
const clock = { now: () => (Date.now() + offsetMs) as EpochMs };
/** Makes periodic work due soon. */
const timers: Timers = { after: (ms, action) => systemTimers.after(Math.min(ms, 250), action) };
let resources: ResourceStore;
/** What the operator reads of the copies of the epochs. */
const usageEpochs = createMemoryEpochMirror();
let isApiServerAway = false;
/** Frozen: the store has confirmed nothing since. */
let confirmedAt: EpochMs | undefined;

beforeAll(async () => {
  devChain = await startDevChain();
  stops.add(() => devChain.stop());
  database = await startPostgres();
  stops.add(() => database.stop());
  node = await startNode(devChain.url);
  stops.add(() => node.stop());
  const directory = aDirectory();
  stops.add(() => directory.remove());
  folder = directory.path;
  writeFileSync(join(folder, 'token'), token);
  const db = openDatabase(join(folder, 'resources.sqlite'), { durability: 'process', exclusive: true });
  stops.add(() => db.close());
  resources = createSqliteResourceStore({ db, clock });
  const configs = createSqliteConfigStore({ db, clock });
  const ambient = { clock, log: silentLogger, metrics: noMetrics };
  const settings = {
    kind: 'postgres',
    address: parsePostgresUrl('url', await database.createDatabase()),
  } as const;
  const usageParts = createUsageStore(settings, { identity: 'one', ...ambient });
  stops.add(() => usageParts.usage.stop());
  const ledger = await openLedger(settings, readLedgerSettings(new Settings({})), ambient);
  stops.add(() => ledger.stop());
  const chains = createChains({ ...ambient, timeoutMs: 10_000 });
  stops.add(() => chains.stop());
  const environment = { PAYMASTER_SIGNER_KEY_DEV: sponsorSignerKey };
  const signers = await loadSigners({ environment, log: silentLogger });
  const reports = createMemoryReports({ clock, log: silentLogger });
  const common = { chains, signers, reports, clock, log: silentLogger };
  const masterKeys = { current: new Uint8Array(32).fill(1), webhook: new Uint8Array(32).fill(2) };
  const operator = createOperator({
    ...common,
    configs,
    resources,
    usageEpochs,
    masterKeys,
    connectionSecrets: { write: () => Promise.resolve('unchanged') },
    rpcUrlOf: () => '',
    metrics: createMetrics({ process: false }),
    timers,
  });
  const server = createServer({
    ...common,
    ...usageParts,
    configs: { ...configs, watch: watchOf(configs) },
    roles: ['rpc', 'dashboard'],
    webhooks: { call: () => Promise.resolve([]), stop: () => Promise.resolve() },
    dashboard: { resources: apiServer(resources), masterKeys, usage: usageParts.reading, ledger },
    metrics: createMetrics({ process: false }),
  });
  await applyAll();
  await operator.start();
  stops.add(() => operator.stop());
  stops.add(() => server.stop());
  const { port } = await server.listen(0, '127.0.0.1');
  origin = `http://127.0.0.1:${port}`;
});
afterAll(() => stops.run());

/** The resources as a dashboard has them from an API server, which may be away. */
const apiServer = (resources: ResourceStore): ResourceStore => ({
  ...resources,
  list: (...given) => (isApiServerAway ? Promise.reject(noAnswer()) : resources.list(...given)),
  page: (...given) => (isApiServerAway ? Promise.reject(noAnswer()) : resources.page(...given)),
});
const noAnswer = (): DomainError => new DomainError('UNAVAILABLE', 'the API server does not answer');

const watchOf =
  (configs: ConfigStore): ConfigStore['watch'] =>
  (...given) => {
    const watch = configs.watch(...given);
    return {
      ...watch,
      get synced() {
        return watch.synced;
      },
      confirmedAt: () => confirmedAt ?? watch.confirmedAt(),
    };
  };

async function applyAll(): Promise<void> {
  const { chainId, deployments } = devChain;
  const { layout, entryPoint, sponsorship, token: tokens, options } = devChain.profile(version);
  const profile = {
    version,
    layout,
    entryPoint,
    addresses: { sponsorship, ...(tokens === undefined ? {} : { token: tokens }) },
    signer: { file: 'dev' },
    defaultFunding: { address: deployments.defaultFunding, organisations: ['acme'] },
    options,
  };
  const { spec: chain } = aChain({
    chainId,
    rpc: { urls: [node.url] },
    confirmations: 0,
    profiles: [profile],
  });
  const { spec: organisation } = anOrganisation({
    tokens: [{ name: 'doctor', sha256: hashCredential(token) }],
  });
  const manager = 'manifests';
  const key = (name: string) => ({ namespace: 'acme', name });
  await resources.apply({ manager, kind: 'Chain', key: { name: 'dev' }, spec: chain });
  await resources.apply({ manager, kind: 'Organisation', key: { name: 'acme' }, spec: organisation });
  const { spec: shop } = aPaymaster({ chainId, defaultContractAction: 'Deny' });
  await resources.apply({ manager, kind: 'Paymaster', key: key('shop'), spec: shop });
  await resources.apply({ manager, kind: 'PaymasterPolicy', key: key('daily'), spec: aPolicy().spec });
}

type Node = { readonly url: string; mode: 'works' | 'keeps events back' | 'is away'; stop(): Promise<void> };

/** The node of the chain, which may fail as nodes do. */
async function startNode(target: string): Promise<Node> {
  const server = createHttp((request, response) => {
    const pass = async (): Promise<void> => {
      const body = await textOf(request);
      if (made.mode === 'is away') return void request.socket.destroy();
      if (made.mode === 'keeps events back' && body.includes('eth_getLogs'))
        return void response.writeHead(500).end('no');
      const answer = await fetch(target, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    };
    pass().catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const made: Node = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mode: 'works',
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return made;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

const asOrganisation = () =>
  paymaster(['doctor', '-o', 'json'], { PAYMASTER_URL: origin, PAYMASTER_TOKEN_FILE: join(folder, 'token') });
const asPlatform = () => paymaster(['doctor', '-o', 'json', '--data-dir', folder, '--readyz', origin], {});

async function found(ask: typeof asPlatform): Promise<readonly ProblemRecord[]> {
  const { out, error, status } = await ask();
  if (out === '') throw new Error(error);
  const { problems } = JSON.parse(out) as { readonly problems: readonly ProblemRecord[] };
  expect(status).toBe(problems.some(({ severity }) => severity !== 'note') ? 1 : 0);
  return problems;
}

async function finds(check: CheckId, ask: typeof asPlatform, isThere = true): Promise<void> {
  let last = '';
  await until(
    () => `${check} is ${isThere ? '' : 'not '}found in ${last}`,
    async () => {
      const problems = await found(ask);
      last = problems.map((each) => `${each.check} (${each.message})`).join(', ');
      return problems.some((each) => each.check === check) === isThere;
    },
  );
}

const isWell = async (): Promise<void> => {
  for (const ask of [asOrganisation, asPlatform])
    await until('all is well', async () => (await ask()).status === 0);
};

test('nothing is wrong at first', isWell);

test('a database that is away', async () => {
  await database.kill();
  await finds('database-away', asOrganisation);
  await finds('database-away', asPlatform);
  await database.start();
  await isWell();
});

test('a chain that is not followed', async () => {
  node.mode = 'keeps events back';
  await devChain.chain.request('anvil_mine', ['0x5']);
  await until('it is noticed', async () => {
    // Both go on together, so that neither clock is ahead.
    await skip(60_000);
    return (await found(asPlatform)).some(({ check }) => check === 'chain-not-followed');
  });
  await finds('chain-not-followed', asPlatform);
  node.mode = 'works';
  await finds('chain-not-followed', asPlatform, false);
});

test('a chain that is away', async () => {
  node.mode = 'is away';
  await finds('chain-away', asOrganisation);
  await finds('chain-away', asPlatform);
  expect(JSON.stringify(await found(asOrganisation))).not.toContain(node.url);
  node.mode = 'works';
  await finds('chain-away', asOrganisation, false);
});

test('an API server that is away', async () => {
  isApiServerAway = true;
  await finds('api-server-away', asPlatform);
  isApiServerAway = false;
  await finds('api-server-away', asPlatform, false);
});

test('a replica that is stale', async () => {
  confirmedAt = (clock.now() - 7 * hourMs) as EpochMs;
  await finds('stale-replica', asPlatform);
  confirmedAt = undefined;
  await finds('stale-replica', asPlatform, false);
});

test('usage that is lost, and a loss that was accepted until signing has begun again', async () => {
  const kept = { id: 'first', since: 0 as EpochMs, sequence: 0, longestExpiryMs: 7_200_000 };
  const lost = { ...kept, lostAt: 1 as EpochMs };
  const { chainId } = devChain;
  await usageEpochs.put(chainId, lost, undefined);
  for (const ask of [asOrganisation, asPlatform]) await finds('database-lost', ask);
  const chain = await resources.get('Chain', { name: 'dev' });
  const annotations = { [acceptedLossAnnotation]: 'first.1' };
  const accepting = { manager: 'manifests', kind: 'Chain', key: { name: 'dev' }, annotations } as const;
  await resources.apply({ ...accepting, spec: chain!.spec });
  for (const ask of [asOrganisation, asPlatform]) {
    await finds('loss-accepted', ask);
    await finds('database-lost', ask, false);
  }
  await usageEpochs.put(chainId, { ...kept, id: 'second' }, lost);
  for (const ask of [asOrganisation, asPlatform]) await finds('loss-accepted', ask, false);
});

/** Chain and services go on at a later time together. */
async function skip(ms: number): Promise<void> {
  await devChain.chain.request('evm_increaseTime', [ms / 1000]);
  await devChain.chain.request('evm_mine', []);
  offsetMs += ms;
}
