import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isStatus } from '../../../adapters/kube/api-error.js';
import { createKubeKeyAnnouncements, masterKeyConfigMap } from '../../../adapters/kube/key-announcements.js';
import { createLeaderElection } from '../../../adapters/kube/leader-election.js';
import { watchConfigMaps } from '../../../adapters/kube/watched-config-maps.js';
import type { KubeRequest, KubeTransport } from '../../../adapters/kube/transport.js';
import { silentLogger } from '../../../core/log.js';
import { group, version } from '../../../core/meta/meta.js';
import { noMetrics } from '../../../core/metrics.js';
import { kindNames, type Kind } from '../../../core/resources/kinds.js';
import { systemClock } from '../../../core/units/time.js';
import {
  aChain,
  aFeeToken,
  anOrganisation,
  aPaymaster,
  aPolicy,
  aSmartContract,
} from '../../build/resources.js';
import { until } from '../../support/until.js';
import { connectionOfThisRun } from './connection.js';
import { openResources, startKubeOperator } from './dashboard-world.js';
import { openUserParts, type KubeParts } from './kube-worlds.js';
import { ensureNamespace } from './system-namespace.js';

// Somebody deletes and changes by hand each object that the operator writes, while it runs under its rendered role on a real API
// server: all are back, in 10 to 15 seconds. They are disturbed together, since one after the other would take minutes.

const tenant = 'acme';

type Found = { readonly metadata: { readonly name: string } } & Readonly<Record<string, unknown>>;

type Written = {
  readonly what: string;
  readonly collection: string;
  /** Left out where all of the collection are meant. */
  readonly name?: string;
  /** What has to be back. */
  readonly read: (found: Found) => unknown;
  /** The object as somebody leaves it. */
  readonly change: (found: Found) => unknown;
  readonly isStatus?: boolean;
};

const binding = (name: string): Written => ({
  what: `RoleBinding ${name}`,
  collection: `/apis/rbac.authorization.k8s.io/v1/namespaces/${tenant}/rolebindings`,
  name,
  read: ({ roleRef, subjects }) => ({ roleRef, subjects }),
  change: (found) => ({ ...found, subjects: [] }),
});

type Spec = { readonly config: string };
const specOf = (found: Found): Spec => found['spec'] as Spec;
/** The generation says when it was written. */
const withoutGeneration = (text: string): string => text.replace(/"configGeneration":\d+/, '');

const compiled = (namespace: string, plural: string): Written => ({
  what: plural,
  collection: `/apis/${group}/${version}/namespaces/${namespace}/${plural}`,
  read: (found) => withoutGeneration(specOf(found).config),
  change: (found) => ({
    ...found,
    spec: { ...specOf(found), config: specOf(found).config.replaceAll('0', '1') },
  }),
});

type Condition = { readonly type: string; readonly status: string; readonly reason: string };
const conditionsOf = (found: Found): readonly Condition[] =>
  (found['status'] as { readonly conditions?: readonly Condition[] } | undefined)?.conditions ?? [];

const statusOf = (kind: Kind, name: string): Written => {
  const { plural, scope } = kindNames[kind];
  return {
    what: `status of a ${kind}`,
    collection: `/apis/${group}/${version}/${scope === 'Cluster' ? '' : `namespaces/${tenant}/`}${plural}`,
    name,
    isStatus: true,
    // Others depend on a chain, which does not answer here: what they said before stands until it does.
    read: (found) => conditionsOf(found).flatMap(({ type, reason }) => (type === 'Accepted' ? [reason] : [])),
    change: (found) => ({
      ...found,
      status: {
        ...(found['status'] as object),
        conditions: conditionsOf(found).map((each) =>
          each.type === 'Accepted' ? { ...each, reason: 'ByHand' } : each,
        ),
      },
    }),
  };
};

let written: readonly Written[];
const statuses = [
  statusOf('Chain', 'dev'),
  statusOf('FeeToken', 'dev-usd'),
  statusOf('Organisation', tenant),
  statusOf('Paymaster', 'shop'),
  statusOf('SmartContract', 'shop-nft'),
  statusOf('PaymasterPolicy', 'customers'),
];

let parts: KubeParts;
let stop: (() => Promise<void>) | undefined;
let admin: KubeTransport;
let watched: ReturnType<typeof watchConfigMaps> | undefined;
beforeAll(async () => {
  const connection = connectionOfThisRun();
  if (connection === undefined) throw new Error('start jest with --config=jest.kubernetes.config.js');
  ({ parts, stop } = await openUserParts(connection));
  admin = parts.transport('admin');
  const { namespace } = parts;
  await ensureNamespace(admin, tenant);
  written = [
    binding('paymaster-dashboard'),
    binding('paymaster-connection-secrets'),
    {
      what: 'connection Secret',
      collection: `/api/v1/namespaces/${tenant}/secrets`,
      name: 'shop-connection',
      read: ({ data }) => data,
      change: (found) => ({ ...found, data: { apiKey: 'bm90aGluZw==' } }),
    },
    compiled(namespace, 'paymasterconfigs'),
    compiled(namespace, 'chainconfigs'),
    compiled(namespace, 'addresslists'),
    {
      what: 'ConfigMap of the master keys',
      collection: `/api/v1/namespaces/${namespace}/configmaps`,
      name: 'paymaster-master-keys',
      read: ({ data }) => data,
      change: (found) => found,
    },
    {
      what: 'Lease',
      collection: `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`,
      name: 'paymaster-operator',
      read: ({ spec }) => (spec as { readonly leaseDurationSeconds: number }).leaseDurationSeconds,
      change: (found) => ({ ...found, spec: { ...(found['spec'] as object), leaseDurationSeconds: 14 } }),
    },
  ];
  await start();
  await until('everything is written', async () => {
    const found = await Promise.all([...written, ...statuses].map(readAll));
    return found.every((each) => each.length > 0);
  });
});
afterAll(async () => {
  await watched?.stop();
  await stop?.();
});

async function start(): Promise<void> {
  const resources = openResources(parts, admin);
  for (const each of [
    aChain(),
    aFeeToken(),
    anOrganisation(),
    aPaymaster({ writeConnectionSecretToRef: { name: 'shop-connection' } }),
    aSmartContract(),
    aPolicy({
      meta: { name: 'customers' },
      name: 'customers',
      policyType: 'SENDERS',
      senders: { action: 'Deny', addresses: [`0x${'a1'.repeat(20)}`] } as never,
    }),
  ]) {
    const { namespace, name } = each.metadata;
    const key = namespace === undefined ? { name } : { namespace, name };
    await resources.apply({ manager: 'tests', kind: each.kind, key, spec: each.spec as never });
  }
  const transport = parts.transport('operator');
  const { namespace } = parts;
  const common = { clock: systemClock, log: silentLogger, metrics: noMetrics, random: Math.random };
  watched = watchConfigMaps({ ...common, transport, namespace, names: [masterKeyConfigMap] });
  await startKubeOperator(parts, systemClock, undefined, {
    leader: createLeaderElection({
      transport,
      namespace,
      name: 'paymaster-operator',
      identity: 'the-only-one',
      monotonic: () => performance.now(),
      ...common,
    }),
    masterKeys: {
      read: async () => ({ apiKeys: [Buffer.alloc(32, 1)], webhook: [Buffer.alloc(32, 2)] }),
      announcements: createKubeKeyAnnouncements({ transport, namespace, read: watched.read }),
      place: 'the test',
    },
  });
}

test('kubectl get shows what is ready and why, what a Paymaster serves, and what is compiled', async () => {
  const columnsOf = async (path: string): Promise<Readonly<Record<string, unknown>>> => {
    const { columnDefinitions, rows } = (await admin.request({
      method: 'GET',
      path,
      accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
    })) as {
      readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
      readonly rows: readonly { readonly cells: readonly unknown[] }[];
    };
    return Object.fromEntries(
      columnDefinitions.flatMap(({ name, priority }, index) =>
        priority === 0 ? [[name, rows[0]?.cells[index]]] : [],
      ),
    );
  };
  const base = `/apis/${group}/${version}/namespaces`;
  const shown = await columnsOf(`${base}/${tenant}/paymasters`);
  expect(Object.keys(shown)).toEqual(
    expect.arrayContaining(['Name', 'Ready', 'Reason', 'Serving', 'Chain', 'Funded']),
  );
  expect(shown['Reason']).not.toBe('');
  const system = `${base}/${parts.namespace}`;
  expect(await columnsOf(`${system}/paymasterconfigs`)).toMatchObject({
    State: 'Served',
    Source: `${tenant}/shop`,
  });
  expect(await columnsOf(`${system}/chainconfigs`)).toMatchObject({ State: 'Served', Source: 'dev' });
});

async function objectsOf({ collection, name }: Written): Promise<readonly Found[]> {
  const { items } = (await admin.request({ method: 'GET', path: collection })) as {
    readonly items: readonly Found[];
  };
  return items.filter(({ metadata }) => name === undefined || metadata.name === name);
}

async function readAll(one: Written): Promise<readonly unknown[]> {
  return (await objectsOf(one)).map(one.read);
}

const pathOf = ({ collection, isStatus }: Written, { metadata }: Found): string =>
  `${collection}/${metadata.name}${isStatus === true ? '/status' : ''}`;

async function send(request: (one: Written, found: Found) => KubeRequest, one: Written): Promise<void> {
  for (const found of await objectsOf(one))
    await admin.request(request(one, found)).catch((error: unknown) => {
      // The operator has written it meanwhile, such as the Lease, which its leader renews.
      if (!isStatus(error, 409)) throw error;
      return send(request, one);
    });
}

test.each([
  {
    name: 'deleted',
    rows: () => written,
    request: (one: Written, found: Found): KubeRequest => ({ method: 'DELETE', path: pathOf(one, found) }),
  },
  {
    name: 'changed',
    rows: () => [...written, ...statuses],
    request: (one: Written, found: Found): KubeRequest => ({
      method: 'PUT',
      path: pathOf(one, found),
      body: one.change(found),
    }),
  },
])('what somebody has $name by hand is back', async ({ rows, request }) => {
  const before = await Promise.all(rows().map(readAll));
  await Promise.all(rows().map((one) => send(request, one)));
  let left: readonly string[] = [];
  await until(
    () => `these are back: ${left.join(', ')}`,
    async () => {
      const now = await Promise.all(rows().map(readAll));
      left = rows().flatMap(({ what }, index) =>
        JSON.stringify(now[index]) === JSON.stringify(before[index])
          ? []
          : [`${what}: ${JSON.stringify(now[index])} instead of ${JSON.stringify(before[index])}`],
      );
      return left.length === 0;
    },
  );
  expect(left).toEqual([]);
});
