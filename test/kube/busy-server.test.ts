import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createKubeConfigStore } from '../../adapters/configs/kubernetes/configs.js';
import { createKubeTransport, type KubeTransport } from '../../adapters/kube/transport.js';
import { createKubeResourceStore } from '../../adapters/resources/kubernetes/resources.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { systemClock } from '../../core/units/time.js';

// An API server that has just got a definition, or does not have it: what callers see of it.

let server: Server;
let transport: KubeTransport;
/** Answers to come, the last one again and again. */
let answers: readonly { readonly status: number; readonly retryAfter?: string; readonly body: object }[];
let asked: number;

const busy = {
  status: 429,
  retryAfter: '1',
  body: { kind: 'Status', code: 429, message: 'storage is (re)initializing', reason: 'TooManyRequests' },
};
const empty = { status: 200, body: { metadata: { resourceVersion: '1' }, items: [] } };

beforeEach(async () => {
  asked = 0;
  server = createServer((_, response) => {
    const { status, retryAfter, body } = answers[Math.min(asked, answers.length - 1)]!;
    asked += 1;
    response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter });
    response.end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  transport = createKubeTransport({
    credentials: {
      load: async () => ({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
    },
    userAgent: 'test',
    log: silentLogger,
    metrics: noMetrics,
  });
});
afterEach(async () => {
  await transport.stop();
  server.close();
});

const list = (timeoutMs?: number) =>
  transport.request({ method: 'GET', path: '/things', ...(timeoutMs === undefined ? {} : { timeoutMs }) });

test('a 429 that says when to come back is asked again', async () => {
  answers = [busy, busy, empty];
  await expect(list()).resolves.toEqual(empty.body);
  expect(asked).toBe(3);
});

test('not beyond the deadline of the call, and not where the server does not say when', async () => {
  answers = [{ ...busy, retryAfter: '60' }];
  await expect(list(59_000)).rejects.toMatchObject({ status: 429, retryAfterSeconds: 60 });
  expect(asked).toBe(1);
  answers = [{ status: 429, body: busy.body }];
  await expect(list()).rejects.toMatchObject({ status: 429 });
  expect(asked).toBe(2);
});

test('a wait ends with the transport', async () => {
  answers = [{ ...busy, retryAfter: '20' }];
  const waiting = list();
  const outcome = expect(waiting).rejects.toMatchObject({ status: 0 });
  while (asked === 0) await new Promise((resolve) => setImmediate(resolve));
  await transport.stop();
  await outcome;
});

test('without the definition of DashboardToken there are no such tokens; without another one the list fails', async () => {
  const store = createKubeResourceStore({
    transport,
    statusManager: 'test',
    log: silentLogger,
    metrics: noMetrics,
    now: Date.now,
    random: Math.random,
  });
  answers = [{ status: 404, body: { kind: 'Status', code: 404, reason: 'NotFound' } }];
  await expect(store.list('DashboardToken', { fields: { 'spec.sha256': 'x' } })).resolves.toEqual([]);
  await expect(store.list('DashboardToken', { namespace: 'shop' })).resolves.toEqual([]);
  await expect(store.list('Organisation')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('without the definition of compiled objects a key is not looked up, which is an outage and not an unknown key', async () => {
  const store = createKubeConfigStore({
    transport,
    namespace: 'system',
    clock: systemClock,
    log: silentLogger,
    metrics: noMetrics,
    random: Math.random,
  });
  answers = [{ status: 404, body: { kind: 'Status', code: 404, reason: 'NotFound' } }];
  await expect(store.findByKey('ab'.repeat(32))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});
