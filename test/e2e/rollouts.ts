import { awaited, components, podsOf, release, rolledOut, system } from './cluster.js';
import type { Tools } from './tools.js';

// Roll-outs that cannot work, of an installation that does: no pod that works may be replaced.

const patienceMs = 60_000;

/** Changes the pods of rpc and dashboard to a database that nobody has; puts it right at the end. */
export async function misspellDatabase(tools: Tools): Promise<void> {
  const servers = components.filter((component) => component !== 'operator');
  const deployments = servers.map((component) => `deployment/${release}-${component}`);
  const url = await tools.kubectl([
    'get',
    '-n',
    system,
    deployments[0] ?? '',
    '-o=jsonpath={.spec.template.spec.containers[0].env[?(@.name=="PAYMASTER_DATABASE_URL")].value}',
  ]);
  const misspelt = url.replace(/\/[^/?]+(\?|$)/, '/misspelt$1');
  if (misspelt === url) throw new Error(`no database in "${url}"`);
  await halts(tools, servers, async () => {
    for (const deployment of deployments)
      await tools.kubectl(['set', 'env', '-n', system, deployment, `PAYMASTER_DATABASE_URL=${misspelt}`]);
  });
  for (const deployment of deployments) {
    await tools.kubectl(['rollout', 'undo', '-n', system, deployment]);
    await rolledOut(tools, deployment);
  }
}

/** Names a Secret of signers, and one of chain URLs, that nobody has made; puts it right at the end. */
export async function misspellSecrets(tools: Tools, upgrade: readonly string[]): Promise<void> {
  for (const name of ['signers', 'chainUrls']) {
    await halts(tools, ['rpc'], () =>
      tools.helm([...upgrade, '--reset-then-reuse-values', `--set=${name}.secretName=nobody-made-it`]),
    );
    await tools.helm(['rollback', release, `--namespace=${system}`, '--wait', '--timeout=180s']);
  }
}

/** No upgrade takes a replica away: not where an autoscaler begins or ends, and not after somebody has scaled. */
export async function scaleTogether(tools: Tools, upgrade: readonly string[]): Promise<void> {
  const deployment = `deployment/${release}-rpc`;
  const replicas = (): Promise<string> =>
    tools.kubectl(['get', '-n', system, deployment, '-o=jsonpath={.spec.replicas}']);
  const keeps = async (expected: string, what: string, value: string): Promise<void> => {
    await tools.helm([...upgrade, '--reset-then-reuse-values', `--set=${value}`]);
    const found = await replicas();
    if (found !== expected) throw new Error(`${what}: ${expected} replicas became ${found}`);
    await rolledOut(tools, deployment);
  };
  const before = await replicas();
  await keeps(before, 'an autoscaler begins', 'rpc.autoscaling.enabled=true');
  await keeps(before, 'an autoscaler ends', 'rpc.autoscaling.enabled=false');
  const more = String(Number(before) + 1);
  await tools.kubectl(['scale', '-n', system, deployment, `--replicas=${more}`]);
  await keeps(more, 'an upgrade after kubectl scale', 'logLevel=info');
  await tools.kubectl(['scale', '-n', system, deployment, `--replicas=${before}`]);
  await rolledOut(tools, deployment);
}

/** After `change` a new pod of each component runs and is not ready for a minute, and as many as before are. */
async function halts(
  tools: Tools,
  changed: readonly string[],
  change: () => Promise<unknown>,
): Promise<void> {
  const before = await Promise.all(changed.map((component) => readyPods(tools, component)));
  const pods = await Promise.all(changed.map((component) => podsOf(tools, component)));
  await change();
  for (const [index, component] of changed.entries())
    await awaited(`a new pod of ${component} runs`, patienceMs, async () => {
      const running = await podsOf(tools, component);
      return running.some((pod) => pods[index]?.includes(pod) === false) ? true : undefined;
    });
  const until = performance.now() + patienceMs;
  while (performance.now() < until)
    for (const [index, component] of changed.entries()) {
      const ready = await readyPods(tools, component);
      const replaced = before[index]?.filter((pod) => !ready.includes(pod)) ?? [];
      if (replaced.length > 0) throw new Error(`${replaced.join(', ')} were replaced`);
      const added = ready.filter((pod) => before[index]?.includes(pod) === false);
      if (added.length > 0) throw new Error(`${added.join(', ')} are ready and cannot work`);
    }
}

async function readyPods(tools: Tools, component: string): Promise<readonly string[]> {
  const labels = `app.kubernetes.io/instance=${release},app.kubernetes.io/component=${component}`;
  const text = await tools.kubectl(['get', 'pods', '-n', system, `-l=${labels}`, '-o=json']);
  const { items } = JSON.parse(text) as {
    readonly items: readonly {
      readonly metadata: { readonly name: string };
      readonly status: {
        readonly conditions?: readonly { readonly type: string; readonly status: string }[];
      };
    }[];
  };
  const isReady = ({ status }: (typeof items)[number]) =>
    status.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true;
  return items.filter(isReady).map(({ metadata }) => metadata.name);
}
