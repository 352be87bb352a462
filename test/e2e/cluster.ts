import { performance } from 'node:perf_hooks';
import type { E2eConfig } from './config.js';
import type { Tools } from './tools.js';

// What the scenario asks of the cluster, in its words.

export const release = 'paymaster';
export const system = 'paymaster-e2e';
export const tenant = 'quickstart';
export const components = ['operator', 'dashboard', 'rpc'] as const;

export type Nodes = {
  /** Holds what exists once: PostgreSQL, the wallet pod and, where it can be had, the cluster's DNS. */
  readonly keeper: string;
  /** May be drained; absent in a cluster of one node. */
  readonly spare?: string;
};

/** Polls until `check` answers something; the failure says what was awaited. */
export async function awaited<T>(
  what: string,
  timeoutMs: number,
  check: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const found = await check();
    if (found !== undefined) return found;
    if (performance.now() > deadline)
      throw new Error(`after ${timeoutMs / 1000} s still waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

export async function chooseNodes(tools: Tools): Promise<Nodes> {
  const names = (
    await tools.kubectl([
      'get',
      'nodes',
      '-o=jsonpath={range .items[?(@.status.conditions[-1].status=="True")]}{.metadata.name}{"\\n"}{end}',
    ])
  )
    .split('\n')
    .filter((name) => name !== '');
  const schedulable = await Promise.all(
    names.map(async (name) => ((await hasNoScheduleTaint(tools, name)) ? [] : [name])),
  );
  const workers = schedulable.flat();
  const dnsNodes = (
    await tools.kubectl([
      'get',
      'pods',
      '-n',
      'kube-system',
      '-l',
      'k8s-app=kube-dns',
      '-o=jsonpath={.items[*].spec.nodeName}',
    ])
  ).split(' ');
  const keeper = workers.find((name) => dnsNodes.includes(name)) ?? workers[0];
  if (keeper === undefined) throw new Error('the cluster has no node that takes pods');
  const spare = workers.find((name) => name !== keeper);
  return { keeper, ...(spare === undefined ? {} : { spare }) };
}

async function hasNoScheduleTaint(tools: Tools, node: string): Promise<boolean> {
  const effects = await tools.kubectl(['get', 'node', node, '-o=jsonpath={.spec.taints[*].effect}']);
  return /NoSchedule|NoExecute/.test(effects);
}

/** Values that the environment needs; everything else is the chart's default. */
export function environmentValues(
  config: E2eConfig,
  chain: { readonly port: number },
): Readonly<Record<string, unknown>> {
  return {
    image: config.image,
    postgres: {
      bundled: { enabled: true, image: asSet(config.postgresImage), persistence: { size: '1Gi' } },
    },
    networkPolicy: {
      apiServer: { anywhere: true },
      // The chain has an IPv4 address, and small policy engines know no other.
      publicEgress: { exceptCidrsV6: [] },
      extraEgress: [
        {
          to: [{ ipBlock: { cidr: `${config.chainHost}/32` } }],
          ports: [{ port: chain.port, protocol: 'TCP' }],
        },
      ],
    },
  };
}

/** A tag of digits only is a number to `--set`, which the chart must take. */
function asSet(image: E2eConfig['postgresImage']): object {
  return { ...image, tag: /^[1-9][0-9]*$/.test(image.tag) ? Number(image.tag) : image.tag };
}

export async function rolledOut(tools: Tools, workload: string): Promise<void> {
  await tools.kubectl(['rollout', 'status', '-n', system, workload, '--timeout=180s']);
}

/** Names of the pods of a component that are not on their way out. */
export async function podsOf(tools: Tools, component: string): Promise<readonly string[]> {
  const labels = `app.kubernetes.io/instance=${release},app.kubernetes.io/component=${component}`;
  const text = await tools.kubectl(['get', 'pods', '-n', system, `-l=${labels}`, '-o=json']);
  const { items } = JSON.parse(text) as {
    readonly items: readonly {
      readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
      readonly status: { readonly phase: string };
    }[];
  };
  return items
    .filter(({ metadata, status }) => metadata.deletionTimestamp === undefined && status.phase === 'Running')
    .map(({ metadata }) => metadata.name);
}

export async function leaseHolder(tools: Tools): Promise<string> {
  return tools.kubectl([
    'get',
    'lease',
    '-n',
    system,
    `${release}-operator`,
    '-o=jsonpath={.spec.holderIdentity}',
  ]);
}

/** Status of a condition, or an empty text. */
export function condition(tools: Tools, object: string, type: string, namespace = tenant): Promise<string> {
  return tools.kubectl([
    'get',
    '-n',
    namespace,
    object,
    `-o=jsonpath={.status.conditions[?(@.type=="${type}")].status}`,
  ]);
}
