import { expect, test } from '@jest/globals';
import { KubeApiError } from '../../adapters/kube/api-error.js';
import { guardWrites } from '../../adapters/kube/guarded-transport.js';
import type { KubeRequest, KubeTransport } from '../../adapters/kube/transport.js';
import { createKubeConfigStore } from '../../adapters/configs/kubernetes/configs.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { systemClock } from '../../core/units/time.js';
import { aPaymasterConfig } from '../build/configs.js';

/** A server in which another client writes between each read and write; `onWrite` is called at every write. */
function contestedTransport(onWrite: () => void): KubeTransport {
  let version = 0;
  const metadata = () => ({ name: 'x', uid: 'x', resourceVersion: String((version += 1)) });
  return {
    async request({ method }: KubeRequest) {
      if (method === 'GET') return { metadata: metadata(), spec: { hash: 'other', config: '{}' } };
      onWrite();
      throw new KubeApiError({ status: 409, reason: 'Conflict', message: 'changed meanwhile' });
    },
    stream: () => Promise.reject(new Error('not asked')),
    stop: async () => {},
  };
}

function storeOver(transport: KubeTransport) {
  return createKubeConfigStore({
    transport,
    namespace: 'system',
    clock: systemClock,
    log: silentLogger,
    metrics: noMetrics,
    random: () => 0.5,
  });
}

test('a write that lost a race is not retried once leadership is lost', async () => {
  let writes = 0;
  const transport = contestedTransport(() => (writes += 1));
  const store = storeOver(guardWrites(transport, () => (writes === 0 ? 1_000 : 0)));
  await expect(store.putPaymaster(aPaymasterConfig())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(writes).toBe(1);
});

test('the leader retries, and anybody may read', async () => {
  let writes = 0;
  const transport = contestedTransport(() => (writes += 1));
  await expect(
    storeOver(guardWrites(transport, () => 1_000)).putPaymaster(aPaymasterConfig()),
  ).rejects.toMatchObject({ code: 'WRITE_CONFLICT' });
  expect(writes).toBe(5);
  await expect(guardWrites(transport, () => 0).request({ method: 'GET', path: '/' })).resolves.toBeDefined();
});

test('a write has at most the time for which this process leads, and a read as much as it asks for', async () => {
  const timeouts: (number | undefined)[] = [];
  const transport = guardWrites(
    {
      request: async ({ timeoutMs }) => void timeouts.push(timeoutMs),
      stream: () => Promise.reject(new Error('not asked')),
      stop: async () => {},
    },
    () => 700,
  );
  await transport.request({ method: 'PUT', path: '/' });
  await transport.request({ method: 'PATCH', path: '/', timeoutMs: 5_000 });
  await transport.request({ method: 'POST', path: '/', timeoutMs: 100 });
  await transport.request({ method: 'GET', path: '/', timeoutMs: 5_000 });
  expect(timeouts).toEqual([700, 700, 100, 5_000]);
});
