import { describe, expect, test } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { createControllerInstruments } from '../../operator/runtime/controller.js';
import { createLedgerKeeping } from '../../server/ledger/keeping.js';
import { createInstruments } from '../../server/ops/instruments.js';
import { parsePrivateHosts } from '../../core/policy/webhook/private-hosts.js';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { silentLogger } from '../../core/log.js';
import { isObject } from '../../core/schema/json-value.js';
import { systemClock } from '../../core/units/time.js';
import { serverFlags } from '../bench/subject-process.js';
import { repositoryRoot } from '../support/repository-root.js';
import { crdsChart, helm, operatorChart, reachAnywhere, renderOperator, renderText } from './support/helm.js';

type ValuesSchema = {
  readonly type?: string | readonly string[];
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, ValuesSchema>>;
};

type Labels = Readonly<Record<string, string>>;
type Peer = { readonly podSelector?: { readonly matchLabels?: Labels } };
type Rule = { readonly to?: readonly Peer[]; readonly from?: readonly Peer[]; readonly ports?: readonly { readonly port: unknown }[] };
type PolicySpec = { readonly podSelector: NonNullable<Peer['podSelector']>; readonly egress?: readonly Rule[]; readonly ingress?: readonly Rule[] };
type TestPod = {
  readonly metadata: { readonly labels: Labels };
  readonly spec: { readonly containers: readonly { readonly env: readonly { readonly value: string }[] }[] };
};
type ServiceSpec = { readonly ports: readonly { readonly port: number; readonly targetPort: string }[] };
type DeploymentSpec = {
  readonly template: {
    readonly metadata: { readonly labels: Labels };
    readonly spec: { readonly containers: readonly { readonly ports: readonly { readonly name: string; readonly containerPort: number }[] }[] };
  };
};

/** Whether a selector of a policy selects a pod with these labels; absent: no pod. */
function matches(selector: Peer['podSelector'], labels: Labels): boolean {
  return selector !== undefined && Object.entries(selector.matchLabels ?? {}).every(([name, value]) => labels[name] === value);
}

/** The values, with each whole number as large as the schema allows. */
function withLargest(schema: ValuesSchema, given: unknown): { readonly values: unknown; readonly largest: readonly number[] } {
  if (schema.type === 'integer' && schema.maximum !== undefined)
    return { values: schema.maximum, largest: [schema.maximum] };
  if (schema.properties === undefined) return { values: given, largest: [] };
  const before = isObject(given) ? given : {};
  const members = Object.entries(schema.properties).map(
    ([name, child]) => [name, withLargest(child, before[name])] as const,
  );
  const set = members.filter(([, { values }]) => values !== undefined).map(([name, { values }]) => [name, values] as const);
  return { values: { ...before, ...Object.fromEntries(set) }, largest: members.flatMap(([, { largest }]) => largest) };
}

const noLedger = {
  rollUp: async () => false,
  prune: async () => false,
  size: async () => ({ used: 0, capacity: 0 }),
};
const casesDirectory = join(repositoryRoot, 'test/charts/values');
const cases = readdirSync(casesDirectory).map((name) => ({ name, valuesFile: join(casesDirectory, name) }));

describe('rendering the charts', () => {
  test.each(cases)('$name passes helm lint and renders what was reviewed', ({ name, valuesFile }) => {
    const lint = helm(['lint', '--strict', operatorChart, `--values=${valuesFile}`]);
    expect(lint).toMatchObject({ ok: true });
    const reviewed = readFileSync(join(repositoryRoot, 'test/charts/golden', basename(name)), 'utf8');
    expect(renderText({ valuesFile })).toBe(reviewed);
  });

  test('the largest value of every whole number is rendered in digits: from a file Helm has it as a floating point', () => {
    const schema = JSON.parse(readFileSync(join(operatorChart, 'values.schema.json'), 'utf8')) as ValuesSchema;
    const given: unknown = parse(readFileSync(join(casesDirectory, 'everything.yaml'), 'utf8'));
    const { values, largest } = withLargest(schema, given);
    const directory = mkdtempSync(join(tmpdir(), 'paymaster-values-'));
    try {
      const valuesFile = join(directory, 'largest.yaml');
      writeFileSync(valuesFile, stringify(values));
      const text = renderText({ valuesFile });
      expect(text.match(/.*[0-9]e[+][0-9]+.*/g) ?? []).toEqual([]);
      expect(largest.length).toBeGreaterThan(20);
      expect(largest.filter((number) => number >= 1_000_000).length).toBeGreaterThan(1);
      for (const number of largest) expect(text).toContain(String(number));
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  test.each(['logLevel=info', 'networkPolicy.prometheusNamespace=monitoring', 'networkPolicy.from[0].podSelector.matchLabels.app=wallet'])(
    'the pod of helm test may ask every address that it is told, with %s',
    (value) => {
      const set = ['postgres.bundled.enabled=true', 'networkPolicy.apiServer.anywhere=true', value];
      const manifests = renderOperator({ set });
      const named = (kind: string, name: string) => manifests.find((each) => each.kind === kind && each.metadata.name === name);
      const pod = manifests.find(({ kind }) => kind === 'Pod') as unknown as TestPod;
      const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec as PolicySpec);
      const selecting = (labels: Labels) => policies.filter(({ podSelector }) => matches(podSelector, labels));
      const testLabels = pod.metadata.labels;
      const asked = (pod.spec.containers[0]?.env ?? []).flatMap(({ value }) => value.match(/[a-z][a-z-]+:[0-9]+$/)?.[0] ?? []);
      expect(asked.length).toBe(3);
      for (const address of asked) {
        const [host = '', port = ''] = address.split(':');
        const service = named('Service', host)?.spec as ServiceSpec;
        const target = service.ports.find((each) => String(each.port) === port)?.targetPort;
        const deployment = named('Deployment', host.replace(/-checks$/, ''))?.spec as DeploymentSpec;
        const { labels } = deployment.template.metadata;
        const number = deployment.template.spec.containers[0]?.ports.find(({ name }) => name === target)?.containerPort;
        const mayAsk = selecting(testLabels).some(({ egress = [] }) =>
          egress.some(({ to = [], ports = [] }) => to.some((peer) => matches(peer.podSelector, labels)) && ports.some((each) => each.port === number)),
        );
        const mayBeAsked = selecting(labels).some(({ ingress = [] }) =>
          ingress.some(
            ({ from, ports = [] }) =>
              (from === undefined || from.some((peer) => matches(peer.podSelector, testLabels))) && ports.some((each) => each.port === target),
          ),
        );
        expect({ address, mayAsk, mayBeAsked }).toEqual({ address, mayAsk: true, mayBeAsked: true });
      }
    },
  );

  test('the chart of definitions passes helm lint', () => {
    expect(helm(['lint', '--strict', crdsChart])).toMatchObject({ ok: true });
  });

  test('the notes say that nothing can be signed yet, and what is missing', () => {
    const run = helm(['install', 'gas', operatorChart, '--dry-run=client', reachAnywhere, '--set=postgres.bundled.enabled=true']);
    expect(run).toMatchObject({ ok: true });
    expect(run.stdout).toContain(
      'NOTHING CAN BE SIGNED YET. Missing: the Secret paymaster-master-keys, the Secret paymaster-signers with a signing key, any Chain, any Organisation, any Paymaster.',
    );
  });

  test('every component starts with the flags of Node that the bench measures with and `make run` has', () => {
    const makefile = readFileSync(join(repositoryRoot, 'Makefile'), 'utf8');
    expect(makefile).toContain(`SERVER_FLAGS := ${serverFlags.join(' ')}\n`);
    const deployments = renderOperator({ set: ['postgres.bundled.enabled=true'] }).filter(({ kind }) => kind === 'Deployment');
    for (const [component, program] of [['operator', 'operator'], ['dashboard', 'server'], ['rpc', 'server']]) {
      const deployment = deployments.find(({ metadata }) => metadata.name.endsWith(`-${component}`));
      const args = [...serverFlags, `dist/bin/${program}.js`];
      expect(deployment).toMatchObject({ spec: { template: { spec: { containers: [{ args }] } } } });
    }
  });

  test.each([
    { tag: '17', image: 'docker.io/library/postgres:17' },
    { tag: '20261001', image: 'docker.io/library/postgres:20261001' },
    { tag: '17-bookworm', image: 'docker.io/library/postgres:17-bookworm' },
  ])('the tag $tag may be given on the command line and in a file', ({ tag, image }) => {
    const flags = [`--set=postgres.bundled.image.tag=${tag}`, `--set-json=postgres.bundled.image.tag=${/^[0-9]+$/.test(tag) ? tag : JSON.stringify(tag)}`];
    for (const flag of flags) {
      const [database] = renderOperator({ set: ['postgres.bundled.enabled=true'], flags: [flag] }).filter(({ kind }) => kind === 'StatefulSet');
      expect(database).toMatchObject({ spec: { template: { spec: { containers: [{ image }] } } } });
    }
  });

  test('every image may be named by a digest, which wins over the tag', () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const images = renderOperator({
      set: [
        'postgres.bundled.enabled=true',
        ...['image', 'postgres.bundled.image'].map((image) => `${image}.digest=${digest}`),
      ],
    }).flatMap((manifest) => [...JSON.stringify(manifest).matchAll(/"image":"([^"]+)"/g)].map(([, image]) => image));
    expect(images.length).toBeGreaterThan(4);
    expect(images.filter((image) => !image?.endsWith(`@${digest}`))).toEqual([]);
  });

  test('charts/README names everything that an uninstall leaves', () => {
    const manifests = renderOperator({
      release: 'paymaster',
      namespace: 'paymaster-system',
      set: ['postgres.bundled.enabled=true'],
    });
    const annotated = (name: string) =>
      manifests.filter((manifest) => JSON.stringify(manifest.metadata).includes(`"${name}"`)).map(({ metadata }) => metadata.name);
    type Rule = { readonly resources: readonly string[]; readonly resourceNames?: readonly string[]; readonly verbs: readonly string[] };
    // A component that may update an object by its name has made it.
    const made = manifests
      .flatMap((manifest) => ('rules' in manifest ? (manifest.rules as readonly Rule[]) : []))
      .filter(({ verbs }) => verbs.includes('update'))
      .flatMap(({ resourceNames = [] }) => resourceNames);
    const left = [...annotated('helm.sh/resource-policy'), ...annotated('helm.sh/hook'), ...made];
    expect(left.length).toBeGreaterThan(8);
    const readme = readFileSync(join(repositoryRoot, 'charts/README.md'), 'utf8');
    const section = readme.split('## Uninstall')[1]?.split('\n## ')[0] ?? '';
    expect(left.filter((name) => !section.includes(name))).toEqual([]);
    for (const kind of ['paymasterconfigs', 'chainconfigs', 'paymasters.dev/organisation', 'writeConnectionSecretToRef'])
      expect(section).toContain(kind);
  });

  // The scheduler ignores a node for all constraints that lacks the label of one.
  test('replicas spread over nodes by the only constraint, so that nodes without a zone take part', () => {
    const specs = renderOperator({ set: ['postgres.bundled.enabled=true', 'rpc.affinity.nodeAffinity.x=y'] })
      .filter(({ kind }) => kind === 'Deployment')
      .map(({ spec }) => spec as { readonly template: { readonly spec: object } });
    expect(specs).toHaveLength(3);
    for (const { template } of specs)
      expect(template.spec).toMatchObject({
        topologySpreadConstraints: [{ topologyKey: 'kubernetes.io/hostname' }],
        affinity: {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { podAffinityTerm: { topologyKey: 'topology.kubernetes.io/zone' } },
            ],
          },
        },
      });
    expect(JSON.stringify(specs)).toContain('"nodeAffinity":{"x":"y"}');
  });

  test('no Service, Ingress or route leads to health or metrics', () => {
    const manifests = renderOperator({ valuesFile: join(casesDirectory, 'everything.yaml') });
    const isOfTest = ({ metadata }: (typeof manifests)[number]) => JSON.stringify(metadata).includes('"helm.sh/hook":"test"');
    const leading = manifests.filter(
      (manifest) => ['Service', 'Ingress', 'HTTPRoute'].includes(manifest.kind) && !isOfTest(manifest),
    );
    // The one of `helm test` is there while it runs.
    const [checks] = manifests.filter((manifest) => manifest.kind === 'Service' && isOfTest(manifest));
    expect(JSON.stringify(checks?.metadata)).toContain('"helm.sh/hook-delete-policy":"before-hook-creation,hook-succeeded"');
    expect(checks).toMatchObject({ spec: { clusterIP: 'None' } });
    expect(leading.map(({ kind }) => kind).toSorted()).toEqual(
      ['HTTPRoute', 'Ingress', 'Ingress', 'Service', 'Service', 'Service'],
    );
    expect(JSON.stringify(leading)).not.toMatch(/ops|8081|metrics|healthz|"(?:path|value)":"\/"/);
  });

  test('with the namespace of Prometheus named, the metrics are for that namespace only', () => {
    const rules = (set: readonly string[]) =>
      renderOperator({ set: ['postgres.bundled.enabled=true', ...set] })
        .filter(({ kind, metadata }) => kind === 'NetworkPolicy' && /-(operator|dashboard|rpc)$/.test(metadata.name))
        .flatMap(({ spec }) => (spec as { readonly ingress: readonly { readonly ports: readonly { readonly port: unknown }[] }[] }).ingress)
        .filter(({ ports }) => ports.some(({ port }) => port === 'ops'));
    const ports = [{ port: 'ops', protocol: 'TCP' }];
    const watching = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'watching' } } };
    // The pod of `helm test` reaches those of the rpc role besides.
    const helmTest = { podSelector: { matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': 'test' }) } };
    const allowing = (peer: object) =>
      [[peer], [peer], [peer, helmTest]].map((from) => expect.objectContaining({ ports, from }));
    expect(rules(['networkPolicy.prometheusNamespace=watching'])).toEqual(allowing(watching));
    expect(rules([])).toEqual(allowing({ podSelector: {} }));
  });

  test('the values of the page for newcomers are as the chart demands', () => {
    const manifests = renderOperator({ valuesFile: join(repositoryRoot, 'examples/kubernetes/values.yaml') });
    const deployments = manifests.filter(({ kind }) => kind === 'Deployment');
    expect(deployments.map(({ metadata }) => metadata.name).sort()).toEqual([
      'gas-paymaster-dashboard',
      'gas-paymaster-operator',
      'gas-paymaster-rpc',
    ]);
  });

  test('two releases in two namespaces share no cluster-scoped name', () => {
    const clusterNames = (namespace: string): readonly string[] =>
      renderOperator({ namespace, set: ['postgres.bundled.enabled=true', 'admission.chainAllowList.enabled=true'] })
        .filter(({ metadata }) => metadata.namespace === undefined)
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const first = clusterNames('one');
    expect(first.length).toBeGreaterThan(8);
    expect(clusterNames('two').filter((name) => first.includes(name))).toEqual([]);
  });

  test.each([
    { chainIds: [137], text: '137' },
    { chainIds: [1, 137], text: '1,137' },
    { chainIds: [], text: '' },
  ])('a list of allowed chains is text in its ConfigMap: $chainIds', ({ chainIds, text }) => {
    const lists = renderOperator({
      set: ['postgres.bundled.enabled=true', 'admission.chainAllowList.enabled=true'],
      flags: [`--set-json=admission.chainAllowList.chainIds=${JSON.stringify(chainIds)}`],
    }).filter(({ metadata }) => metadata.name.endsWith('-allowed-chains'));
    expect(lists).toMatchObject([{ kind: 'ConfigMap', data: { chainIds: text } }]);
  });

  test('without any port for public egress only listed addresses can be reached', () => {
    const policies = renderOperator({
      set: ['postgres.bundled.enabled=true'],
      flags: ['--set-json=networkPolicy.publicEgress.ports=[]'],
    })
      .filter(({ kind }) => kind === 'NetworkPolicy')
      .map((policy) => policy as { readonly spec: { readonly egress?: readonly { ports?: unknown }[] } });
    const rules = policies.flatMap(({ spec }) => spec.egress ?? []);
    expect(rules.length).toBeGreaterThan(5);
    // A rule without ports is one for all ports.
    expect(rules.filter(({ ports }) => !Array.isArray(ports) || ports.length === 0)).toEqual([]);
  });

  test('private webhook hosts are known to every process, and only the servers reach them', () => {
    const hosts = [
      { url: 'http://hooks.shop.svc.cluster.local:8080', networks: ['10.96.0.0/12', 'fd10::/64'] },
      { url: 'https://kyc.corp.example/', networks: ['10.20.0.7/32'] },
      { url: 'http://kyc.corp.example', networks: ['10.20.0.7/32'], to: [{ podSelector: {} }], port: 3000 },
    ];
    const manifests = renderOperator({
      set: ['postgres.bundled.enabled=true'],
      flags: [`--set-json=webhooks.allowedPrivateHosts=${JSON.stringify(hosts)}`],
    });
    const settings = manifests
      .filter(({ kind }) => kind === 'Deployment')
      .map((deployment) => JSON.stringify(deployment))
      .map((text) => /"name":"PAYMASTER_WEBHOOK_PRIVATE_HOSTS","value":"([^"]*)"/.exec(text)?.[1]);
    expect(settings).toHaveLength(3);
    const listed = hosts.map(({ url, networks }) => ({ origin: url.replace(/\/$/, ''), networks }));
    for (const text of settings) expect(parsePrivateHosts(text ?? '')).toEqual(listed);

    const rules = [
      { to: hosts[0]?.networks.map((cidr) => ({ ipBlock: { cidr } })), ports: [{ port: 8080, protocol: 'TCP' }] },
      { to: [{ ipBlock: { cidr: '10.20.0.7/32' } }], ports: [{ port: 443, protocol: 'TCP' }] },
      { to: [{ podSelector: {} }], ports: [{ port: 3000, protocol: 'TCP' }] },
    ];
    const egressOf = (component: string) =>
      manifests.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith(`-${component}`))?.spec;
    for (const component of ['rpc', 'dashboard'])
      expect(egressOf(component)).toMatchObject({ egress: expect.arrayContaining(rules) });
    expect(JSON.stringify(egressOf('operator'))).not.toContain('10.20.0.7');
  });

  test('the pod of `helm test` may always call the servers', () => {
    const policies = renderOperator({
      set: ['postgres.bundled.enabled=true', 'networkPolicy.from[0].namespaceSelector.matchLabels.ingress=yes'],
    });
    const pod = policies.find(({ kind }) => kind === 'Pod');
    const callers = policies
      .filter(({ kind, metadata }) => kind === 'NetworkPolicy' && /-(rpc|dashboard)$/.test(metadata.name))
      .map(({ spec }) => JSON.stringify(spec));
    expect(callers).toHaveLength(2);
    for (const text of callers) {
      expect(text).toContain('"ingress":"yes"');
      expect(text).toContain(`"app.kubernetes.io/component":"${pod?.metadata.labels?.['app.kubernetes.io/component']}"`);
    }
  });

  test('each component has a disruption budget exactly when it has more than one replica', () => {
    const budgets = (set: readonly string[]): readonly string[] =>
      renderOperator({ set: ['postgres.bundled.enabled=true', ...set] })
        .filter(({ kind }) => kind === 'PodDisruptionBudget')
        .map(({ metadata }) => metadata.name);
    expect(budgets([])).toEqual([
      'gas-paymaster-dashboard',
      'gas-paymaster-operator',
      'gas-paymaster-rpc',
    ]);
    expect(budgets(['operator.replicas=1', 'dashboard.replicas=1', 'rpc.replicas=1'])).toEqual([]);
  });

  test('every metric that alerts and the Grafana dashboard name exists in the server or is of controller-runtime', async () => {
    const metrics = createMetrics({ process: false });
    createInstruments(metrics);
    createLedgerKeeping({
      ledger: noLedger,
      processes: 1,
      clock: systemClock,
      log: silentLogger,
      metrics,
    });
    createControllerInstruments(metrics);
    const { body } = await metrics.render();
    const declared = new Set([...body.matchAll(/^# TYPE (\S+) /gm)].map((match) => match[1]));
    const elsewhere = readMetricNames('operator', 'adapters');
    // Of kube-state-metrics, by the configuration that the chart ships.
    declared.add('paymaster_resource_condition');
    const text = renderText({ valuesFile: join(casesDirectory, 'everything.yaml') });
    const named = new Set(
      [...text.matchAll(/\b((?:paymaster|controller_runtime|workqueue|leader_election)_[a-z_]+)\{/g)].map(
        (match) => match[1]?.replace(/_(?:bucket|count)$/, ''),
      ),
    );
    expect(named.size).toBeGreaterThan(12);
    expect([...named].filter((name) => !declared.has(name) && !elsewhere.has(name ?? ''))).toEqual([]);
  });

  test('the ledger is on, and needs no other process', () => {
    const manifests = renderOperator({ set: ['postgres.bundled.enabled=true'] });
    const deployments = manifests.filter(({ kind }) => kind === 'Deployment');
    expect(deployments.map(({ metadata }) => metadata.name)).not.toContain('gas-ledger');
    const texts = deployments.map((deployment) => JSON.stringify(deployment));
    expect(texts.filter((text) => text.includes('"name":"PAYMASTER_LEDGER","value":"on"'))).toHaveLength(2);
  });
});

/** Names given to `metrics.counter({ name: '…' })` and its kind anywhere below the folders. */
function readMetricNames(...folders: readonly string[]): ReadonlySet<string> {
  const files = folders.flatMap((folder) =>
    readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(repositoryRoot, folder, name), 'utf8')),
  );
  return new Set(files.flatMap((text) => [...text.matchAll(/name: '([a-z_]+)'/g)].map((match) => match[1] ?? '')));
}
