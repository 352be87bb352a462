import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { computeAddress } from 'ethers';
import { createChains } from '../../adapters/chain/chains.js';
import { createGasEstimator } from '../../adapters/estimator/estimator.js';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { parsePostgresUrl } from '../../adapters/postgres/address.js';
import { loadSigners } from '../../adapters/signer/signers.js';
import { errorCodes } from '../../core/error-codes.js';
import { errorReasons } from '../../core/error-reasons.js';
import { silentLogger, type Logger } from '../../core/log.js';
import { refusals } from '../../core/refusal.js';
import { systemClock } from '../../core/units/time.js';
import { renderError } from '../../server/dashboard/errors.js';
import { createUsageStore } from '../../server/usage-store.js';
import { aChainConfig, someApiKey, someToken } from '../build/configs.js';
import { anOperation, sponsored } from '../build/operations.js';
import { startRpc, type RpcHost, type RpcHostOptions } from '../build/rpc.js';
import { publicKeyOf } from '../fakes/signers/web3signer.js';
import { freePort } from '../support/cluster/free-port.js';
import { query, sharedPostgres, type SharedPostgres } from '../support/postgres.js';
import { until } from '../support/until.js';

// Somebody who knows an apiKey, or nothing at all, asks while a dependency is down. Wallets were told the database's name, address and SQLSTATE.

/** Every text about a failed dependency that anyone may read. Whatever else an answer says is a leak. */
const allowedTexts = new Set([
  errorCodes.UNAVAILABLE.rest.message,
  ...Object.values<{ readonly text: string; readonly remedy?: string }>({
    ...errorReasons,
    SENDERS_UNKNOWN: { text: refusals.SENDERS_UNKNOWN.text },
  }).map(({ text, remedy }) => (remedy === undefined ? text : `${text} ${remedy}`)),
]);
const allowedReasons = new Set(['UNAVAILABLE', 'SENDERS_UNKNOWN', ...Object.keys(errorReasons)]);

const nodeKey = 'k3y0fTheNode77';
const signerKey = `0x${'6b'.repeat(32)}`;
let postgres: SharedPostgres;
let deadPort: number;
let host: RpcHost | undefined;
const stops: (() => unknown)[] = [];

beforeAll(async () => {
  postgres = await sharedPostgres();
  deadPort = await freePort();
  await query(
    postgres.url,
    `DO $$ BEGIN CREATE ROLE ledgerkeeper LOGIN PASSWORD 'right';
    EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
  );
  return () => postgres.stop();
});
afterEach(async () => {
  await host?.stop();
  host = undefined;
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** The server's parts with a usage store at `url`, and what the log was told of it. */
function usageAt(url: string): { readonly parts: RpcHostOptions['parts']; readonly logged: () => string } {
  const lines: unknown[] = [];
  const { usage } = createUsageStore(
    { kind: 'postgres', address: parsePostgresUrl('url', url) },
    {
      identity: 'attacked',
      clock: systemClock,
      log: keep(lines),
      metrics: createMetrics({ process: false }),
    },
  );
  stops.push(() => usage.stop());
  return { parts: { usage, log: keep(lines) }, logged: () => lines.map(String).join('\n') };
}

function keep(lines: unknown[]): Logger {
  const add = (message: string, fields: object = {}) =>
    void lines.push(message, ...Object.values(fields).flatMap(causes));
  const log: Logger = { ...silentLogger, info: add, warn: add, error: add, child: () => log };
  return log;
}

function causes(value: unknown): unknown[] {
  return value instanceof Error ? [value.message, ...causes(value.cause)] : [value];
}

type Fault = {
  readonly name: string;
  /** What no answer may hold. */
  readonly secrets: () => readonly (string | RegExp)[];
  readonly arrange: () => Promise<RpcHostOptions> | RpcHostOptions;
};

let logged: () => string = () => '';
const withUsage = async (url: string): Promise<RpcHostOptions> => {
  const { parts, logged: read } = usageAt(url);
  logged = read;
  await until('the store was tried', () => logged().includes('usage store is not connected'));
  return { parts: parts ?? {} };
};
const sqlState = /\b(?:3D000|28P01|28000|08\w{3}|57P03)\b|SQLSTATE/;

/** Of a node; the names of ours are public. */
const nodeMethod =
  /eth_(?!chainId|supportedEntryPoints|sendUserOperation|estimateUserOperationGas|getUserOperation)/;

const faults: readonly Fault[] = [
  {
    name: 'the database is down',
    secrets: () => ['127.0.0.1', String(deadPort), 'acme_vault', 'ledgerkeeper', 'ECONNREFUSED'],
    arrange: () => withUsage(`postgresql://ledgerkeeper@127.0.0.1:${deadPort}/acme_vault?sslmode=disable`),
  },
  {
    name: 'the name of the database is wrong',
    secrets: () => ['127.0.0.1', String(postgres.port), 'promisse', sqlState],
    arrange: () => withUsage(`postgresql://postgres@127.0.0.1:${postgres.port}/promisse?sslmode=disable`),
  },
  {
    name: 'the password is wrong',
    secrets: () => ['127.0.0.1', String(postgres.port), 'ledgerkeeper', 'wr0ng', sqlState],
    arrange: () =>
      withUsage(`postgresql://ledgerkeeper:wr0ng@127.0.0.1:${postgres.port}/postgres?sslmode=disable`),
  },
  {
    name: 'the database does not speak TLS',
    secrets: () => ['127.0.0.1', String(postgres.port), 'SSL'],
    arrange: () => withUsage(`postgresql://postgres@127.0.0.1:${postgres.port}/postgres`),
  },
  {
    name: 'the node of the chain is down',
    secrets: () => ['127.0.0.1', String(deadPort), nodeKey, 'http:', 'ECONNREFUSED', nodeMethod],
    arrange: () => {
      const log = silentLogger;
      const metrics = createMetrics({ process: false });
      const chains = createChains({ clock: systemClock, log, metrics, timeoutMs: 2_000 });
      stops.push(() => chains.stop());
      const rpc = { urls: [`http://user:${nodeKey}@127.0.0.1:${deadPort}/v2/${nodeKey}`] };
      const estimator = createGasEstimator({
        chains,
        endpoint: () => aChainConfig({ rpc }),
        clock: systemClock,
        log,
      });
      return { chain: { rpc }, parts: { estimator } };
    },
  },
  {
    name: 'the remote signer is down',
    secrets: () => ['127.0.0.1', String(deadPort), 'http:', 'ECONNREFUSED', 'web3signer'],
    arrange: async () => {
      const text = `kind: web3signer\nurl: http://127.0.0.1:${deadPort}\npublicKey: ${publicKeyOf(signerKey)}\naddress: ${computeAddress(signerKey)}`;
      const signers = await loadSigners({
        environment: { PAYMASTER_SIGNER_KEY_DEV_KEY: text },
        limits: { deadlineMs: 100, calls: 100 },
        log: silentLogger,
      });
      stops.push(() => signers.stop());
      return { signers: () => Promise.resolve(signers) };
    },
  },
];

describe.each(faults)('while $name', ({ secrets, arrange }) => {
  const expectNothingOfIt = (text: string): void => {
    for (const secret of secrets())
      expect(text).not.toEqual(
        typeof secret === 'string' ? expect.stringContaining(secret) : expect.stringMatching(secret),
      );
  };
  /** The own address of the server, and ids, hold any digits. */
  const plain = (text: string): string => text.replace(/"requestId":"[^"]*"|request [\w-]+/gi, '');

  test('a wallet gets a text of ours, and nothing of where the dependency is', async () => {
    host = await startRpc(await arrange());
    const estimated = { ...sponsored, calculateGasLimits: true };
    for (const context of [estimated, sponsored]) {
      const { body, text, headers } = await host.call('pm_sponsorUserOperation', [anOperation(), context]);
      if (body.error === undefined) continue;
      expectNothingOfIt(plain(text));
      expectNothingOfIt(plain(JSON.stringify([...headers].filter(([name]) => name !== 'x-request-id'))));
      if (body.error.code !== errorCodes.UNAVAILABLE.rpc.code) continue;
      expect(allowedTexts).toContain(body.error.message);
      expect(allowedReasons).toContain(body.error.data.reason);
    }
    const { body } = await host.call('pm_sponsorUserOperation', [anOperation(), estimated]);
    const { body: second } = await host.call('pm_sponsorUserOperation', [anOperation(), sponsored]);
    // The fault is real: at least one form of the request fails by it.
    expect([body.error?.code, second.error?.code]).toContain(errorCodes.UNAVAILABLE.rpc.code);
  });

  test('nor do /readyz, /metrics and /healthz on the public port, and a test delivery, say it', async () => {
    host = await startRpc(await arrange());
    await host.call('pm_sponsorUserOperation', [anOperation(), sponsored]);
    for (const path of ['/readyz', '/metrics', '/healthz', '/'])
      expectNothingOfIt(await (await fetch(`${host.origin}${path}`)).text());
    const delivered = await fetch(`${host.origin}/api/v1/webhooks/${'0'.repeat(36)}/deliveries`, {
      method: 'POST',
      headers: { authToken: someToken, apiKey: someApiKey },
    });
    expectNothingOfIt(await delivered.text());
  });
});

test.each(faults.filter(({ name }) => name.includes('database') || name.includes('password')))(
  'while $name, REST says only that it is temporarily unavailable',
  async ({ arrange }) => {
    const { parts } = await arrange();
    const { status, envelope, problem } = renderError(await errorOf(parts?.usage?.ping()));
    const { message } = errorCodes.UNAVAILABLE.rest;
    expect({ status, envelope }).toEqual({ status: 503, envelope: { statusCode: 503, message } });
    expect(problem).toEqual({
      code: 'UNAVAILABLE',
      detail: message,
      status: 503,
      title: errorCodes.UNAVAILABLE.text,
    });
  },
);

test('the log says where the database is, and what is wrong with it', async () => {
  await withUsage(`postgresql://postgres@127.0.0.1:${postgres.port}/promisse?sslmode=disable`);
  expect(logged()).toContain('promisse');
  expect(logged()).toContain(`127.0.0.1:${postgres.port}`);
  expect(logged()).toContain('SQLSTATE 3D000');
});

async function errorOf(failing: Promise<unknown> | undefined): Promise<unknown> {
  try {
    await failing;
  } catch (error) {
    return error;
  }
  throw new Error('expected a failure');
}
