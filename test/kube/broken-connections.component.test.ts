import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { KubeObject } from '../../adapters/kube/objects.js';
import { createReflector } from '../../adapters/kube/reflector.js';
import { createKubeTransport, type KubeTransport } from '../../adapters/kube/transport.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.js';
import { isSoak } from '../support/soak-seconds.js';
import { succeeds, until } from '../support/until.js';
import { startTcpProxy, type TcpProxy } from './support/tcp-proxy.js';

// Connections to a real API server break in every way that a network knows, again and again (`make soak`: more often). The client reaches it
// soon after.

const rounds = isSoak ? { ofCalls: 8, ofWatches: 3 } : { ofCalls: 2, ofWatches: 1 };
/** The deadline of a call that nobody answers. */
const timeoutMs = 1_000;
/** A client that has to wait for TCP to give up (some 15 minutes) does not make it. */
const patienceMs = 200_000;

let plane: ControlPlane;
let admin: KubeTransport;
beforeAll(async () => {
  plane = await startControlPlane();
  admin = plane.transport();
});
afterAll(async () => {
  await admin?.stop();
  await plane?.stop();
});

let proxy: TcpProxy;
let transport: KubeTransport;
beforeEach(async () => {
  const { hostname, port } = new URL(plane.url);
  proxy = await startTcpProxy({ host: hostname, port: Number(port) });
  transport = createKubeTransport({
    credentials: {
      load: async () => ({
        server: `https://127.0.0.1:${proxy.port}`,
        ca: plane.ca(),
        authorization: `Bearer ${plane.token('admin')}`,
      }),
    },
    userAgent: 'test',
    log: silentLogger,
    metrics: noMetrics,
  });
});
afterEach(async () => {
  await transport.stop();
  await proxy.stop();
});

const ask = (withinMs = timeoutMs): Promise<boolean> =>
  succeeds(transport.request({ method: 'GET', path: '/version', timeoutMs: withinMs }));
/** Several at once, as the callers of a dashboard ask. */
const askAll = async (withinMs?: number): Promise<boolean> =>
  (await Promise.all(Array.from({ length: 6 }, () => ask(withinMs)))).every(Boolean);

type Fault = { readonly name: string; readonly begin: () => void; readonly refuses: boolean };

const faults: readonly Fault[] = [
  { name: 'are cut', begin: () => proxy.cut(), refuses: false },
  { name: 'stall', begin: () => proxy.stall(), refuses: false },
  { name: 'are half open', begin: () => proxy.halfOpen(), refuses: false },
  { name: 'are refused', begin: () => [proxy.accept('reset'), proxy.cut()], refuses: true },
  {
    name: 'are accepted and never answered',
    begin: () => [proxy.accept('mute'), proxy.cut()],
    refuses: true,
  },
  { name: 'stall, and so do new ones', begin: () => [proxy.accept('mute'), proxy.stall()], refuses: true },
];

describe.each(faults)('when connections $name', ({ begin, refuses }) => {
  test('a call that comes afterwards is answered', async () => {
    for (let round = 0; round < rounds.ofCalls; round++) {
      await until('calls are answered', () => askAll(), patienceMs);
      const inFlight = askAll();
      begin();
      if (refuses) expect(await ask()).toBe(false);
      await inFlight;
      proxy.accept('pass');
      await until(`calls are answered again, round ${round}`, () => askAll(), patienceMs);
    }
  });

  test('a watch goes on', async () => {
    const seen = new Set<string>();
    const reflector = createReflector<KubeObject>({
      transport,
      path: '/api/v1/namespaces',
      kind: 'Namespace',
      transform: (object) => object,
      onEvent: ({ object }) => seen.add(object.metadata.name),
      log: silentLogger,
      metrics: noMetrics,
      now: () => Date.now(),
      random: Math.random,
      timing: { stallMs: 2_000, watchListMs: 5_000, firstBackoffMs: 10, maxBackoffMs: 200 },
    });
    reflector.start();
    try {
      for (let round = 0; round < rounds.ofWatches; round++) {
        const name = `seen-${crypto.randomUUID()}`;
        begin();
        if (refuses) expect(await ask()).toBe(false);
        proxy.accept('pass');
        const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
        await admin.request({ method: 'POST', path: '/api/v1/namespaces', body });
        await until(`the watch shows what was made, round ${round}`, () => seen.has(name), patienceMs);
      }
    } finally {
      await reflector.stop();
    }
  });
});

test('a call whose connection is never made ends at its deadline', async () => {
  proxy.accept('mute');
  const asked = transport.request({ method: 'GET', path: '/version', timeoutMs });
  // By its own deadline, not by that of the connection, which is ten seconds.
  await expect(asked).rejects.toMatchObject({ cause: { name: 'TimeoutError' } });
});

test('a call without an answer is the last one on the connections of its time', async () => {
  expect(await askAll(patienceMs)).toBe(true);
  // When all answers come at once, their connections are free only in the next turn, and a call would open a new one.
  await turn();
  proxy.stall();
  expect(await ask()).toBe(false);
  const before = proxy.opened();
  expect(await askAll(patienceMs)).toBe(true);
  expect(proxy.opened()).toBeGreaterThan(before);
});
