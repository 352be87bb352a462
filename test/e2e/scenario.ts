import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Interface } from 'ethers';
import { hashCredential } from '../../core/config/api-key.js';
import type { Hex } from '../../core/units/hex.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { buildAccount, encodeWith } from '../chain/support/account.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { buildUserOp, signByAccount } from '../chain/support/user-op.js';
import { repositoryRoot } from '../support/repository-root.js';
import { toWire } from '../system/support/client.js';
import type { ReachableChain } from './chain.js';
import {
  failFirst,
  ingressValues,
  monitoring,
  proveIngress,
  proveMetricsPort,
  provePlaces,
  provePrometheusOnly,
  proveRights,
} from './chart.js';
import {
  awaited,
  chooseNodes,
  components,
  condition,
  environmentValues,
  leaseHolder,
  podsOf,
  release,
  rolledOut,
  system,
  tenant,
  type Nodes,
} from './cluster.js';
import type { E2eConfig } from './config.js';
import type { Report } from './report.js';
import { misspellDatabase, misspellSecrets, scaleTogether } from './rollouts.js';
import { run, type Tools } from './tools.js';
import { reachScript, startWalletPod, walletPodName, type LoadResult, type WalletPod } from './wallet-pod.js';

export type World = {
  readonly config: E2eConfig;
  readonly tools: Tools;
  readonly report: Report;
  readonly chain: ReachableChain;
};

const crdsRelease = 'paymaster-crds';
const crdsNamespace = 'paymaster-crds';
const operatorChart = join(repositoryRoot, 'charts/paymaster-operator');
const counter = new Interface(['function increment()']);

/** The whole life of an installation, from nothing to nothing but users' resources. Throws at the first step that fails. */
export async function runScenario(world: World): Promise<void> {
  const { config, tools, report } = world;
  const files = mkdtempSync(join(tmpdir(), 'paymaster-e2e-'));
  try {
    const nodes = await install(world, files);
    const wallet = await startQuickstart(world, nodes);
    const rpcUrl = await connectionUrl(tools);
    await proveWalls(world, wallet);
    await proveMetricsPort(world, wallet);
    await proveRights(world);
    await sponsorAndMine(world, wallet, rpcUrl, 'an operation is sponsored through the Service and mined');
    await useDashboard(world, wallet);
    await disturb(world, nodes, wallet, rpcUrl);
    await loseLeader(world);
    await changeRelease(world, nodes, wallet, rpcUrl);
    await sponsorAndMine(world, wallet, rpcUrl, 'after all of that an operation is sponsored and mined');
    if (config.keep) report.skip('uninstall', 'KEEP=1');
    else await uninstall(world, files, rpcUrl);
  } finally {
    rmSync(files, { recursive: true, force: true });
  }
}

export async function install(world: World, files: string): Promise<Nodes> {
  const { config, tools, report, chain } = world;
  report.section('Install');
  if (config.loadImage !== undefined) {
    const command = config.loadImage;
    await report.step(`images are brought to the nodes with "${command}"`, async () => {
      const loaded = await run('sh', ['-c', command]);
      if (loaded.code !== 0) throw new Error(loaded.stdout + loaded.stderr);
      return undefined;
    });
  }
  const nodes = await chooseNodes(tools);
  const { spare } = nodes;
  await report.step('namespaces that enforce the restricted Pod Security standard', async () => {
    for (const name of [system, tenant]) {
      await tools.kubectl(['create', 'namespace', name]);
      await tools.kubectl([
        'label',
        'namespace',
        name,
        'pod-security.kubernetes.io/enforce=restricted',
        'pod-security.kubernetes.io/warn=restricted',
        ...(name === tenant ? ['paymasters.dev/organisation=true'] : []),
      ]);
    }
    return `${system}, ${tenant}; nodes ${nodes.keeper}${nodes.spare ? `, ${nodes.spare}` : ''}`;
  });
  await report.step('master keys, signing key and chain URL are Secrets', async () => {
    await makeSecret(tools, 'paymaster-master-keys', {
      'master.key': randomBytes(32).toString('hex'),
      'webhook-master.key': randomBytes(32).toString('hex'),
      'session.key': randomBytes(32).toString('hex'),
    });
    await makeSecret(tools, 'paymaster-signers', { dev: devAccounts.signer.privateKey });
    await makeSecret(tools, 'paymaster-chain-urls', { dev: chain.url });
    return undefined;
  });
  await provideVolume(tools, files, report);
  await report.step('helm installs the definitions', async () => {
    const chart = join(repositoryRoot, 'charts/paymaster-crds');
    await tools.helm(['install', crdsRelease, chart, `--namespace=${crdsNamespace}`, '--create-namespace']);
    await tools.kubectl([
      'wait',
      '--for=condition=Established',
      '--timeout=30s',
      'crd/paymasters.paymasters.dev',
    ]);
    return undefined;
  });
  // The database exists once: it must not be where a node is drained later.
  if (spare !== undefined) await tools.kubectl(['cordon', spare]);
  const valuesFile = join(files, 'values.json');
  writeFileSync(valuesFile, JSON.stringify(environmentValues(config, chain)));
  const chart = [release, operatorChart, `--namespace=${system}`, `--values=${valuesFile}`];
  await failFirst(world, ['install', ...chart]);
  await report.step('helm upgrade puts it right, and its pods are Ready', async () => {
    try {
      await tools.helm(['upgrade', ...chart, '--wait', '--timeout=180s']);
    } finally {
      if (spare !== undefined) await tools.kubectl(['uncordon', spare]);
    }
    const pods = await tools.kubectl(['get', 'pods', '-n', system, '--no-headers']);
    return `${pods.trim().split('\n').length} pods`;
  });
  for (const component of components) {
    await report.step(`${component} runs as nobody in particular on a read-only root`, async () => {
      const [pod] = await podsOf(tools, component);
      const script = `const { readFileSync, writeFileSync } = require('node:fs'); let written = 'written'; try { writeFileSync('/app/x', ''); } catch (error) { written = error.code; } console.log(process.getuid(), written, readFileSync('/proc/1/cmdline', 'utf8').split('\\0')[0])`;
      const answer = await tools.kubectl(['exec', '-n', system, pod ?? '', '--', 'node', '-e', script]);
      if (!answer.startsWith('1000 EROFS node'))
        throw new Error(`expected "1000 EROFS node", got "${answer.trim()}"`);
      return answer.trim();
    });
  }
  return nodes;
}

/** A cluster without storage classes shares this machine's disk: a folder of it becomes the volume of PostgreSQL. */
async function provideVolume(tools: Tools, files: string, report: Report): Promise<void> {
  const classes = await tools.kubectl(['get', 'storageclass', '-o=name']);
  if (classes.trim() !== '') return;
  await report.step('a volume for PostgreSQL, because the cluster has no storage class', async () => {
    chmodSync(files, 0o777);
    await tools.kubectl(
      ['apply', '-f', '-'],
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'paymaster-e2e-postgres' },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          persistentVolumeReclaimPolicy: 'Retain',
          hostPath: { path: files, type: 'Directory' },
          claimRef: { namespace: system, name: `${release}-postgres` },
        },
      }),
    );
    return files;
  });
}

export async function makeSecret(
  tools: Tools,
  name: string,
  stringData: Readonly<Record<string, string>>,
): Promise<void> {
  await tools.kubectl(
    ['apply', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: system }, stringData }),
  );
}

export async function startQuickstart({ config, tools, report }: World, nodes: Nodes): Promise<WalletPod> {
  report.section('Quickstart');
  await report.step('kubectl apply -f examples/quickstart', async () => {
    await tools.kubectl(['apply', '-f', join(repositoryRoot, 'examples/quickstart')]);
    await tools.kubectl([
      'patch',
      '-n',
      tenant,
      'paymaster/shop',
      '--type=merge',
      '--patch={"spec":{"writeConnectionSecretToRef":{"name":"shop-connection"}}}',
    ]);
    return undefined;
  });
  for (const object of [
    'chain/dev',
    'organisation/quickstart',
    'paymaster/shop',
    'smartcontract/shop-counter',
  ])
    await report.step(`${object} becomes Ready`, async () => {
      await awaited(`${object} is Ready`, 60_000, async () =>
        (await condition(tools, object, 'Ready')) === 'True' ? true : undefined,
      );
      return undefined;
    });
  return startWalletPod(tools, config, tenant, nodes.keeper);
}

/** Written by the operator; names the Service. */
export async function connectionUrl(tools: Tools, secret = 'shop-connection'): Promise<string> {
  const encoded = await awaited('the connection Secret is written', 30_000, async () => {
    const found = await tools.tryKubectl([
      'get',
      'secret',
      '-n',
      tenant,
      secret,
      '-o=jsonpath={.data.rpcUrl}',
    ]);
    return found.stdout.trim() || undefined;
  });
  return Buffer.from(encoded, 'base64').toString();
}

async function proveWalls({ config, tools, report, chain }: World, wallet: WalletPod): Promise<void> {
  report.section('Walls');
  await report.step('the administrator cannot write what the servers sign by', async () => {
    const tried = await tools.tryKubectl(['label', 'chainconfigs', '--all', '-n', system, 'edited=yes']);
    if (tried.code === 0 || !tried.stderr.includes('compiled objects are written by the operator'))
      throw new Error(tried.stdout + tried.stderr);
    return undefined;
  });
  const database = `${release}-postgres.${system}.svc`;
  await report.step("a user's pod reaches the rpc Service and not PostgreSQL", async () => {
    const open = await wallet.reaches(`${release}-rpc.${system}.svc`, 80);
    const shut = await wallet.reaches(database, 5432);
    if (!open || shut) throw new Error(`rpc reached: ${open}, PostgreSQL reached: ${shut}`);
    return undefined;
  });
  await report.step(
    'an rpc pod reaches PostgreSQL and the chain, and no other port of that machine',
    async () => {
      const [pod = ''] = await podsOf(tools, 'rpc');
      const reach = async (host: string, port: number): Promise<string> =>
        (
          await tools.kubectl([
            'exec',
            '-n',
            system,
            pod,
            '--',
            'node',
            '--input-type=module',
            '--eval',
            reachScript,
            host,
            String(port),
          ])
        ).trim();
      const answers = {
        database: await reach(database, 5432),
        chain: await reach(config.chainHost, chain.port),
        // Nothing listens there: without the policy the answer would be ECONNREFUSED at once.
        elsewhere: await reach(config.chainHost, 9),
      };
      const expected = { database: 'reached', chain: 'reached', elsewhere: 'no answer' };
      if (JSON.stringify(answers) !== JSON.stringify(expected)) throw new Error(JSON.stringify(answers));
      if (await wallet.reaches(config.chainHost, 9)) throw new Error('something listens on port 9');
      return JSON.stringify(answers);
    },
  );
}

export async function sponsorAndMine(
  { report, chain: { devChain } }: World,
  wallet: WalletPod,
  rpcUrl: string,
  name: string,
): Promise<void> {
  await report.step(name, async () => {
    const profile = devChain.profile('1.1.0');
    const account = await buildAccount(devChain, profile.entryPointVersion);
    const op = await buildUserOp(account, [
      {
        to: devChain.deployments.sponsoredContract.address,
        data: encodeWith(counter, 'increment', []),
      },
    ]);
    const answer = await wallet.call(rpcUrl, 'pm_sponsorUserOperation', [toWire(op), { mode: 'SPONSORED' }]);
    const data = answer.result?.['paymasterAndData'];
    if (typeof data !== 'string' || data === '0x') throw new Error(JSON.stringify(answer));
    const final = {
      ...op,
      callGasLimit: BigInt(String(answer.result?.['callGasLimit'])),
      verificationGasLimit: BigInt(String(answer.result?.['verificationGasLimit'])),
      preVerificationGas: BigInt(String(answer.result?.['preVerificationGas'])),
    };
    const signed = await signByAccount(account, final, data as Hex);
    const { event } = await handleOp(devChain, profile.entryPointVersion, signed);
    if (!event.success) throw new Error('the operation was mined and failed');
    return `paymasterAndData of ${(data.length - 2) / 2} bytes, ${event.actualGasCost} wei paid by the paymaster`;
  });
}

/** The dashboard may touch this namespace only because the operator bound its role there. */
async function useDashboard({ tools, report, chain }: World, wallet: WalletPod): Promise<void> {
  const authToken = randomBytes(24).toString('hex');
  const token = { name: 'e2e', sha256: hashCredential(authToken) };
  const url = `http://${release}-dashboard.${system}.svc/api/v2/public/sdk/paymaster`;
  await report.step('a paymaster is made through the dashboard Service and listed by it', async () => {
    const patch = JSON.stringify({ spec: { tokens: [token] } });
    await tools.kubectl(['patch', 'organisation/quickstart', '--type=merge', `--patch=${patch}`]);
    const body = {
      name: 'made by REST',
      type: 'HYBRID',
      chainId: chain.devChain.chainId,
      version: '1.1.0',
    };
    const made = await wallet.fetch(url, 'POST', { authToken }, body);
    if (made.status !== 200) throw new Error(JSON.stringify(made));
    const listed = await wallet.fetch(url, 'GET', { authToken });
    if (!JSON.stringify(listed.body).includes(body.name)) throw new Error(JSON.stringify(listed));
    return `HTTP ${made.status}, programmed: ${made.headers['x-programmed']}`;
  });
}

async function disturb(world: World, nodes: Nodes, wallet: WalletPod, rpcUrl: string): Promise<void> {
  const { tools, report } = world;
  report.section('Faults under RPC load');
  await underLoad(world, wallet, rpcUrl, 'nothing happens', () => Promise.resolve());
  for (const component of components)
    await underLoad(world, wallet, rpcUrl, `rolling update of ${component}`, async () => {
      await tools.kubectl(['rollout', 'restart', '-n', system, `deployment/${release}-${component}`]);
      await rolledOut(tools, `deployment/${release}-${component}`);
    });
  await provePlaces(world, nodes);
  await underLoad(world, wallet, rpcUrl, 'an rpc pod is deleted', async () => {
    const [pod = ''] = await podsOf(tools, 'rpc');
    await tools.kubectl(['delete', 'pod', '-n', system, pod]);
    await rolledOut(tools, `deployment/${release}-rpc`);
  });
  await underLoad(world, wallet, rpcUrl, 'a roll-out names a database that nobody has', () =>
    misspellDatabase(tools),
  );
  await underLoad(world, wallet, rpcUrl, 'a roll-out names Secrets that nobody has made', () =>
    misspellSecrets(tools, ['upgrade', release, operatorChart, `--namespace=${system}`]),
  );
  const { spare } = nodes;
  if (spare === undefined) return report.skip('drain of a node', 'the cluster has one node only');
  await underLoad(world, wallet, rpcUrl, `node ${spare} is drained`, async () => {
    const onSpare = await tools.kubectl([
      'get',
      'pods',
      '-n',
      system,
      `--field-selector=spec.nodeName=${spare}`,
      '--no-headers',
      '-o=name',
    ]);
    if (!onSpare.includes('-rpc-')) throw new Error(`no rpc pod runs on ${spare}:\n${onSpare}`);
    await tools.kubectl(['drain', spare, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=180s']);
    for (const component of components) await rolledOut(tools, `deployment/${release}-${component}`);
  });
  await tools.kubectl(['uncordon', spare]);
}

/** Runs RPC load from before until after something happens; a single request without a sponsorship fails the step. */
async function underLoad(
  { config, report, chain }: World,
  wallet: WalletPod,
  rpcUrl: string,
  what: string,
  happen: () => Promise<void>,
): Promise<void> {
  await report.step(`0 failed requests while ${what}`, async () => {
    const load = wallet.startLoad(rpcUrl, chain.devChain.deployments.sponsoredContract.address);
    let result: LoadResult;
    try {
      await pause(config.loadSeconds / 2);
      await happen();
      await pause(config.loadSeconds / 2);
    } finally {
      result = await load.stop();
    }
    const { sponsored = 0, ...failed } = result.counts;
    const summary = `${sponsored} sponsored, p50 ${result.p50Ms} ms, p99 ${result.p99Ms} ms, slowest ${result.maxMs} ms`;
    if (Object.keys(failed).length > 0 || sponsored < 50)
      throw new Error(`${summary}; failed: ${JSON.stringify(failed)}`);
    return summary;
  });
}

/** Load before and after what happens is part of the measurement, so this one does wait. */
export const pause = (seconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, seconds * 1000));

async function loseLeader({ tools, report }: World): Promise<void> {
  report.section("The operator's leader is killed");
  await report.step('another one leads', async () => {
    // The drain before may have moved it: a pod that is there must hold the lease first.
    const { before, leader } = await awaited('a pod of the operator leads', 60_000, async () => {
      const holder = await leaseHolder(tools);
      const pod = (await podsOf(tools, 'operator')).find((name) => holder.startsWith(`${name}_`));
      return pod === undefined ? undefined : { before: holder, leader: pod };
    });
    const startedAt = performance.now();
    await tools.kubectl(['delete', 'pod', '-n', system, leader, '--grace-period=0', '--force']);
    const after = await awaited('the lease has another holder', 60_000, async () => {
      const holder = await leaseHolder(tools);
      return holder !== '' && holder !== before ? holder : undefined;
    });
    return `${leader} → ${after.slice(0, leader.length)} after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  });
  await report.step('and programs changes', async () => {
    await tools.kubectl([
      'patch',
      '-n',
      tenant,
      'paymasterpolicy/shop-operations-per-day',
      '--type=merge',
      '--patch={"spec":{"spendingLimit":{"threshold":"90000"}}}',
    ]);
    await awaited('the change is programmed', 30_000, async () => {
      const text = await tools.kubectl([
        'get',
        '-n',
        tenant,
        'paymasterpolicy/shop-operations-per-day',
        '-o=json',
      ]);
      const { metadata, status } = JSON.parse(text) as {
        readonly metadata: { readonly generation: number };
        readonly status?: {
          readonly conditions?: readonly {
            readonly type: string;
            readonly status: string;
            readonly observedGeneration: number;
          }[];
        };
      };
      const programmed = status?.conditions?.find(({ type }) => type === 'Programmed');
      return programmed?.status === 'True' && programmed.observedGeneration >= metadata.generation
        ? true
        : undefined;
    });
    return undefined;
  });
}

async function changeRelease(world: World, nodes: Nodes, wallet: WalletPod, rpcUrl: string): Promise<void> {
  const { tools, report } = world;
  report.section('Test, upgrade and rollback of the release');
  const test = async () => {
    const output = await tools.helm(['test', release, `--namespace=${system}`, '--logs', '--timeout=120s']);
    const lines = output.split('\n').filter((line) => /^(ok|FAIL) /.test(line));
    if (lines.length === 0 || lines.some((line) => line.startsWith('FAIL'))) throw new Error(output);
    return lines.map((line) => line.replace(/^ok +/, '')).join(', ');
  };
  await report.step('helm test', test);
  await underLoad(world, wallet, rpcUrl, 'helm upgrades from the previous values', async () => {
    await tools.helm([
      'upgrade',
      release,
      operatorChart,
      `--namespace=${system}`,
      '--reset-then-reuse-values',
      '--set=logLevel=debug',
      '--set=rpc.replicas=4',
      '--set=dashboard.replicas=1',
      `--set=networkPolicy.prometheusNamespace=${monitoring}`,
      ...ingressValues,
      '--wait',
      '--timeout=180s',
    ]);
    const pods = await podsOf(tools, 'rpc');
    if (pods.length !== 4) throw new Error(`expected 4 rpc pods, got ${pods.length}`);
  });
  await report.step('the change is in the pods', () => expectLogLevel(tools, 'debug'));
  await provePrometheusOnly(world, wallet, nodes.keeper);
  await proveIngress(world);
  await underLoad(world, wallet, rpcUrl, 'helm rolls back', async () => {
    await tools.helm(['rollback', release, `--namespace=${system}`, '--wait', '--timeout=180s']);
  });
  await underLoad(
    world,
    wallet,
    rpcUrl,
    'an autoscaler is switched on, somebody scales, and it is switched off',
    () => scaleTogether(tools, ['upgrade', release, operatorChart, `--namespace=${system}`]),
  );
  await report.step('the former settings are in the pods again', () => expectLogLevel(tools, 'info'));
  await report.step('helm test once more', test);
}

async function expectLogLevel(tools: Tools, level: string): Promise<string> {
  const found = await tools.kubectl([
    'get',
    'deployment',
    '-n',
    system,
    `${release}-rpc`,
    '-o=jsonpath={.spec.replicas} {.spec.template.spec.containers[0].env[?(@.name=="LOG_LEVEL")].value}',
  ]);
  if (!found.endsWith(` ${level}`)) throw new Error(`expected LOG_LEVEL ${level}, got "${found}"`);
  return found;
}

async function uninstall(world: World, files: string, rpcUrl: string): Promise<void> {
  const { tools, report, config, chain } = world;
  report.section('Uninstall');
  await report.step('helm uninstalls both releases', async () => {
    await tools.helm(['uninstall', release, `--namespace=${system}`, '--wait', '--timeout=120s']);
    await tools.helm(['uninstall', crdsRelease, `--namespace=${crdsNamespace}`, '--wait']);
    return undefined;
  });
  await report.step("definitions and users' resources are still there, and no pod of ours is", async () => {
    const definitions = await tools.kubectl(['get', 'crd', '-o=name']);
    const ours = definitions.split('\n').filter((name) => name.endsWith('.paymasters.dev'));
    if (ours.length !== 10) throw new Error(`expected 10 definitions, got ${ours.join(', ')}`);
    const kept = await tools.kubectl([
      'get',
      'paymaster/shop',
      'smartcontract/shop-counter',
      'paymasterpolicy/shop-operations-per-day',
      '-n',
      tenant,
      '-o=name',
    ]);
    // Helm leaves the pod of `helm test`, which has ended, so that its log can be read.
    const left = await awaited('all pods are gone', 60_000, async () => {
      const pods = await tools.kubectl([
        'get',
        'deployment,statefulset,service,pod',
        '-n',
        system,
        '-l=app.kubernetes.io/component!=test',
        '-o=name',
      ]);
      return pods.trim() === '' ? 'nothing else left' : undefined;
    });
    return `${ours.length} definitions, ${kept.trim().split('\n').length} resources, ${left}`;
  });
  await report.step('installed again, it serves the same key', async () => {
    await tools.helm([
      'install',
      crdsRelease,
      join(repositoryRoot, 'charts/paymaster-crds'),
      `--namespace=${crdsNamespace}`,
    ]);
    writeFileSync(join(files, 'values.json'), JSON.stringify(environmentValues(config, chain)));
    await tools.helm([
      'install',
      release,
      operatorChart,
      `--namespace=${system}`,
      `--values=${join(files, 'values.json')}`,
      '--wait',
      '--timeout=180s',
      '--take-ownership',
    ]);
    return undefined;
  });
  const wallet = await startWalletPod(tools, config, tenant, (await chooseNodes(tools)).keeper);
  await sponsorAndMine(world, wallet, rpcUrl, 'and sponsors through the same URL');
}

/** Removes everything that a run makes, also after a failure; says nothing when there is nothing. */
export async function removeEverything(tools: Tools): Promise<void> {
  await tools.tryKubectl([
    'delete',
    'pod',
    '-n',
    tenant,
    walletPodName,
    '--grace-period=1',
    '--ignore-not-found',
  ]);
  for (const [name, namespace] of [
    [release, system],
    [crdsRelease, crdsNamespace],
  ])
    await tools.helm(['uninstall', name ?? '', `--namespace=${namespace}`, '--ignore-not-found', '--wait']);
  const ours = await tools.kubectl(['get', 'crd', '-o=name']);
  const definitions = ours.split('\n').filter((name) => name.endsWith('.paymasters.dev'));
  if (definitions.length > 0) await tools.kubectl(['delete', ...definitions, '--timeout=60s']);
  for (const namespace of [system, tenant, monitoring, crdsNamespace])
    await tools.kubectl(['delete', 'namespace', namespace, '--ignore-not-found', '--timeout=120s']);
  await tools.kubectl(['delete', 'pv', 'paymaster-e2e-postgres', '--ignore-not-found', '--timeout=60s']);
}
