import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { createWebhookCaller } from '../../adapters/webhook/webhook-caller.js';
import { silentLogger } from '../../core/log.js';
import type { PolicyHosts } from '../../core/policy/policy-hosts.js';
import { systemClock } from '../../core/units/time.js';
import { anOperation, sponsored } from '../build/operations.js';
import { sha256 } from '../build/configs.js';
import { rpcPath, startRpc, type RpcAnswer, type RpcHost } from '../build/rpc.js';
import { answerJson, startHost, type WebhookHost } from '../adapters/webhook/webhook-host.js';
import { until } from '../support/until.js';

// A webhook has `onError: Allow`, and its host refuses everybody after a while. Enough requests fill any queue that there
// is on our side. A full queue must never be taken for a failure of the host.
// One process: the limits are per process, so three processes allow three times as much.

const otherKey = 'oTher_9Zq.3f6c1c0a-7d7e-4f41-9a55-0f5e8f3b2c22';
let release = (): void => {};
let webhookHost: WebhookHost;
let webhooks: PolicyHosts;
let rpc: RpcHost;
const metrics = createMetrics({ process: false });
let nonce = 0;

beforeAll(async () => {
  const released = new Promise<void>((resolve) => (release = resolve));
  const refuse = answerJson({ arePoliciesVerified: false });
  webhookHost = await startHost((request, response) => void released.then(() => refuse(request, response)));
  webhooks = createWebhookCaller({
    masterKeys: { webhook: new Uint8Array(32).fill(7) },
    allowHttp: true,
    allowLoopback: true,
    clock: systemClock,
    log: silentLogger,
    metrics,
    // The host is to answer late, not to fail.
    budgetMs: 60_000,
    limits: { maxWaitMs: 60_000 },
  });
  rpc = await startRpc({ webhooks });
  const policy = {
    policyId: 'w1',
    name: 'Rules',
    url: `http://127.0.0.1:${webhookHost.port}/check`,
    method: 'POST',
    onError: 'Allow',
  } as const;
  await rpc.put({ webhooks: [policy] });
  await rpc.put({
    paymasterId: 'other',
    keys: [{ sha256: sha256(otherKey) }],
    webhooks: [{ ...policy, policyId: 'w2' }],
  });
});
afterAll(async () => {
  release();
  await rpc.stop();
  await webhooks.stop();
  await webhookHost.stop();
});

function ask(path = rpcPath()): Promise<RpcAnswer> {
  nonce += 1;
  return rpc.call('pm_sponsorUserOperation', [anOperation({ nonce }), sponsored], { path });
}

test('1,000 calls at once against a host that refuses late: none is sponsored, calls that find the queue full may retry', async () => {
  const attack = Array.from({ length: 1_000 }, () => ask());
  await until('the attacker has his share of the host', () => webhookHost.received.length === 64);
  await until('all others wait or are turned away', async () =>
    (await metrics.render()).body.includes('paymaster_webhook_calls_total{outcome="busy"} 744\n'),
  );

  // The control: another paymaster of the same host is asked for meanwhile.
  const honest = ask(rpcPath(otherKey));
  await until('the honest call has reached the host', () => webhookHost.received.length === 65);
  release();

  const answers = await Promise.all(attack);
  const refused = answers.filter(({ body }) => body.result?.['reason'] === 'WEBHOOK_REFUSED');
  const busy = answers.filter(({ body }) => body.error?.data.reason === 'WEBHOOK_BUSY');
  expect(refused).toHaveLength(256);
  expect(busy).toHaveLength(744);
  for (const { status, headers, body } of busy) {
    expect(status).toBe(400);
    expect(headers.get('retry-after')).toBe('1');
    expect(body.error).toMatchObject({ code: -32003, data: { retryable: true } });
  }
  expect((await honest).body.result?.['reason']).toBe('WEBHOOK_REFUSED');
});
