import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createReflector } from '../../adapters/kube/reflector.js';
import type { KubeObject } from '../../adapters/kube/objects.js';
import { createKubeTransport } from '../../adapters/kube/transport.js';
import { derivePolicyId } from '../../core/config/ids.js';
import { group, version } from '../../core/meta/meta.js';
import { systemNamespace, type Component } from '../support/cluster/component.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { kindNames } from '../../core/resources/kinds.js';
import { serviceAccountUser } from '../support/cluster/control-plane.js';
import { startTcpProxy } from './support/tcp-proxy.js';
import { paymasterObjectName } from '../../core/resources/names.js';
import { dashboard, freshUserOp, rpc } from '../system/support/client.js';
import { testOfSoak } from '../support/test-of-soak.js';
import { until } from '../support/until.js';
import { readerOf } from './support/read.js';
import { startInstallation, type Installation } from './support/installation.js';
import {
  describeRight,
  grantsOf,
  permits,
  requestsOf,
  rightsNeeded,
  type AuditedRequest,
  type Right,
} from './support/rights.js';

// The test makes each component do everything that it ever does with the API server. It then compares the verbs in the audit log
// with the verbs that the chart grants: no right is missing, and no right is unused.

const accounts = ['operator', 'dashboard', 'rpc'] as const;
const boundRoles = ['paymaster-system-paymaster-tenant', 'paymaster-system-paymaster-connection-secrets'];

let installation: Installation;
const outages: { readonly from: number; to: number }[] = [];
let granted: Readonly<Record<Account, readonly Right[]>>;
beforeAll(async () => {
  installation = await startInstallation({ replicas: 2 });
  const of = (name: string) => grantsOf(installation.cluster.plane, systemNamespace, `paymaster-${name}`);
  granted = { operator: of('operator'), dashboard: of('dashboard'), rpc: of('rpc') };
}, 600_000);
afterAll(async () => {
  await installation?.cluster.stop();
});

/** Kinds that the operator watches. */
const judgedKinds = [
  'Chain',
  'FeeToken',
  'Organisation',
  'Paymaster',
  'SmartContract',
  'PaymasterPolicy',
] as const;

/** ConfigMaps that it watches by their names. */
const watchedMaps = ['paymaster-reports', 'paymaster-usage-epochs', 'paymaster-master-keys'];

/** Bounds a hang; on a busy machine components that have backed off take minutes to come back. */
const patienceMs = 240_000;
const longestMs = 3 * patienceMs;

const kubectl = (...args: string[]): string => installation.cluster.plane.kubectl(args);
const tenant = ['-n', 'quickstart'];
const patch = (kind: string, name: string, change: object, ...where: string[]): string =>
  kubectl('patch', kind, name, ...where, '--type=merge', '-p', JSON.stringify(change));
type Account = (typeof accounts)[number];
const requests = (account: Account): readonly AuditedRequest[] =>
  requestsOf(installation.cluster.plane, systemNamespace, `paymaster-${account}`);
const used = (account: Account): readonly Right[] =>
  requests(account)
    .filter(({ code }) => code !== 403)
    .flatMap((request) => rightsNeeded(request, boundRoles));
const isUsed = (account: Account, verb: string, resource: string, name?: string): boolean =>
  used(account).some(
    (right) =>
      right.verb === verb && right.resource === resource && (name === undefined || right.name === name),
  );
/** Waits until a component has made a request `verb resource`. */
const seen = (account: Account, verb: string, resource: string, name?: string): Promise<void> =>
  until(
    `the ${account} has asked for ${verb} ${resource}`,
    () => isUsed(account, verb, resource, name),
    patienceMs,
  );
const ask = (replica: Component, options: object = {}) =>
  rpc(installation.rpcUrl(replica), 'pm_sponsorUserOperation', [
    freshUserOp(installation.connection),
    { mode: 'SPONSORED', calculateGasLimits: false, ...options },
  ]);
/** Kills the API server and starts it again; meanwhile the replica starts on its snapshot and is asked all the time. */
async function restartApiServer(late: Component): Promise<void> {
  const { apiServer } = installation.cluster.plane;
  apiServer.signal('SIGKILL');
  await apiServer.ended();
  const outage = { from: Date.now(), to: Number.POSITIVE_INFINITY };
  outages.push(outage);
  await late.restart();
  const back = apiServer.restart().finally(() => {
    outage.to = Date.now();
  });
  // The replica refuses while it knows that there is a newer config and cannot read it.
  await until(
    'it has learnt of the change',
    async () => (await ask(late)).result?.['mode'] === 'SPONSORED',
    patienceMs,
  );
  await back;
}

/**
 * Damages the compiled objects of a kind, which only the operator may do. Nothing is kept of a damaged object when its source
 * is deleted, so it is deleted too. Any other leaves a tombstone, which is deleted after 30 days.
 */
function edit(kind: string): void {
  const as = `--as=system:serviceaccount:${systemNamespace}:paymaster-operator`;
  for (;;) {
    const found = kubectl('get', kind, '-n', systemNamespace, '-o', 'json');
    const edited = found.replaceAll(/"hash": "[0-9a-f]{64}"/g, `"hash": "${'0'.repeat(64)}"`);
    expect(edited).not.toBe(found);
    try {
      installation.cluster.plane.kubectl(['replace', as, '-f', '-'], { input: edited });
      return;
    } catch (error) {
      // The operator has written one of them in between.
      if (!String(error).includes('(Conflict)')) throw error;
    }
  }
}

type Sent = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: object;
};
type Compiled = {
  readonly items: readonly { readonly spec: { readonly hash: string; readonly config: string } }[];
};

const compiledObjects = async (plural: string): Promise<Compiled> =>
  (await installation.cluster.transport.request({
    method: 'GET',
    path: `/apis/${group}/${version}/namespaces/${systemNamespace}/${plural}`,
  })) as Compiled;

/**
 * Deletes a source just after its compiled object was damaged, until the operator deletes that object. In a round in which the
 * operator has repaired the damage before the source is gone, it leaves a tombstone.
 */
async function deleteDamaged(
  compiled: string,
  source: string,
  name: string,
  ...where: string[]
): Promise<void> {
  const sent = JSON.parse(kubectl('get', source, name, ...where, '-o', 'json')) as Sent;
  const { apiVersion, kind, spec } = sent;
  const again = JSON.stringify({ apiVersion, kind, metadata: { name }, spec });
  const isDeleted = () => isUsed('operator', 'delete', `paymasters.dev/${compiled}`);
  const state = async (): Promise<'served' | 'damaged' | 'buried' | 'gone'> => {
    const found = await compiledObjects(compiled);
    const { hash = '', config = '{}' } =
      found.items.find(({ spec }) => spec.config.includes(`"objectName":"${name}"`))?.spec ?? {};
    if (hash === '') return 'gone';
    if (/^0+$/.test(hash)) return 'damaged';
    return 'deletedAt' in (JSON.parse(config) as object) ? 'buried' : 'served';
  };
  for (let round = 1; !isDeleted(); round++) {
    expect(round).toBeLessThanOrEqual(20);
    if (round > 1) installation.cluster.plane.kubectl(['create', ...where, '-f', '-'], { input: again });
    await until(`the ${source} is served`, async () => (await state()) === 'served', patienceMs);
    edit(compiled);
    kubectl('delete', source, name, ...where);
    await until(
      'its config is deleted or buried',
      async () => isDeleted() || (await state()) === 'buried',
      patienceMs,
    );
  }
}

async function subjectsOf(binding: string): Promise<readonly unknown[]> {
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/quickstart/rolebindings/${binding}`;
  const found = await installation.cluster.transport.request({ method: 'GET', path });
  return (found as { readonly subjects?: readonly unknown[] }).subjects ?? [];
}

/** The time between the test's change of the binding and the operator's. */
const unbound: { readonly from: number; to: number }[] = [];
const wasUnbound = ({ resource, receivedAt }: AuditedRequest): boolean =>
  resource === '/secrets' && unbound.some(({ from, to }) => from <= receivedAt && receivedAt <= to);

/** A starting API server denies everything until it has read the roles. */
const wasStarting = ({ receivedAt }: AuditedRequest): boolean =>
  outages.some(({ from, to }) => from <= receivedAt && receivedAt <= to);
/** The reason of a condition of the quickstart's paymaster. */
const condition = async (type: string): Promise<string | undefined> =>
  (await readerOf(installation.cluster).condition('Paymaster', 'shop', type))?.split('/')[1];

describe('requests to the API server', () => {
  test(
    'by the dashboard: each of its endpoints',
    async () => {
      const { connection } = installation;
      const { chainId } = connection;
      const call = async (method: string, path: string, apiKey?: string, body?: object) => {
        const answer = await dashboard(connection, method, path, {
          ...(apiKey === undefined ? {} : { apiKey }),
          ...(body === undefined ? {} : { body }),
        });
        expect(answer).toMatchObject({ status: 200 });
        return answer.body.data;
      };
      const made = await call('POST', '/paymaster', undefined, {
        name: 'made by rest',
        type: 'HYBRID',
        chainId,
        version: '1.1.0',
      });
      const { apiKey } = made as { apiKey: string };
      await call('GET', '/paymaster');
      const { address } = connection.sponsoredContract;
      const abi = kubectl('get', 'pmsc', 'shop-counter', ...tenant, '-o', 'jsonpath={.spec.abi}');
      await call('POST', '/smart-contract', apiKey, {
        name: 'counter',
        address,
        abi,
        whitelistedMethods: ['increment'],
      });
      await call('GET', '/smart-contract', apiKey);
      await call('PATCH', '/smart-contract', apiKey, { address, whitelistedMethods: ['burn'] });
      await call('DELETE', '/smart-contract', apiKey, { address });
      await call('POST', '/paymaster-policy', apiKey, {
        name: 'a limit',
        policyType: 'PAYMASTER_SA_LIMIT',
        policyData: {
          type: 'PAYMASTER',
          cycleDuration: { value: 1, unit: 'day' },
          threshold: 50,
          thresholdType: 'COUNT',
        },
      });
      await call('GET', '/paymaster-policy', apiKey);
      const name = kubectl(
        'get',
        'pmpol',
        ...tenant,
        '--field-selector=spec.name=a limit',
        '-o',
        'jsonpath={.items[0].metadata.name}',
      );
      const policyId = derivePolicyId('quickstart', name);
      await call('PATCH', `/paymaster-policy/limit/${policyId}`, apiKey, { threshold: 60 });
      await call('PATCH', `/paymaster-policy/deactivate/${policyId}`, apiKey);
      await call('PATCH', `/paymaster-policy/activate/${policyId}`, apiKey);
      for (const [plural, object] of [
        ['policies', name],
        ['paymasters', paymasterObjectName(chainId, 'made by rest')],
      ] as const) {
        const deleted = await fetch(new URL(`/manage/v1/${plural}/${object}`, connection.dashboardUrl), {
          method: 'DELETE',
          headers: { authToken: connection.authToken },
        });
        expect({ plural, status: deleted.status, text: await deleted.text() }).toMatchObject({ status: 200 });
      }
      const tokens = async (
        method: string,
        path: string,
        body?: object,
        authToken = connection.authToken,
      ) => {
        const response = await fetch(new URL(`/manage/v1/${path}`, connection.dashboardUrl), {
          method,
          headers: { authToken },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        expect({ path, status: response.status }).toMatchObject({ status: method === 'POST' ? 201 : 200 });
        return (await response.json()) as { readonly data: { readonly token: string } };
      };
      const { data } = await tokens('POST', 'tokens', { name: 'reader', scopes: ['read'] });
      await tokens('GET', 'tokens', undefined, data.token);
      await tokens('DELETE', 'tokens/reader');
      await tokens('GET', 'problems');
      // Its list is written, and updated and deleted below.
      patch('chain', 'dev', { spec: { deniedSenders: [`0x${'de'.repeat(20)}`] } });
      await until(
        'its list is served',
        async () => JSON.stringify(await compiledObjects('chainconfigs')).includes('deniedSenders'),
        patienceMs,
      );
      await tokens('GET', 'paymasters/shop/rules');
      await seen('dashboard', 'list', 'paymasters.dev/feetokens');
    },
    longestMs,
  );

  test(
    'by a dashboard and an rpc pod with a database that nobody has: neither is ever ready',
    async () => {
      const environment = {
        PAYMASTER_DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/misspelt?sslmode=disable',
      };
      const isNeverReady = async (name: 'dashboard' | 'rpc'): Promise<void> => {
        const pod = await installation.cluster.start(name, { index: 7, path: '/healthz', environment });
        await until(
          'everything else passes, and others have been asked after the database',
          async () => {
            const { ready, checks } = (await (await fetch(`${pod.origin}/readyz`)).json()) as {
              readonly ready: boolean;
              readonly checks: readonly {
                readonly name: string;
                readonly ready: boolean;
                readonly isAdvice?: true;
              }[];
            };
            const failing = checks.filter((check) => !check.ready && check.isAdvice !== true);
            expect(ready).toBe(false);
            return failing.map((check) => check.name).join() === 'usage-store';
          },
          patienceMs,
        );
        await seen(name, 'get', '/configmaps', 'paymaster-usage-epochs');
        await pod.stop();
      };
      await Promise.all([isNeverReady('dashboard'), isNeverReady('rpc')]);
    },
    longestMs,
  );

  test(
    'by the rpc role: an unknown key, a longer promise than any before',
    async () => {
      const [replica] = installation.replicas;
      if (replica === undefined) throw new Error('no replica');
      const stranger = `${replica.origin}/api/v1/${installation.connection.chainId}/unknown-key`;
      expect((await rpc(stranger, 'pm_sponsorUserOperation', [{}])).error).toBeDefined();
      patch('chain', 'dev', { spec: { maxExpirySeconds: 20_000 } });
      await until('it is promised for five hours', async () => {
        const { result } = await ask(replica, { expiryDuration: 18_000 });
        return result?.['mode'] === 'SPONSORED' && result['expiryAsked'] === undefined;
      });
      await seen('rpc', 'update', '/configmaps', 'paymaster-usage-epochs');
    },
    longestMs,
  );

  // Written by the same requests as the report of losses, a quarter of a minute later.
  testOfSoak(
    'by the rpc role: reports of limits that are full',
    async () => {
      const [replica] = installation.replicas;
      if (replica === undefined) throw new Error('no replica');
      const names = ['first-full', 'second-full'];
      for (const name of names) {
        const limit = {
          apiVersion: 'paymasters.dev/v1alpha1',
          kind: 'PaymasterPolicy',
          metadata: { name, namespace: 'quickstart' },
          spec: {
            paymasterRef: { name: 'shop' },
            name,
            policyType: 'PAYMASTER_SA_LIMIT',
            spendingLimit: {
              scope: 'PAYMASTER',
              cycleDuration: { value: 1, unit: 'day' },
              threshold: '1',
              thresholdType: 'COUNT',
            },
          },
        };
        installation.cluster.plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(limit) });
        await until(
          'it is told and said',
          async () => {
            await ask(replica);
            const isTold = isUsed('rpc', 'update', '/configmaps', 'paymaster-reports');
            return isTold && (await condition('Serving')) === 'LimitFull';
          },
          patienceMs,
        );
        kubectl('delete', 'pmpol', name, ...tenant);
        await until(
          'it is signed again',
          async () => (await ask(replica)).result?.['mode'] === 'SPONSORED',
          patienceMs,
        );
      }
    },
    longestMs,
  );

  test(
    'by the rpc role: a report of losses that another client has changed',
    async () => {
      const name = 'paymaster-reports';
      await seen('rpc', 'create', '/configmaps', name);
      const { chainId } = installation.connection;
      patch('configmap', name, { data: { [`losses.${chainId}`]: 'changed' } }, '-n', systemNamespace);
      // The next follower of the chain compares the report.
      await Promise.all(
        installation.replicas.map(async (replica) => {
          replica.signal('SIGTERM');
          await replica.ended();
          await replica.restart();
        }),
      );
      await seen('rpc', 'update', '/configmaps', name);
    },
    longestMs,
  );

  test(
    'by the operator: an announcement of master keys that names a key that is not mounted',
    async () => {
      const name = 'paymaster-master-keys';
      const announced = async () => (await readerOf(installation.cluster).configMap(name))?.['apiKeys'];
      const inForce = await announced();
      patch('configmap', name, { data: { apiKeys: `${inForce} ${'0'.repeat(16)}` } }, '-n', systemNamespace);
      await until('it is put right', async () => (await announced()) === inForce, patienceMs);
      await seen('operator', 'update', '/configmaps', name);
    },
    longestMs,
  );

  test(
    'by the operator: secrets, status and events of changed resources, a binding that was edited',
    async () => {
      patch('pm', 'shop', { spec: { writeConnectionSecretToRef: { name: 'shop-connection' } } }, ...tenant);
      await until('it is written', async () => (await condition('ConnectionSecret')) === 'Written');
      patch('secret', 'shop-connection', { data: { apiKey: 'b2xk' } }, ...tenant);
      // The second time it is the same event, whose count increases.
      for (const reason of ['Suspended', 'Ready', 'Suspended', 'Ready']) {
        patch('pm', 'shop', { spec: { suspended: reason === 'Suspended' } }, ...tenant);
        await until(`it is ${reason}`, async () => (await condition('Ready')) === reason);
      }
      await seen('operator', 'update', '/secrets');
      await seen('operator', 'patch', 'events.k8s.io/events');

      const bound = ['paymaster-dashboard', 'paymaster-connection-secrets'];
      const span = { from: Date.now(), to: Number.POSITIVE_INFINITY };
      unbound.push(span);
      for (const name of bound) patch('rolebinding', name, { subjects: [] }, ...tenant);
      patch('organisation', 'quickstart', { spec: { quotas: { paymasters: 999 } } });
      for (const name of bound) {
        await until('it is bound again', async () => (await subjectsOf(name)).length > 0, patienceMs);
        await seen('operator', 'update', 'rbac.authorization.k8s.io/rolebindings', name);
      }
      const boundAgain = Date.now();
      patch('chain', 'dev', { spec: { confirmations: 1 } });
      await until(
        'it writes Secrets again',
        () =>
          requests('operator').some(
            ({ resource, code, receivedAt }) =>
              resource === '/secrets' && code === 200 && receivedAt >= boundAgain,
          ),
        patienceMs,
      );
      span.to = Date.now();
      await seen('operator', 'update', 'paymasters.dev/chainconfigs');
      // The sweep, which fails once if the API server has not read the definitions yet.
      await seen('operator', 'list', 'paymasters.dev/chainconfigs');
    },
    longestMs,
  );

  test(
    'by all: an API server that is away and comes back, and changes are learnt from the usage store first',
    async () => {
      const [late, other] = installation.replicas;
      if (late === undefined || other === undefined) throw new Error('too few replicas');
      // A watch that reconnects before the request has already delivered the change: then the next round shows it. The first round
      // is always needed, since only an outage makes lists necessary.
      for (let round = 1; round === 1 || !isUsed('rpc', 'get', 'paymasters.dev/paymasterconfigs'); round++) {
        expect(round).toBeLessThanOrEqual(10);
        late.signal('SIGKILL');
        await late.ended();
        const expiryDuration = 18_000 + round;
        patch('pm', 'shop', { spec: { maxExpirySeconds: expiryDuration } }, ...tenant);
        await until(
          'another replica has promised by the change',
          async () => {
            const asked = expiryDuration + 1;
            return (await ask(other, { expiryDuration: asked })).result?.['expiryAsked'] === asked;
          },
          patienceMs,
        );
        await restartApiServer(late);
      }
      for (const kind of ['paymasterconfigs', 'chainconfigs', 'addresslists'])
        await seen('rpc', 'list', `paymasters.dev/${kind}`);
    },
    longestMs,
  );

  // An operator that loses its lease in a long outage begins anew, without a list. So its reflectors run here, with its token.
  test(
    'by the reflectors of the operator: connections that break',
    async () => {
      const { plane } = installation.cluster;
      const { hostname: host, port } = new URL(plane.url);
      const proxy = await startTcpProxy({ host, port: Number(port) });
      const token = plane.token(serviceAccountUser(systemNamespace, 'paymaster-operator'));
      const transport = createKubeTransport({
        credentials: {
          load: async () => ({
            server: `https://127.0.0.1:${proxy.port}`,
            ca: plane.ca(),
            authorization: `Bearer ${token}`,
          }),
        },
        userAgent: 'test',
        log: silentLogger,
        metrics: noMetrics,
      });
      const watched = [
        ...judgedKinds.map((kind) => ({
          kind,
          path: `/apis/${group}/${version}/${kindNames[kind].plural}`,
        })),
        ...watchedMaps.map((name) => ({
          kind: name,
          path: `/api/v1/namespaces/${systemNamespace}/configmaps`,
          fieldSelector: `metadata.name=${name}`,
        })),
      ];
      const reflectors = watched.map((collection) =>
        createReflector<KubeObject>({
          transport,
          ...collection,
          transform: (object) => object,
          onEvent: () => {},
          log: silentLogger,
          metrics: noMetrics,
          now: () => Date.now(),
          random: Math.random,
        }),
      );
      try {
        for (const reflector of reflectors) reflector.start();
        await until('all are synced', () => reflectors.every((each) => each.hasSynced()), patienceMs);
        proxy.cut();
        for (const kind of judgedKinds)
          await seen('operator', 'list', `paymasters.dev/${kindNames[kind].plural}`);
        for (const name of watchedMaps) await seen('operator', 'list', '/configmaps', name);
      } finally {
        await Promise.all(reflectors.map((each) => each.stop()));
        await transport.stop();
        await proxy.stop();
      }
    },
    longestMs,
  );

  test(
    'by the operator: lists of addresses that nothing names',
    async () => {
      const as = `--as=system:serviceaccount:${systemNamespace}:paymaster-operator`;
      const plant = (digit: string, annotations: object) => {
        const hash = digit.repeat(64);
        const metadata = { name: hash, namespace: systemNamespace, annotations };
        const list = {
          apiVersion: 'paymasters.dev/v1alpha1',
          kind: 'AddressList',
          metadata,
          spec: { hash, config: '{}' },
        };
        installation.cluster.plane.kubectl(['create', as, '-f', '-'], { input: JSON.stringify(list) });
      };
      plant('a', {});
      plant('b', { 'paymasters.dev/unnamed-since': '1' });
      // One that leads anew sweeps at once; one that is stopped releases its lease.
      for (const operator of installation.operators) operator.signal('SIGTERM');
      for (const verb of ['update', 'delete']) await seen('operator', verb, 'paymasters.dev/addresslists');
    },
    longestMs,
  );

  test(
    'by the operator: it stops serving deleted resources',
    async () => {
      await deleteDamaged('paymasterconfigs', 'pm', 'shop', ...tenant);
      await deleteDamaged('chainconfigs', 'chain', 'dev');
      kubectl('delete', 'organisation', 'quickstart');
      for (const name of ['paymaster-dashboard', 'paymaster-connection-secrets'])
        await seen('operator', 'delete', 'rbac.authorization.k8s.io/rolebindings', name);
    },
    longestMs,
  );
});

describe.each(accounts)('the rights of the %s', (account) => {
  test('cover everything that it uses', () => {
    const denied = requests(account).filter(
      (request) => request.code === 403 && !wasStarting(request) && !wasUnbound(request),
    );
    expect(denied.map(describeRight)).toEqual([]);
    const strange = used(account).filter((right) => !granted[account].some((grant) => permits(grant, right)));
    expect([...new Set(strange.map(describeRight))]).toEqual([]);
    expect(used(account).length).toBeGreaterThan(0);
  });

  test('are all used', () => {
    const rights = used(account);
    const idle = granted[account].filter((grant) => !rights.some((right) => permits(grant, right)));
    expect(granted[account].length).toBeGreaterThan(0);
    expect(idle.map(describeRight)).toEqual([]);
  });
});
