import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSqliteConfigStore } from '../../core/adapters/store/sqlite/configs.js';
import { openDatabase } from '../../core/adapters/store/sqlite/database.js';
import { createSqliteResourceStore } from '../../core/adapters/store/sqlite/resources.js';
import { createSqliteUsageStore } from '../../core/adapters/store/sqlite/usage.js';
import { hashToken } from '../../core/config/api-key.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import { silentLogger } from '../../core/log.js';
import type { Logger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import type { UsageStore } from '../../core/policy/usage-store.js';
import type { OrganisationSpec } from '../../core/resources/organisation.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { MasterKeys } from '../../core/secrets.js';
import type { EpochMs } from '../../core/units/time.js';
import { createDashboard } from '../../server/dashboard/dashboard.js';
import type { DashboardDeps } from '../../server/dashboard/deps.js';
import { createInstruments } from '../../server/ops/instruments.js';
import { aChain, aProfile, anAbi } from './resources.js';

/** A clock that ticks by itself as real ones do and can be moved. */
export type MovableClock = { now(): EpochMs; advance(ms: number): void };

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body; the text itself where it is no JSON. */
  readonly body: AnswerBody;
};

export type AnswerBody = {
  readonly statusCode: number;
  readonly message: string;
  readonly data: unknown;
};

export type CallOptions = {
  readonly token?: string | undefined;
  readonly key?: string | undefined;
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly raw?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The dashboard on a real port over the embedded stores in a directory of its own. */
export type DashboardHost = {
  readonly origin: string;
  readonly resources: ResourceStore;
  readonly configs: ConfigStore;
  readonly usage: UsageStore;
  readonly clock: MovableClock;
  readonly masterKeys: MasterKeys;
  /** Below `/api/v2/public/sdk`. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Any path of the server. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  stop(): Promise<void>;
};

export const prefix = '/api/v2/public/sdk';
export const acmeToken = 'acme-token-0123456789';
export const otherToken = 'other-token-0123456789';
export const chainId = 31337;
export const sponsorshipAddress = aProfile.addresses.sponsorship;

export const masterKeys: MasterKeys = {
  current: Buffer.alloc(32, 1),
  webhook: Buffer.alloc(32, 2),
};

/** Two organisations, `acme` and `other`, and one chain that offers versions 1.0.0, 1.1.0 and 2.0.0. */
export async function startDashboard(
  overrides: Partial<DashboardDeps> & { readonly log?: Logger } = {},
): Promise<DashboardHost> {
  const directory = mkdtempSync(join(tmpdir(), 'dashboard-'));
  const clock = movableClock();
  const db = openDatabase(join(directory, 'store.db'), { durability: 'process', exclusive: true });
  const resources = createSqliteResourceStore({ db, clock });
  const configs = createSqliteConfigStore({ db, clock });
  const usage = createSqliteUsageStore({
    path: join(directory, 'usage.db'),
    clock,
    log: silentLogger,
    durability: 'process',
  });
  await seed(resources);
  const dashboard = createDashboard({
    resources,
    configs,
    fundingMessages: usage,
    masterKeys,
    clock,
    log: silentLogger,
    instruments: createInstruments(noMetrics),
    // No operator runs beside most of these tests: a write asks once whether it has been programmed.
    programmedTimeoutMs: 0,
    ...overrides,
  });
  const server = createServer(dashboard).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const origin = `http://127.0.0.1:${portOf(server.address())}`;

  return {
    origin,
    resources,
    configs,
    usage,
    clock,
    masterKeys,
    call: (method, path, options) => call(`${origin}${prefix}${path}`, method, options),
    fetch: (path, init) => fetch(`${origin}${path}`, init),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await usage.stop();
      db.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export async function call(url: string, method: string, options: CallOptions = {}): Promise<Answer> {
  const { token, key, body, raw, headers = {} } = options;
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === undefined ? {} : { authToken: token }),
      ...(key === undefined ? {} : { apiKey: key }),
      ...(payload === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(payload === undefined ? {} : { body: payload }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: envelopeOf(text) };
}

/** Creates a paymaster of the organisation that the token belongs to. */
export async function createPaymaster(
  host: DashboardHost,
  { token = acmeToken, name = 'Shop' }: { readonly token?: string; readonly name?: string } = {},
): Promise<{ readonly token: string; readonly key: string; readonly paymasterId: string }> {
  const body = { name, type: 'HYBRID', chainId, version: '1.1.0' };
  const { body: answer, status } = await host.call('POST', '/paymaster', { token, body });
  const { apiKey, paymasterId } = recordOf(answer.data);
  if (status !== 200 || typeof apiKey !== 'string' || typeof paymasterId !== 'string')
    throw new Error(`no paymaster was created: ${status} ${answer.message}`);
  return { token, key: apiKey, paymasterId };
}

/** Fields of `data`; empty when it is no object. */
export function recordOf(data: unknown): Readonly<Record<string, unknown>> {
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? { ...data } : {};
}

export function recordsOf(data: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!Array.isArray(data)) throw new Error(`expected a list, got ${JSON.stringify(data)}`);
  return data.map(recordOf);
}

export const aContractBody = {
  name: 'NFT',
  address: '0x00000000000000000000000000000000000000C1',
  abi: anAbi,
  whitelistedMethods: ['mint'],
};

export const aLimitBody = {
  name: 'Daily',
  policyType: 'PAYMASTER_SA_LIMIT',
  policyData: {
    type: 'PAYMASTER',
    cycleDuration: { value: 3, unit: 'hour' },
    threshold: 10,
    thresholdType: 'COUNT',
  },
};

export const aWebhookBody = {
  name: 'Check',
  policyType: 'WEBHOOK',
  policyData: { url: 'https://rules.example.com/check' },
};

export const aDeploymentBody = { name: 'Deploy', policyType: 'WALLET_DEPLOYMENT', policyData: {} };

export async function applyOrganisation(
  resources: ResourceStore,
  name: string,
  spec: OrganisationSpec,
): Promise<void> {
  await resources.apply({ manager: 'platform', kind: 'Organisation', key: { name }, spec });
}

async function seed(resources: ResourceStore): Promise<void> {
  const profiles = ['1.0.0', '1.1.0', '2.0.0'].map((version) => ({ ...aProfile, version }));
  const { spec, metadata } = aChain({ profiles });
  await resources.apply({ manager: 'platform', kind: 'Chain', key: { name: metadata.name }, spec });
  for (const [namespace, token] of [
    ['acme', acmeToken],
    ['other', otherToken],
  ] as const)
    await applyOrganisation(resources, namespace, {
      namespace,
      tokens: [{ name: `${namespace}-ci`, sha256: hashToken(token) }],
    });
}

function movableClock(): MovableClock {
  let offset = 0;
  return {
    now: () => (Date.now() + offset) as EpochMs,
    advance: (ms) => {
      offset += ms;
    },
  };
}

function envelopeOf(text: string): AnswerBody {
  const value: unknown = text === '' ? {} : JSON.parse(text);
  const { statusCode, message, data } = recordOf(value);
  return {
    statusCode: typeof statusCode === 'number' ? statusCode : Number.NaN,
    message: typeof message === 'string' ? message : '',
    data,
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}
