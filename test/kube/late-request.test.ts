import { expect, test } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createKubeTransport } from '../../adapters/kube/transport.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';

test('a process that wakes up after the deadline of a call does not send it, though the connection is made by then', async () => {
  const asked: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const transport = createKubeTransport({
    credentials: {
      load: async () => ({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
    },
    userAgent: 'test',
    log: silentLogger,
    metrics: noMetrics,
  });
  // The process stands still once the connection is made: the deadline passes, and its timer can fire only afterwards.
  const standStill = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  subscribe('undici:client:connected', standStill);
  try {
    const late = transport.request({ method: 'POST', path: '/late', body: {}, timeoutMs: 50 });
    await expect(late).rejects.toMatchObject({ status: 0, reason: 'Unreachable' });
    unsubscribe('undici:client:connected', standStill);
    await transport.request({ method: 'GET', path: '/next' });
    expect(asked).toEqual(['/next']);
  } finally {
    unsubscribe('undici:client:connected', standStill);
    await transport.stop();
    server.close();
  }
});
