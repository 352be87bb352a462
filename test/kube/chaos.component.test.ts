import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { createKubeConfigStore } from '../../adapters/configs/kubernetes/configs.js';
import type { KubeTransport } from '../../adapters/kube/transport.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import { silentLogger } from '../../core/log.js';
import { systemClock } from '../../core/units/time.js';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.js';
import { aPaymasterConfig, sha256 } from '../build/configs.js';
import { until } from '../support/until.js';
import { installCrds } from './support/crds.js';

// A real API server and etcd fail under a load of changes: at the end a watcher's copy equals the server's state.

let plane: ControlPlane;
let transport: KubeTransport;
let store: ConfigStore & { stop(): Promise<void> };
const metrics = createMetrics({ process: false });

beforeAll(async () => {
  plane = await startControlPlane();
  installCrds(plane);
  plane.kubectl(['create', 'namespace', 'paymaster-system']);
  transport = plane.transport();
  store = aStore();
});
afterEach(() => store.stop());
afterAll(async () => {
  await transport.stop();
  await plane.stop();
});

function aStore(timing: { readonly auditMs?: number } = {}): typeof store {
  return createKubeConfigStore({
    transport,
    namespace: 'paymaster-system',
    clock: systemClock,
    log: silentLogger,
    metrics,
    random: Math.random,
    timing: { firstBackoffMs: 50, maxBackoffMs: 500, ...timing },
  });
}

const idOf = (n: number) => `00000000-0000-5000-8000-${String(n).padStart(12, '0')}`;
const config = (n: number, round: number) =>
  aPaymasterConfig({
    paymasterId: idOf(n),
    objectName: `shop-${n}`,
    keys: [{ sha256: sha256(`${n}`) }],
    // The fault that differs from round to round.
    maxExpirySeconds: 60 + round,
  });

/** A watcher's copy: id → generation. */
function watchAll(): { readonly known: Map<string, number>; readonly synced: Promise<void> } {
  const known = new Map<string, number>();
  const watch = store.watch((event) => {
    if (event.type === 'put-paymaster') known.set(event.config.paymasterId, event.config.configGeneration);
    if (event.type === 'delete-paymaster') known.delete(event.paymasterId);
  });
  return { known, synced: watch.synced };
}

const listed = async (): Promise<string[]> =>
  (await store.listPaymasters())
    .map(({ config: { paymasterId, configGeneration } }) => `${paymasterId} ${configGeneration}`)
    .toSorted();
const told = (known: ReadonlyMap<string, number>): string[] =>
  [...known].map(([id, at]) => `${id} ${at}`).toSorted();

async function expectEqual(known: ReadonlyMap<string, number>): Promise<void> {
  const wanted = await listed();
  await until('the watcher knows what the server holds', () => told(known).join() === wanted.join());
}

/** Creates, changes and deletes without a pause until it is stopped; ignores errors while the server is away. */
function churn(): { asked(): number; done(): number; stop(): Promise<void> } {
  let isStopped = false;
  let asked = 0;
  let done = 0;
  async function run(worker: number): Promise<void> {
    for (let round = 0; !isStopped; round++) {
      const n = worker * 100 + (round % 20);
      asked += 1;
      const change = round % 7 === 3 ? store.deletePaymaster(idOf(n)) : store.putPaymaster(config(n, round));
      await change.then(
        () => (done += 1),
        () => new Promise((resolve) => setTimeout(resolve, 20)),
      );
    }
  }
  const running = Promise.all([run(1), run(2), run(3)]);
  return {
    asked: () => asked,
    done: () => done,
    async stop() {
      isStopped = true;
      await running;
    },
  };
}

test('an API server that hangs, is killed and comes back, again and again, under a load of changes', async () => {
  const { known, synced } = watchAll();
  await synced;
  const load = churn();
  for (const signal of ['SIGSTOP', 'SIGKILL', 'SIGKILL'] as const) {
    const before = known.size;
    await until('changes arrive', () => known.size !== before || known.size > 20);
    plane.apiServer.signal(signal);
    const asked = load.asked();
    if (signal === 'SIGKILL') {
      await plane.apiServer.ended();
      await plane.apiServer.restart();
    } else {
      // Calls that the server had answered before it hung may still come in; then all three wait for it.
      await until('calls meet a server that hangs', () => load.asked() - asked < 4);
      plane.apiServer.signal('SIGCONT');
    }
  }
  await until('there was a load', () => load.done() > 50);
  await load.stop();
  await expectEqual(known);
  expect((await metrics.render()).body).toContain('informer_cache_miss_total{kind="PaymasterConfig"} 0');
}, 540_000);

test('etcd restored to an older state: watchers go back too, and unchanged configs get a newer generation', async () => {
  // Before the watch reconnects, the server may have made as many writes as the restore removed: then only the audit notices.
  store = aStore({ auditMs: 2_000 });
  const { known, synced } = watchAll();
  await synced;
  const kept = await store.putPaymaster(config(1, 1));
  const data = join(plane.directory, 'etcd');
  const copy = join(plane.directory, 'etcd-copy');
  const stopAll = async (): Promise<void> => {
    for (const each of [plane.apiServer, plane.etcd]) {
      each.signal('SIGKILL');
      await each.ended();
    }
  };
  const startAll = async (): Promise<void> => {
    await plane.etcd.restart();
    await plane.apiServer.restart();
  };
  await stopAll();
  cpSync(data, copy, { recursive: true });
  await startAll();
  const changed = await store.putPaymaster(config(1, 2));
  await store.putPaymaster(config(999, 1));
  await until(
    'the changes are known',
    () => known.get(idOf(1)) === changed.configGeneration && known.has(idOf(999)),
    300_000,
  );

  await stopAll();
  rmSync(data, { recursive: true });
  cpSync(copy, data, { recursive: true });
  await startAll();
  await until(
    'the watcher followed back',
    () => known.get(idOf(1)) === kept.configGeneration && !known.has(idOf(999)),
    300_000,
  );
  await expectEqual(known);

  const again = await store.putPaymaster(config(1, 1));
  expect(again.changed).toBe(true);
  expect(again.configGeneration).toBeGreaterThan(changed.configGeneration);
}, 540_000);
