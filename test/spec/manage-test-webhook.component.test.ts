import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { createWebhookCaller } from '../../adapters/webhook/webhook-caller.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { systemClock } from '../../core/units/time.js';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import {
  answerJson,
  startHost,
  startRawHost,
  type Answer,
  type WebhookHost,
} from '../adapters/webhook/webhook-host.js';
import { acmeToken, chainId, otherToken, recordOf } from '../build/dashboard.js';
import { masterKeys } from '../build/operator.js';
import { useDashboard } from '../support/use-dashboard.js';

// `POST /manage/v1/policies/{name}/test`: the real caller asks real hosts on this machine, the only private place that it may call.

const webhooks = createWebhookCaller({
  masterKeys,
  allowHttp: true,
  allowLoopback: true,
  clock: systemClock,
  log: silentLogger,
  metrics: noMetrics,
  stalls: { enter() {}, leave() {}, totalMs: () => 0 },
});
afterAll(() => webhooks.stop());
const host = useDashboard({ webhooks });

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
  // Test deliveries of an organisation are limited by time.
  host.clock.advance(60_000);
});

async function ask(method: string, path: string, body?: unknown, token = acmeToken) {
  const response = await host.fetch(`${managePrefix}${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = recordOf(JSON.parse(await response.text()));
  const { status, headers } = response;
  return { status, headers, data: response.ok ? recordOf(answer['data']) : answer };
}

async function aHost(...args: Parameters<typeof startHost>): Promise<WebhookHost> {
  const started = await startHost(...args);
  cleanUps.push(() => started.stop());
  return started;
}

let count = 0;
async function aPolicy(webhook: object, more: object = {}): Promise<string> {
  count += 1;
  const name = `check-${count}`;
  const paymaster = { name: 'shop', chainId, type: 'HYBRID', version: '1.1.0' };
  await ask('POST', '/paymasters', { name: 'shop', spec: paymaster });
  const spec = {
    paymasterRef: { name: 'shop' },
    name,
    policyType: 'WEBHOOK',
    active: false,
    webhook,
    ...more,
  };
  // The store refuses private addresses, so that what is asked of the guard is written as a manifest writes it.
  await host.resources.apply({
    manager: 'argocd',
    kind: 'PaymasterPolicy',
    key: { namespace: 'acme', name },
    spec: spec as never,
  });
  return name;
}

const urlOf = ({ port }: WebhookHost) => `http://127.0.0.1:${port}/check`;

test('the host is asked as a test with the key of the policy, and the answer says what it would decide', async () => {
  const listening = await aHost(answerJson({ arePoliciesVerified: false, reason: 'not a member' }));
  const name = await aPolicy({ url: urlOf(listening), timeoutSeconds: 10 });
  const { status, data } = await ask('POST', `/policies/${name}/test`, { webhookData: { plan: 'gold' } });
  expect({ status, data }).toEqual({
    status: 200,
    data: {
      verdict: 'refused',
      reason: 'not a member',
      wouldPass: false,
      durationMs: expect.any(Number),
      requestId: expect.any(String),
    },
  });
  const [got] = listening.received;
  expect(got?.headers).toMatchObject({ 'x-test-delivery': 'true', 'x-request-id': data['requestId'] });
  expect(JSON.parse(got?.body ?? '')).toMatchObject({ data: { plan: 'gold' }, userOp: { callData: '0x' } });
  const { data: key } = await ask('GET', `/policies/${name}/key`);
  const { 'x-timestamp': at, 'x-policy-id': id } = got?.headers ?? {};
  const signature = (form: string): string => {
    const lines = ['v2', at, id, form, 'POST', got?.path, got?.body];
    return `v2=${createHmac('sha256', String(key['key'])).update(lines.join('\n')).digest('hex')}`;
  };
  expect(got?.headers['x-signature']).toBe(signature('test'));
  // A host that verifies an operation cannot take it for one.
  expect(got?.headers['x-signature']).not.toBe(signature('live'));
});

test.each<{ name: string; answer: Answer; onError: string; timeoutSeconds?: number; want: object }>([
  {
    name: 'a host that agrees lets pass',
    answer: answerJson({ arePoliciesVerified: true }),
    onError: 'Deny',
    want: { verdict: 'verified', wouldPass: true },
  },
  {
    name: 'a host that fails lets pass with onError Allow',
    answer: answerJson({}, 500),
    onError: 'Allow',
    want: { verdict: 'failed', detail: expect.stringContaining('500'), wouldPass: true },
  },
  {
    name: 'a redirect is not followed',
    answer: (_request, response) =>
      response.writeHead(302, { location: 'http://127.0.0.1:1/metadata' }).end(),
    onError: 'Deny',
    want: { verdict: 'failed', detail: expect.stringContaining('redirects'), wouldPass: false },
  },
  {
    name: 'a huge answer is cut off and passes nowhere',
    answer: (_request, response) => response.writeHead(200).end('x'.repeat(4_000_000)),
    onError: 'Allow',
    want: { verdict: 'blocked', detail: expect.stringContaining('65536'), wouldPass: false },
  },
  {
    name: 'a slow host has the time of the policy',
    answer: () => {},
    onError: 'Deny',
    timeoutSeconds: 0.5,
    want: { verdict: 'failed', detail: expect.stringContaining('within 500 ms'), wouldPass: false },
  },
  {
    name: 'what is not an answer is not shown',
    answer: (_request, response) => response.writeHead(200).end('root:x:0:0 a-secret'),
    onError: 'Deny',
    want: { verdict: 'failed', wouldPass: false },
  },
])('$name', async ({ answer, onError, timeoutSeconds = 10, want }) => {
  const listening = await aHost(answer);
  const name = await aPolicy({ url: urlOf(listening), onError, timeoutSeconds });
  const { status, data } = await ask('POST', `/policies/${name}/test`);
  expect({ status, data }).toMatchObject({ status: 200, data: want });
  expect(JSON.stringify(data)).not.toContain('a-secret');
});

test('a host that never ends its head is given up', async () => {
  const listening = await startRawHost((socket) => socket.write('HTTP/1.1 200 OK\r\nx-a: b\r\n'));
  cleanUps.push(() => listening.stop());
  const name = await aPolicy({ url: urlOf(listening), timeoutSeconds: 0.5 });
  expect((await ask('POST', `/policies/${name}/test`)).data).toMatchObject({ verdict: 'failed' });
});

test.each(['http://169.254.169.254/latest/meta-data', 'http://10.0.0.1/', 'http://[fd00::1]/'])(
  '%s is not called',
  async (url) => {
    const name = await aPolicy({ url, onError: 'Allow' });
    const { data } = await ask('POST', `/policies/${name}/test`);
    expect(data).toMatchObject({ verdict: 'blocked', wouldPass: false });
  },
);

describe('no host is asked', () => {
  test.each<{ name: string; body?: unknown; token?: string; path?: string; status: number }>([
    { name: 'by another organisation', token: otherToken, status: 404 },
    { name: 'of a policy that is not there', path: '/policies/nothing/test', status: 404 },
    { name: 'with a member that is not known', body: { url: 'http://127.0.0.1' }, status: 400 },
    { name: 'with a list', body: [], status: 400 },
    { name: 'with a text for an operation', body: { userOp: 'x' }, status: 400 },
  ])('$name', async ({ body, token, path, status }) => {
    const listening = await aHost(answerJson({ arePoliciesVerified: true }));
    const name = await aPolicy({ url: urlOf(listening) });
    expect(await ask('POST', path ?? `/policies/${name}/test`, body, token)).toMatchObject({ status });
    expect(listening.received).toEqual([]);
  });

  test('by a token that reads and stops', async () => {
    const listening = await aHost(answerJson({ arePoliciesVerified: true }));
    const name = await aPolicy({ url: urlOf(listening) });
    const scopes = ['read', 'stop', 'finance'];
    const { data } = await ask('POST', '/tokens', { name: 'narrow', scopes });
    const answer = await ask('POST', `/policies/${name}/test`, undefined, String(data['token']));
    expect(answer).toMatchObject({ status: 403, data: { code: 'SCOPE_REQUIRED' } });
    expect(listening.received).toEqual([]);
  });

  test('of a policy of another kind', async () => {
    const name = await aPolicy(
      {},
      {
        policyType: 'WALLET_DEPLOYMENT',
        webhook: undefined,
        walletDeployment: {},
      },
    );
    expect(await ask('POST', `/policies/${name}/test`)).toMatchObject({ status: 404 });
  });

  test('more than twice at the same time, however many are sent at once', async () => {
    let [open, most] = [0, 0];
    const listening = await aHost((_request, response) => {
      open += 1;
      most = Math.max(most, open);
      response.once('close', () => (open -= 1));
    });
    const name = await aPolicy({ url: urlOf(listening), timeoutSeconds: 0.5 });
    const now = host.clock.now();
    const one = await host.beside({ webhooks, clock: { now: () => now } });
    const headers = { Authorization: `Bearer ${acmeToken}` };
    const sent = Array.from({ length: 14 }, () =>
      one.fetch(`${managePrefix}/policies/${name}/test`, { method: 'POST', headers }),
    );
    const answers = await Promise.all(sent);
    expect(most).toBeLessThanOrEqual(2);
    // Two are asked, eight wait, and more than ten are too many anyway.
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(4);
  });

  test('more than ten times in ten seconds, whichever policies are named', async () => {
    const listening = await aHost(answerJson({ arePoliciesVerified: true }));
    const names = [await aPolicy({ url: urlOf(listening) }), await aPolicy({ url: urlOf(listening) })];
    // Each replica counts for itself, and this one has all the time of the world.
    const now = host.clock.now();
    const one = await host.beside({ webhooks, clock: { now: () => now } });
    const send = (n: number) =>
      one.fetch(`${managePrefix}/policies/${names[n % 2]}/test`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${acmeToken}` },
      });
    for (let n = 0; n < 10; n++) expect((await send(n)).status).toBe(200);
    const refused = await send(10);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.any(String)]);
    expect(listening.received).toHaveLength(10);
  });
});
