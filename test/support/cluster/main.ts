import { join, resolve } from 'node:path';
import { aborted, createStopSignal } from '../../../adapters/process/stop-signal.js';
import { createConsole, type Console } from '../../../standalone/console.js';
import { findRoot } from '../../../standalone/root.js';
import { startCluster, type Cluster } from './cluster.js';
import { freePort } from './free-port.js';
import { countStates } from '../../../standalone/resource-state.js';
import { printClusterBanner } from './cluster-banner.js';
import { applyQuickstart, describeQuickstart } from './quickstart.js';
import { errorMessage } from '../../../core/errors.js';
import { printableLines } from '../../../core/terminal-text.js';
import { noteCluster } from '../../../standalone/status/read-status.js';

// Entry point of `make run-kube`: runs the parts of an installation as processes of this machine, until a signal.

const console = createConsole((text) => process.stdout.write(text), Date.now);
const rpcReplicas = 3;
const dataDirectory = resolve(
  process.env['PAYMASTER_DATA_DIR'] || resolve(findRoot(import.meta.url), '.paymaster'),
);

process.exit(await main());

async function main(): Promise<number> {
  const stopping = createStopSignal();
  console.line('Paymaster Operator on a local Kubernetes API');
  const rpcPort = await freePort();
  let cluster: Cluster | undefined;
  let forget: (() => void) | undefined;
  try {
    cluster = await startCluster({ console, publicRpcUrl: `http://127.0.0.1:${rpcPort}` });
    forget = noteCluster(dataDirectory, {
      kubeconfig: cluster.plane.kubeconfig('admin'),
      kubectl: join(cluster.plane.assets, 'kubectl'),
    });
    await startParts(cluster, rpcPort, stopping, console);
    await aborted(stopping);
  } catch (error) {
    forget?.();
    if (!stopping.aborted) {
      process.stderr.write(`error: ${printableLines(errorMessage(error))}\n`);
      await cluster?.stop();
      return 1;
    }
  }
  forget?.();
  const done = console.step('Stopping');
  await cluster?.stop();
  done('everything ended');
  return 0;
}

async function startParts(
  cluster: Cluster,
  rpcPort: number,
  signal: AbortSignal,
  out: Console,
): Promise<void> {
  const partsDone = out.step('Starting operator and dashboard');
  await cluster.start('operator');
  const dashboard = await cluster.start('dashboard', { path: '/healthz' });
  partsDone(dashboard.origin);
  signal.throwIfAborted();
  const applied = out.step('kubectl apply -f examples/quickstart');
  applyQuickstart(cluster);
  applied('applied');
  const rpcDone = out.step(`Starting ${rpcReplicas} RPC replicas`);
  const replicas = await Promise.all(
    Array.from({ length: rpcReplicas }, (_, index) =>
      cluster.start('rpc', { index, ...(index === 0 ? { port: rpcPort } : {}) }),
    ),
  );
  const [first] = replicas;
  if (first === undefined) throw new Error('no RPC replica was started');
  rpcDone(replicas.map(({ origin }) => origin).join(' '));
  const checked = out.step('Checking the resources');
  const origins = { dashboard: dashboard.origin, rpc: first.origin };
  const { states, connection } = await describeQuickstart(cluster, origins, signal);
  checked(countStates(states));
  signal.throwIfAborted();
  printClusterBanner(out, { cluster, states, connection, replicas });
}
