import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { derivePaymasterId } from '../../../core/config/ids.js';
import { hashCredential } from '../../../core/config/api-key.js';
import { DomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { systemTimers } from '../../../adapters/timers.js';
import { managePrefix } from '../../../server/dashboard/endpoints.js';
import { followTokens } from '../../../server/dashboard/ended-tokens.js';
import { createLastSeen, lastSeenForMs, type LastSeen } from '../../../server/dashboard/last-seen.js';
import { acmeToken, chainId, otherToken, recordOf, type DashboardHost } from '../../build/dashboard.js';
import { aDecision, at, reservationOf } from '../../conformance/ledger-records.js';
import { createMemoryLedger } from '../../fakes/memory-ledger.js';
import { useDashboard } from '../../support/use-dashboard.js';

// Questions that need only a database, while the API server gives no answer.

const ledger = createMemoryLedger();
const host = useDashboard({ ledger, operator: true, programmedTimeoutMs: 60_000 });

/** How the API server is: it answers, says that it is away, or says nothing at all. */
let state: 'there' | 'away' | 'silent' = 'there';

function answeringBy<T extends object>(store: T): T {
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return (...given: readonly unknown[]): unknown => {
        if (state === 'away') return Promise.reject(new DomainError('UNAVAILABLE', 'away'));
        if (state === 'silent') return new Promise(() => {});
        return Reflect.apply(method, target, given);
      };
    },
  });
}

let replica: DashboardHost;
let lastSeen: LastSeen;
let shop: string;
beforeAll(async () => {
  shop = derivePaymasterId('acme', 'shop');
  await ledger.append(reservationOf(aDecision('acme', at('2026-01-31T12:00:00Z'), { paymasterId: shop })));
  const made = await host.call('POST', '/paymaster', {
    token: acmeToken,
    body: { name: 'shop', type: 'HYBRID', chainId, version: '1.0.0' },
  });
  shop = String(recordOf(made.body.data)['paymasterId']);
});
beforeEach(async () => {
  state = 'there';
  const resources = answeringBy(host.resources);
  lastSeen = createLastSeen({ resources, clock: host.clock });
  replica = await host.beside({ resources, configs: answeringBy(host.configs), ledger, lastSeen });
});

const ask = async (path: string, token = acmeToken): Promise<number> =>
  // A call to an API server that says nothing would wait for half a minute.
  (
    await replica.fetch(`${managePrefix}${path}`, {
      headers: { authToken: token },
      signal: AbortSignal.timeout(28_000),
    })
  ).status;

/** As a dashboard does from its start on. */
async function organisationsSeen(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const following = followTokens({
    resources: host.resources,
    clock: host.clock,
    log: silentLogger,
    timers: systemTimers,
    onOrganisations(organisations) {
      lastSeen.saw(organisations);
      resolve();
    },
  });
  await promise;
  await following.stop();
}

const range = 'from=2026-01-31T00:00:00Z&to=2026-02-01T00:00:00Z';
const readings = (): readonly string[] => [
  `/usage?${range}`,
  `/usage?${range}&groupBy=method`,
  `/decisions?${range}`,
  `/limits?paymasterId=${shop}`,
  `/funds?paymasterId=${shop}`,
];
const statuses = (token?: string): Promise<readonly number[]> =>
  Promise.all(readings().map((path) => ask(path, token)));
const all = (status: number): readonly number[] => readings().map(() => status);

describe.each(['away', 'silent'] as const)('while the API server is %s', (outage) => {
  test('readings that need only a database are answered', async () => {
    expect(await statuses()).toEqual(all(200));
    await organisationsSeen();
    state = outage;
    expect(await statuses()).toEqual(all(200));
  });

  test('so are those of a token that this replica was never asked with', async () => {
    await organisationsSeen();
    state = outage;
    expect(await ask(`/usage?${range}`, otherToken)).toBe(200);
  });
});

describe('while the API server is away', () => {
  test('a token that nobody had is not answered, since it may be new', async () => {
    await organisationsSeen();
    state = 'away';
    expect(await ask(`/usage?${range}`, 'never-seen-0123456789')).toBe(503);
  });

  test('a replica that has seen nothing says that it is away', async () => {
    state = 'away';
    expect(await ask(`/usage?${range}`)).toBe(503);
  });

  test('nothing but readings is answered', async () => {
    await organisationsSeen();
    state = 'away';
    expect((await replica.call('GET', '/paymaster', { token: acmeToken })).status).toBe(503);
  });

  test('the last state is used for an hour', async () => {
    await organisationsSeen();
    state = 'away';
    host.clock.advance(lastSeenForMs - 60_000);
    expect(await ask(`/usage?${range}`)).toBe(200);
    host.clock.advance(120_000);
    expect(await ask(`/usage?${range}`)).toBe(503);
  });
});

test('a token that is removed ends at once while the API server is there, and does not come back when it goes', async () => {
  const token = 'short-lived-0123456789';
  const name = 'fleeting';
  const namespace = 'fleeting';
  const apply = (tokens: readonly { readonly name: string; readonly sha256: string }[]) =>
    host.resources.apply({
      manager: 'platform',
      kind: 'Organisation',
      key: { name },
      spec: { namespace, tokens },
    });
  await apply([{ name: 'ci', sha256: hashCredential(token) }]);
  await organisationsSeen();
  expect(await ask(`/usage?${range}`, token)).toBe(200);
  await apply([]);
  expect(await ask(`/usage?${range}`, token)).toBe(401);
  state = 'away';
  expect(await ask(`/usage?${range}`, token)).toBe(503);
});
