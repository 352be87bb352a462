import { describe, expect, test } from '@jest/globals';
import { join } from 'node:path';
import { parsePostgresUrl } from '../../adapters/postgres/address.js';
import { repositoryRoot } from '../support/repository-root.js';
import { helm, operatorChart, reachAnywhere, renderOperator, type Manifest } from './support/helm.js';

// The four ways to say where the database is, of which a release takes one. On a cluster: kube/mode/bundled-database.

const withCloudNativePg = '--api-versions=postgresql.cnpg.io/v1';
const example = (name: string): string => join(repositoryRoot, 'examples/kubernetes', `postgres-${name}.yaml`);
const optionsOf = (name: string) => ({
  valuesFile: example(name),
  flags: name === 'cloudnativepg' ? [withCloudNativePg] : [],
});
const render = (name: string) => renderOperator(optionsOf(name));

type Pod = {
  readonly containers: readonly { readonly env: readonly { readonly name: string; readonly value?: string }[] }[];
  readonly volumes: readonly { readonly name: string }[];
};

function podOf(manifests: readonly Manifest[], component: string): Pod {
  const found = manifests.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith(`-${component}`));
  return (found!.spec as { readonly template: { readonly spec: Pod } }).template.spec;
}

const settingsOf = (pod: Pod) =>
  (pod.containers[0]?.env ?? []).filter(({ name }) => name.startsWith('PAYMASTER_DATABASE_'));
const file = (name: string) => `/etc/paymaster/database/${name}`;
const item = (name: string, key: string) => ({ secret: { name, items: [{ key, path: key }] } });

describe('the address of the database', () => {
  test.each([
    {
      name: 'url',
      why: 'an address, with a Secret beside it',
      settings: [
        { name: 'PAYMASTER_DATABASE_URL', value: 'postgresql://paymaster@db.example.org:5432/paymaster' },
        { name: 'PAYMASTER_DATABASE_CA_FILE', value: file('ca.crt') },
        { name: 'PAYMASTER_DATABASE_PASSWORD_FILE', value: file('password') },
      ],
      sources: [item('paymaster-database', 'ca.crt'), item('paymaster-database', 'password')],
    },
    {
      name: 'secret',
      why: 'a Secret that holds the address',
      settings: [
        {
          name: 'PAYMASTER_DATABASE_URL',
          valueFrom: { secretKeyRef: { name: 'paymaster-database', key: 'url' } },
        },
      ],
      sources: undefined,
    },
    {
      name: 'bundled',
      why: 'the one of the chart, with the password that the chart has made',
      settings: [
        {
          name: 'PAYMASTER_DATABASE_URL',
          value: 'postgresql://paymaster@gas-paymaster-postgres:5432/paymaster?sslmode=disable',
        },
        { name: 'PAYMASTER_DATABASE_PASSWORD_FILE', value: file('password') },
      ],
      sources: [item('gas-paymaster-postgres', 'password')],
    },
    {
      name: 'cloudnativepg',
      why: 'the Service that is the primary, with what CloudNativePG makes, without the key of its authority',
      settings: [
        { name: 'PAYMASTER_DATABASE_URL', value: 'postgresql://paymaster@gas-paymaster-postgres-rw:5432/paymaster' },
        { name: 'PAYMASTER_DATABASE_CA_FILE', value: file('ca.crt') },
        { name: 'PAYMASTER_DATABASE_PASSWORD_FILE', value: file('password') },
      ],
      sources: [item('gas-paymaster-postgres-ca', 'ca.crt'), item('gas-paymaster-postgres-app', 'password')],
    },
  ])('of examples/kubernetes/postgres-$name.yaml is $why', ({ name, settings, sources }) => {
    const manifests = render(name);
    for (const component of ['rpc', 'dashboard']) {
      const pod = podOf(manifests, component);
      expect(settingsOf(pod)).toEqual(settings);
      const volume = pod.volumes.find((each) => each.name === 'database');
      expect(volume).toEqual(sources && { name: 'database', projected: { defaultMode: expect.any(Number), sources } });
    }
    expect(settingsOf(podOf(manifests, 'operator'))).toEqual([]);
    expect(podOf(manifests, 'operator').volumes.find((each) => each.name === 'database')).toBeUndefined();
    for (const { name: setting, value } of settingsOf(podOf(manifests, 'rpc')))
      if (setting.endsWith('_URL') && value !== undefined) parsePostgresUrl(setting, value);
  });

  test.each([
    { name: 'none', set: 'logLevel=info', got: 'none' },
    {
      name: 'two',
      set: 'postgres.bundled.enabled=true,postgres.url=postgresql://u@db.example.org/u',
      got: 'url and bundled.enabled',
    },
    {
      name: 'a Secret and CloudNativePG',
      set: 'postgres.existingSecret=db,postgres.cloudnativepg.enabled=true',
      got: 'existingSecret and cloudnativepg.enabled',
    },
  ])('is given once: $name is refused with what to set', ({ set, got }) => {
    const { ok, stderr } = helm(['template', 'gas', operatorChart, reachAnywhere, `--set=${set}`]);
    expect(ok).toBe(false);
    expect(stderr).toContain(
      `postgres needs exactly one of url, existingSecret, bundled.enabled and cloudnativepg.enabled, got ${got}: postgres.url is the address of a PostgreSQL 15 or later`,
    );
  });

  test.each([
    {
      name: 'a certificate that no Secret holds',
      set: 'postgres.url=postgresql://u@db.example.org/u,postgres.secretKeys.ca=ca.crt',
      message: 'postgres.secretName must name the Secret that holds secretKeys.ca (ca.crt)',
    },
    {
      name: 'a Secret that nothing would read',
      set: 'postgres.bundled.enabled=true,postgres.secretName=db',
      message: 'postgres.secretName (db) goes with postgres.url: bundled.enabled brings its own Secret',
    },
    {
      name: 'a Secret without the key of the address',
      set: 'postgres.existingSecret=db,postgres.secretKeys.url=',
      message: 'postgres.secretKeys.url must name the key of db that holds the address',
    },
    {
      name: 'CloudNativePG where its definitions are not installed',
      set: 'postgres.cloudnativepg.enabled=true',
      message:
        'postgres.cloudnativepg needs CloudNativePG 1.28 or later: its definitions (postgresql.cnpg.io/v1) are not in this cluster.',
    },
  ])('is not taken with $name', ({ set, message }) => {
    const { ok, stderr } = helm(['template', 'gas', operatorChart, reachAnywhere, `--set=${set}`]);
    expect(ok).toBe(false);
    expect(stderr).toContain(message);
  });
});

describe('what may reach the database', () => {
  function egressOf(manifests: readonly Manifest[], component: string): readonly unknown[] {
    const found = manifests.find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith(`-${component}`),
    );
    return (found!.spec as { readonly egress: readonly unknown[] }).egress;
  }
  const ports = [{ port: 5432, protocol: 'TCP' }];

  test.each([
    { name: 'url', to: [{ ipBlock: { cidr: '192.0.2.64/28' } }] },
    { name: 'secret', to: undefined },
    {
      name: 'bundled',
      to: [{ podSelector: { matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': 'postgres' }) } }],
    },
    {
      name: 'cloudnativepg',
      to: [{ podSelector: { matchLabels: { 'cnpg.io/cluster': 'gas-paymaster-postgres' } } }],
    },
  ])('of postgres-$name.yaml are rpc and dashboard, not the operator', ({ name, to }) => {
    const manifests = render(name);
    const rule = to === undefined ? { ports } : { ports, to };
    for (const component of ['rpc', 'dashboard'])
      expect(egressOf(manifests, component)).toContainEqual(rule);
    expect(JSON.stringify(egressOf(manifests, 'operator'))).not.toContain('5432');
  });

  test('of the bundled one are they alone', () => {
    const policy = render('bundled').find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'gas-paymaster-postgres',
    );
    const callers = JSON.stringify(policy?.spec).matchAll(/"app.kubernetes.io\/component":"(\w+)"/g);
    expect([...callers].map(([, name]) => name)).toEqual(['postgres', 'rpc', 'dashboard']);
  });
});

describe('the bundled PostgreSQL', () => {
  test('without persistence asks for no volume, and a corrected pod replaces one that never started', () => {
    const manifests = renderOperator({
      set: ['postgres.bundled.enabled=true', 'postgres.bundled.persistence.enabled=false'],
    });
    expect(manifests.map(({ kind }) => kind)).not.toContain('PersistentVolumeClaim');
    const volumes = expect.arrayContaining([{ name: 'data', emptyDir: { sizeLimit: '10Gi' } }]);
    expect(manifests.find(({ kind }) => kind === 'StatefulSet')).toMatchObject({
      spec: { podManagementPolicy: 'Parallel', template: { spec: { volumes } } },
    });
  });

  test('has the password of a Secret that is named, and the chart makes none', () => {
    const manifests = renderOperator({
      set: ['postgres.bundled.enabled=true', 'postgres.bundled.passwordSecret=mine'],
    });
    expect(manifests.map(({ kind }) => kind)).not.toContain('Secret');
    const env = expect.arrayContaining([
      { name: 'POSTGRES_PASSWORD', valueFrom: { secretKeyRef: { name: 'mine', key: 'password' } } },
    ]);
    expect(manifests.find(({ kind }) => kind === 'StatefulSet')).toMatchObject({
      spec: { template: { spec: { containers: [{ env }] } } },
    });
  });

  test('is said to be for trials in the notes', () => {
    const notes = (...set: readonly string[]) =>
      helm(['install', 'gas', operatorChart, '--dry-run=client', reachAnywhere, ...set.map((value) => `--set=${value}`)]).stdout;
    const bundled = 'postgres.bundled.enabled=true';
    expect(notes(bundled)).toContain('The bundled PostgreSQL is a single instance for trials, without failover and backup');
    expect(notes(bundled, 'postgres.bundled.persistence.enabled=false')).toContain('Its data go with the pod');
    expect(notes('postgres.existingSecret=db')).not.toContain('bundled');
  });
});

test('CloudNativePG answers a commit when a standby has it, and promotes none that may lack one', () => {
  const [cluster] = render('cloudnativepg').filter(({ kind }) => kind === 'Cluster');
  expect(cluster).toMatchObject({
    apiVersion: 'postgresql.cnpg.io/v1',
    metadata: { name: 'gas-paymaster-postgres', annotations: { 'helm.sh/resource-policy': 'keep' } },
    spec: {
      instances: 3,
      bootstrap: { initdb: { database: 'paymaster', owner: 'paymaster' } },
      postgresql: {
        synchronous: { method: 'any', number: 1, dataDurability: 'required', failoverQuorum: true },
      },
      storage: { size: '50Gi' },
    },
  });
});
