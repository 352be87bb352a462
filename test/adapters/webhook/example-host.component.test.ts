import { spawn, type ChildProcess } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { createWebhookCaller } from '../../../adapters/webhook/webhook-caller.js';
import { deriveWebhookKey } from '../../../core/policy/webhook/signing-key.js';
import type { WebhookConfig } from '../../../core/policy/webhook/spec.js';
import { silentLogger } from '../../../core/log.js';
import type { WebhookCaller, WebhookOutcome } from '../../../core/policy/webhook/webhook-caller.js';
import { systemClock } from '../../../core/units/time.js';
import { freePort } from '../../../standalone/cluster/free-port.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { until } from '../../support/until.js';

// examples/webhook-host as it is shipped, called by the real caller.

type Verify = (request: {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: string;
  readonly signingKey: string;
  readonly now?: number;
}) => boolean;

const folder = join(repositoryRoot, 'examples/webhook-host');
const masterKey = new Uint8Array(32).fill(9);
const policyId = 'club';
const signingKey = deriveWebhookKey(masterKey, policyId, 1);
let verify: Verify;
let host: ChildProcess;
let output = '';
let port: number;
let caller: WebhookCaller;

beforeAll(async () => {
  ({ verify } = (await import(join(folder, 'verify.mjs'))) as { readonly verify: Verify });
  port = await freePort();
  host = spawn(process.execPath, [join(folder, 'main.mjs')], {
    env: { SIGNING_KEY: signingKey, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  host.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await until('the host listens', () => output.includes('webhook host at'));
  caller = createWebhookCaller({
    masterKeys: { webhook: masterKey },
    allowHttp: true,
    allowLoopback: true,
    clock: systemClock,
    log: silentLogger,
    metrics: createMetrics({ process: false }),
  });
});
afterAll(async () => {
  host?.kill();
  await caller?.stop();
});

async function ask(sender: string, change: Partial<WebhookConfig> = {}): Promise<WebhookOutcome | undefined> {
  const url = `http://127.0.0.1:${port}/check?tenant=7`;
  const webhook: WebhookConfig = { policyId, name: 'club', url, method: 'POST', onError: 'Deny', ...change };
  const [outcome] = await caller.call({
    paymasterId: 'p',
    organisation: 'acme',
    webhooks: [webhook],
    data: { plan: 'gold' },
    userOp: { sender },
    requestId: 'r',
  });
  return outcome;
}

test('members are sponsored; others hear why not; a key that is not theirs is refused', async () => {
  expect(await ask('0x1234567890123456789012345678901234567890')).toEqual({ verdict: 'verified' });
  expect(await ask('0x1')).toEqual({ verdict: 'refused', reason: 'not a member of the club' });
  expect(await ask('0x1', { policyId: 'another' })).toEqual({
    verdict: 'refused',
    detail: 'answered HTTP 401',
  });
  // Signed over path and query, which the host sees as they were sent.
  expect(await ask('0x1', { method: 'GET' })).toMatchObject({
    verdict: 'refused',
    reason: expect.any(String),
  });
});

describe('the verifier', () => {
  const now = 1_767_225_600_000;
  const timestamp = '1767225600';
  const signature = '3bb3f4cbd3fa3b33';
  const signed = (payload: string, key = signingKey, at = timestamp): Readonly<Record<string, string>> => ({
    'x-timestamp': at,
    'x-signature': hmac(key, `${at}.${payload}`),
  });

  test('has 15 lines', () => {
    const code = readFileSync(join(folder, 'verify.mjs'), 'utf8').trimEnd().split('\n');
    const withoutComment = code.filter((line) => !/^\s*(\/\*\*|\*)/.test(line) && line !== '');
    expect(withoutComment.length).toBeLessThanOrEqual(15);
  });

  test.each([
    { name: 'what we signed', headers: signed('{}'), payload: '{}', passes: true },
    { name: 'another body', headers: signed('{}'), payload: '{ }', passes: false },
    { name: 'another key', headers: signed('{}', 'other'), payload: '{}', passes: false },
    {
      name: 'a replay of six minutes ago',
      headers: signed('{}', signingKey, String(now / 1000 - 360)),
      payload: '{}',
      passes: false,
    },
    { name: 'no headers', headers: {}, payload: '{}', passes: false },
    {
      name: 'a signature that is not hex',
      headers: { ...signed('{}'), 'x-signature': signature },
      payload: '{}',
      passes: false,
    },
    {
      name: 'the new key while keys are rotated',
      headers: { ...signed('{}', 'old'), 'x-signature-next': hmac(signingKey, `${timestamp}.{}`) },
      payload: '{}',
      passes: true,
    },
  ])('$name: $passes', ({ headers, payload, passes }) => {
    expect(verify({ headers, payload, signingKey, now })).toBe(passes);
  });
});

function hmac(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}
