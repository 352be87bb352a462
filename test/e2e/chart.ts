import { awaited, components, podsOf, release, system, tenant, type Nodes } from './cluster.js';
import type { World } from './scenario.js';
import type { Tools } from './tools.js';
import { startWalletPod, type WalletPod } from './wallet-pod.js';

// What the chart promises of rights, ports and places, tried on the cluster.

/** Stands for the namespace of Prometheus. */
export const monitoring = 'paymaster-e2e-monitoring';
const operator = `system:serviceaccount:${system}:${release}-operator`;
export const opsPort = 8081;

/** Replicas of one component share no node while there are two, also on nodes without zone labels. */
export async function provePlaces({ tools, report }: World, { keeper, spare }: Nodes): Promise<void> {
  if (spare === undefined) return report.skip('replicas on both nodes', 'the cluster has one node only');
  await report.step('replicas of each component are on both nodes', async () => {
    const zones = await tools.kubectl([
      'get',
      'nodes',
      keeper,
      spare,
      '-o=jsonpath={.items[*].metadata.labels.topology\\.kubernetes\\.io/zone}',
    ]);
    const places = await Promise.all(components.map((component) => placesOf(tools, component)));
    const spread = Object.fromEntries(components.map((component, index) => [component, places[index] ?? []]));
    const crowded = Object.entries(spread).filter(([, nodes]) => new Set(nodes).size < 2);
    if (crowded.length > 0) throw new Error(JSON.stringify(spread));
    return `${JSON.stringify(spread)}, zone labels: ${zones.trim() || 'none'}`;
  });
}

async function placesOf(tools: Tools, component: string): Promise<readonly string[]> {
  const pods = await podsOf(tools, component);
  return Promise.all(
    pods.map((pod) => tools.kubectl(['get', 'pod', '-n', system, pod, '-o=jsonpath={.spec.nodeName}'])),
  );
}

/** Roles that an attacker with the operator's account could bind. Each attempt is a dry run, so nothing is written. */
export async function proveRights({ tools, report }: World): Promise<void> {
  const dashboard = `${system}:${release}-dashboard`;
  await report.step('the operator binds its own roles to its own accounts only', async () => {
    const tenantRole = await roleOf(tools, 'tenant');
    const secretsRole = await roleOf(tools, 'connection-secrets');
    const own = [
      await bind(tools, 'paymaster-dashboard', tenantRole, dashboard),
      await bind(tools, 'paymaster-connection-secrets', secretsRole, `${system}:${release}-operator`),
    ];
    // They are there already, which is said after everything that could have refused them.
    if (own.some(({ code, stderr }) => code !== 0 && !stderr.includes('already exists')))
      throw new Error(own.map(({ stderr }) => stderr).join('\n'));
    const refused = {
      'another account': await bind(tools, 'paymaster-dashboard', tenantRole, 'default:default'),
      'another of its roles': await bind(tools, 'paymaster-dashboard', secretsRole, dashboard),
      'another name': await bind(tools, 'anything', tenantRole, dashboard),
      'cluster-admin': await bind(tools, 'paymaster-dashboard', 'cluster-admin', dashboard),
    };
    const passed = Object.entries(refused).filter(
      ([, { code, stderr }]) => code === 0 || !/forbidden|denied request/i.test(stderr),
    );
    if (passed.length > 0) throw new Error(JSON.stringify(passed));
    return `2 allowed; refused: ${Object.keys(refused).join(', ')}`;
  });
  await report.step(
    'the operator writes Secrets in namespaces of Organisations only, and reads none',
    async () => {
      const may = async (verb: string, namespace: string): Promise<string> =>
        (
          await tools.tryKubectl(['auth', 'can-i', verb, 'secrets', '-n', namespace, `--as=${operator}`])
        ).stdout.trim();
      const answers = {
        [tenant]: await may('update', tenant),
        default: await may('update', 'default'),
        'kube-system': await may('update', 'kube-system'),
        read: await may('get', tenant),
      };
      const expected = { [tenant]: 'yes', default: 'no', 'kube-system': 'no', read: 'no' };
      if (JSON.stringify(answers) !== JSON.stringify(expected)) throw new Error(JSON.stringify(answers));
      return JSON.stringify(answers);
    },
  );
}

/** Name of one of the chart's cluster roles, which holds the release's. */
async function roleOf(tools: Tools, name: string): Promise<string> {
  const labels = `-l=app.kubernetes.io/instance=${release}`;
  const roles = (await tools.kubectl(['get', 'clusterroles', labels, '-o=name'])).split('\n');
  const found = roles.find((role) => role.endsWith(`-${name}`));
  if (found === undefined) throw new Error(`no cluster role ends with -${name}: ${roles.join(' ')}`);
  return found.replace(/^[^/]*\//, '');
}

function bind(tools: Tools, name: string, role: string, account: string): ReturnType<Tools['tryKubectl']> {
  const [namespace = '', subject = ''] = account.split(':');
  return tools.tryKubectl(
    ['create', '--dry-run=server', `--as=${operator}`, '-f', '-'],
    JSON.stringify({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name, namespace: tenant },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ kind: 'ServiceAccount', namespace, name: subject }],
    }),
  );
}

/** Health and metrics are beside the Services; until the namespace of Prometheus is named, only pods of the own namespace reach them. */
export async function proveMetricsPort({ tools, report }: World, wallet: WalletPod): Promise<void> {
  await report.step('no Service leads to the port of the metrics', async () => {
    for (const component of ['rpc', 'dashboard'] as const) {
      const host = `${release}-${component}.${system}.svc`;
      if (await wallet.reaches(host, opsPort)) throw new Error(`${host}:${opsPort} is reached`);
      const answer = await wallet.fetch(`http://${host}/metrics`, 'GET', {});
      if (answer.status !== 404) throw new Error(`${host}/metrics answers HTTP ${answer.status}`);
    }
    const [address = ''] = await addressesOf(tools, 'rpc');
    if (await wallet.reaches(address, opsPort)) throw new Error(`${address}:${opsPort} is reached`);
    return `port ${opsPort} of Services and of pods shut, /metrics on port 80 is 404`;
  });
}

/** After an upgrade that named `monitoring` as the namespace of Prometheus. */
export async function provePrometheusOnly(world: World, wallet: WalletPod, node: string): Promise<void> {
  const { tools, report, config } = world;
  await report.step('only the namespace of Prometheus reaches the metrics', async () => {
    await tools.kubectl(['create', 'namespace', monitoring]);
    const prometheus = await startWalletPod(tools, config, monitoring, node);
    const counts = { prometheus: 0, wallet: 0 };
    const targets = (await Promise.all(components.map((each) => addressesOf(tools, each)))).flat();
    for (const address of targets) {
      if (await prometheus.reaches(address, opsPort)) counts.prometheus += 1;
      if (await wallet.reaches(address, opsPort)) counts.wallet += 1;
    }
    const expected = { prometheus: targets.length, wallet: 0 };
    if (JSON.stringify(counts) !== JSON.stringify(expected)) throw new Error(JSON.stringify(counts));
    return `of ${targets.length} pods: ${JSON.stringify(counts)}`;
  });
}

async function addressesOf(tools: Tools, component: string): Promise<readonly string[]> {
  const pods = await podsOf(tools, component);
  return Promise.all(
    pods.map((pod) => tools.kubectl(['get', 'pod', '-n', system, pod, '-o=jsonpath={.status.podIP}'])),
  );
}

/** Values of an upgrade that opens rpc to the outside. */
export const ingressValues = [
  '--set=rpc.ingress.enabled=true',
  '--set=rpc.ingress.host=rpc.example.org',
] as const;

export async function proveIngress({ tools, report }: World): Promise<void> {
  await report.step('the Ingress leads to the API and its document, and to nothing else', async () => {
    const text = await awaited('the Ingress is there', 10_000, async () => {
      const found = await tools.tryKubectl([
        'get',
        'ingress',
        '-n',
        system,
        `${release}-rpc`,
        '-o=jsonpath={.spec.rules[*].host} {.spec.rules[*].http.paths[*].path}',
      ]);
      return found.code === 0 ? found.stdout : undefined;
    });
    if (text !== 'rpc.example.org /api/v1 /api/v2 /openrpc.json') throw new Error(text);
    return text;
  });
}

/** The first roll-out fails, because the image of PostgreSQL has a wrong name; an upgrade with the right one puts it right. */
export async function failFirst({ tools, report }: World, install: readonly string[]): Promise<void> {
  await report.step('helm installs with an image of PostgreSQL that nobody has', async () => {
    await tools.helm([
      ...install,
      '--set=postgres.bundled.image.tag=e2e-missing',
      '--set=postgres.bundled.persistence.enabled=false',
    ]);
    const reason = await awaited('the pod of PostgreSQL waits for its image', 60_000, async () => {
      const { stdout } = await tools.tryKubectl([
        'get',
        'pod',
        '-n',
        system,
        `${release}-postgres-0`,
        '-o=jsonpath={.status.containerStatuses[0].state.waiting.reason}',
      ]);
      return /Image/.test(stdout) ? stdout : undefined;
    });
    return reason;
  });
}
