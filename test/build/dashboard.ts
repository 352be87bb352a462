import { hashCredential } from '../../core/config/api-key.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import type { KeptTexts } from '../../core/usage/kept-texts.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { OrganisationSpec } from '../../core/resources/organisation.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { MasterKeys } from '../../core/secrets.js';
import type { EpochMs } from '../../core/units/time.js';
import { createDashboard } from '../../server/dashboard/dashboard.js';
import type { DashboardDeps } from '../../server/dashboard/deps.js';
import { createHttpServer } from '../../server/http/http-server.js';
import { createInstruments } from '../../server/ops/instruments.js';
import { masterKeys } from './operator.js';
import { aChain, aProfile, anAbi } from './resources.js';
import { worldsOfThisRun, type DashboardWorldOptions } from './world.js';

/** A clock that ticks by itself as real ones do and can be moved. */
export type MovableClock = { now(): EpochMs; advance(ms: number): void };

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body; the text itself where it is not JSON. */
  readonly body: AnswerBody;
};

export type AnswerBody = {
  readonly statusCode: number;
  readonly message: string;
  readonly data: unknown;
  readonly warnings?: readonly string[];
};

export type CallOptions = {
  readonly token?: string | undefined;
  readonly key?: string | undefined;
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly raw?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
};

export type DashboardOverrides = Partial<DashboardDeps>;
/** `operator`: whether an operator runs too; see {@link DashboardWorldOptions}. */
export type DashboardOptions = DashboardOverrides & Pick<DashboardWorldOptions, 'operator'>;

/** The dashboard on real ports over the stores of this run's mode, which no other test uses. */
export type DashboardHost = {
  /** Address of a replica: each read gives the next one. */
  readonly origin: string;
  readonly resources: ResourceStore;
  readonly configs: ConfigStore;
  readonly usage: UsageStore;
  readonly texts: KeptTexts;
  readonly clock: MovableClock;
  readonly masterKeys: MasterKeys;
  /** Below `/api/v2/public/sdk`. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Any path of the server. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** One more replica over the same stores; it stops with this host, if not earlier. */
  beside(overrides?: DashboardOverrides): Promise<DashboardHost>;
  stop(): Promise<void>;
};

/** Of every replica. */
export const sessionKey = Buffer.alloc(32, 3);
export const prefix = '/api/v2/public/sdk';
export const acmeToken = 'acme-token-0123456789';
export const otherToken = 'other-token-0123456789';
export const chainId = 31337;
export const sponsorshipAddress = aProfile.addresses.sponsorship;

/**
 * Two organisations, `acme` and `other`, and one chain that offers versions 1.0.0, 1.1.0 and 2.0.0. Calls go to each
 * replica in turn where the mode of this run has several.
 */
export async function startDashboard({
  operator,
  ...overrides
}: DashboardOptions = {}): Promise<DashboardHost> {
  const clock = movableClock();
  const world = await worldsOfThisRun().openDashboardWorld({
    clock,
    ...(operator === undefined ? {} : { operator }),
  });
  const started: Listening[] = [];
  const listenBeside = async (more: DashboardOverrides): Promise<Listening> => {
    const stores = await world.openReplica();
    const replica = await listen({
      ...stores,
      masterKeys,
      sessionKey: () => sessionKey,
      webhooks: { call: () => Promise.reject(new Error('no test of this file asks a webhook')) },
      clock,
      log: silentLogger,
      instruments: createInstruments(noMetrics),
      // No operator runs beside most of these tests: a write asks once whether it has been programmed.
      programmedTimeoutMs: 0,
      // Longer than a test may take, on a machine of any speed.
      abiPatienceMs: 600_000,
      ...more,
    });
    started.push(replica);
    return replica;
  };
  const hostOf = (replicas: readonly Listening[], stop: () => Promise<void>): DashboardHost => {
    let calls = 0;
    const next = (): string => {
      calls += 1;
      const replica = replicas[calls % replicas.length];
      if (replica === undefined) throw new Error('no replica runs');
      return replica.origin;
    };
    return {
      get origin() {
        return next();
      },
      resources: world.resources,
      configs: world.configs,
      usage: world.usage,
      texts: world.texts,
      clock,
      masterKeys,
      call: (method, path, options) => call(`${next()}${prefix}${path}`, method, options),
      fetch: (path, init) => fetch(`${next()}${path}`, init),
      beside: async (more = {}) => {
        const replica = await listenBeside(more);
        return hostOf([replica], () => replica.stop());
      },
      stop,
    };
  };
  const stop = async (): Promise<void> => {
    for (const replica of started) await replica.stop();
    await world.stop();
  };
  try {
    await seed(world.resources);
    while (started.length < world.replicas) await listenBeside(overrides);
  } catch (error) {
    await stop();
    throw error;
  }
  return hostOf([...started], stop);
}

type Listening = { readonly origin: string; stop(): Promise<void> };

async function listen(deps: DashboardDeps): Promise<Listening> {
  const server = createHttpServer(createDashboard(deps));
  const { port } = await server.listen(0, '127.0.0.1');
  return { origin: `http://127.0.0.1:${port}`, stop: () => server.stop(0) };
}

async function call(url: string, method: string, options: CallOptions = {}): Promise<Answer> {
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

/** Fields of `data`; empty when it is not an object. */
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
      tokens: [{ name: `${namespace}-ci`, sha256: hashCredential(token) }],
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
  const { statusCode, message, data, warnings } = recordOf(value);
  return {
    statusCode: typeof statusCode === 'number' ? statusCode : Number.NaN,
    message: typeof message === 'string' ? message : '',
    data,
    ...(Array.isArray(warnings) ? { warnings: warnings.map(String) } : {}),
  };
}
