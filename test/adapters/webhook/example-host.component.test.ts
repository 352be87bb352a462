import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request as send, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { createWebhookCaller } from '../../../adapters/webhook/webhook-caller.js';
import { deriveWebhookKey } from '../../../core/policy/webhook/signing-key.js';
import type { WebhookConfig } from '../../../core/policy/webhook/schema.js';
import { silentLogger } from '../../../core/log.js';
import type { PolicyHosts, HostOutcome } from '../../../core/policy/policy-hosts.js';
import { systemClock } from '../../../core/units/time.js';
import { freePort } from '../../support/cluster/free-port.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { until } from '../../support/until.js';
import { answerJson, startHost, type WebhookHost } from './webhook-host.js';

// examples/webhook-host as it is shipped, called by the real caller.

const folder = join(repositoryRoot, 'examples/webhook-host');
const built = mkdtempSync(join(tmpdir(), 'webhook-host-'));
afterAll(() => rmSync(built, { recursive: true, force: true }));

/** A language that this machine does not have is left out. */
const languages = [
  {
    language: 'JavaScript',
    version: ['node', '--version'],
    command: () => [process.execPath, join(folder, 'main.mjs')],
  },
  {
    language: 'Python',
    version: ['python3', '--version'],
    command: () => ['python3', join(folder, 'host.py')],
  },
  {
    language: 'Go',
    version: ['go', 'version'],
    command: () => {
      execFileSync('go', ['build', '-o', join(built, 'host'), join(folder, 'host.go')]);
      return [join(built, 'host')];
    },
  },
].filter(({ version: [program = '', argument = ''] }) => spawnSync(program, [argument]).status === 0);

const masterKey = new Uint8Array(32).fill(9);
const policyId = 'club';
const signingKey = deriveWebhookKey(masterKey, policyId, 1);
const member = '0x1234567890123456789012345678901234567890';

let caller: PolicyHosts;
let recorder: WebhookHost;
beforeAll(async () => {
  recorder = await startHost(answerJson({ arePoliciesVerified: true }));
  caller = createWebhookCaller({
    masterKeys: { webhook: masterKey },
    allowHttp: true,
    allowLoopback: true,
    clock: systemClock,
    log: silentLogger,
    metrics: createMetrics({ process: false }),
    budgetMs: 10_000,
  });
});
afterAll(async () => {
  await caller?.stop();
  await recorder?.stop();
});

type Asked = Partial<WebhookConfig> & { readonly sender?: string; readonly isTest?: true };

async function ask(
  port: number,
  { sender = member, isTest, ...change }: Asked = {},
): Promise<HostOutcome | undefined> {
  const url = `http://127.0.0.1:${port}/check?tenant=7`;
  const webhook: WebhookConfig = { policyId, name: 'club', url, method: 'POST', onError: 'Deny', ...change };
  const [outcome] = await caller.call({
    paymasterId: 'p',
    organisation: 'acme',
    policies: [webhook],
    data: { plan: 'gold' },
    userOp: { sender },
    requestId: 'r',
    ...(isTest === undefined ? {} : { isTest }),
  });
  return outcome;
}

type Delivery = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

/** A delivery as the caller sends it. */
async function delivered(asked: Asked = {}): Promise<Delivery> {
  await ask(recorder.port, asked);
  const { method, path, headers, body } = recorder.received.at(-1)!;
  return { method: String(method), path: String(path), headers, body };
}

/** What the host answers to a delivery that somebody sends. */
async function statusOf(
  port: number,
  { method, path, headers, body }: Delivery,
): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const request = send(
    {
      port,
      host: '127.0.0.1',
      method,
      path,
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      agent: false,
    },
    (response) => {
      response.resume();
      resolve(response.statusCode);
    },
  );
  request.on('error', reject);
  request.end(body);
  return promise;
}

const withHeaders = (delivery: Delivery, change: IncomingHttpHeaders): Delivery => {
  const headers = Object.entries({ ...delivery.headers, ...change }).filter(
    ([, value]) => value !== undefined,
  );
  return { ...delivery, headers: Object.fromEntries(headers) };
};

describe.each(languages)('the host in $language', ({ command }) => {
  let host: ChildProcess;
  let port: number;
  let output = '';

  beforeAll(async () => {
    port = await freePort();
    const [program = '', ...args] = command();
    host = spawn(program, args, {
      env: { ...process.env, SIGNING_KEY: signingKey, WEBHOOK_PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const read = (chunk: Buffer): void => void (output += chunk.toString());
    host.stdout?.on('data', read);
    host.stderr?.on('data', read);
    await until('the host listens', () => output.includes('webhook host at'));
  });
  afterAll(() => void host?.kill());

  test('sponsors members, tells others why not, and refuses a key that is not theirs', async () => {
    expect(await ask(port)).toEqual({ verdict: 'verified' });
    expect(await ask(port, { isTest: true })).toEqual({ verdict: 'verified' });
    expect(await ask(port, { sender: '0x1' })).toEqual({
      verdict: 'refused',
      reason: 'not a member of the club',
    });
    expect(await ask(port, { policyId: 'another' })).toEqual({
      verdict: 'refused',
      detail: 'answered HTTP 401',
    });
    // A GET has its data in the path, and no body.
    expect(await ask(port, { method: 'GET' })).toEqual({
      verdict: 'refused',
      reason: 'not a member of the club',
    });
  });

  test('takes both keys while they are rotated', async () => {
    const rotated = { keyGeneration: 2, previousKeyUntil: (Date.now() + 600_000) as never };
    expect(await ask(port, rotated)).toEqual({ verdict: 'verified' });
    const own = await delivered();
    const next = withHeaders(own, {
      'x-signature-next': own.headers['x-signature'],
      'x-signature': `v2=${'0'.repeat(64)}`,
    });
    expect(await statusOf(port, next)).toBe(200);
  });

  test.each<{ name: string; asked?: Asked; change: (delivery: Delivery) => Delivery; status?: number }>([
    { name: 'it is what was sent', change: (delivery) => delivery, status: 200 },
    {
      name: 'the body is another',
      change: (delivery) => ({ ...delivery, body: delivery.body.replace('gold', 'lead') }),
    },
    { name: 'the path is another', change: (delivery) => ({ ...delivery, path: '/other?tenant=7' }) },
    { name: 'the query is another', change: (delivery) => ({ ...delivery, path: '/check?tenant=8' }) },
    { name: 'the method is another', change: (delivery) => ({ ...delivery, method: 'GET' }) },
    {
      name: 'the policy is another',
      change: (delivery) => withHeaders(delivery, { 'x-policy-id': 'another' }),
    },
    {
      name: 'it is made a test',
      change: (delivery) => withHeaders(delivery, { 'x-test-delivery': 'true' }),
    },
    {
      name: 'a test is made an operation',
      asked: { isTest: true },
      change: (delivery) => withHeaders(delivery, { 'x-test-delivery': undefined }),
    },
    {
      name: 'the time is another',
      change: (delivery) =>
        withHeaders(delivery, { 'x-timestamp': String(Number(delivery.headers['x-timestamp']) + 1) }),
    },
    {
      name: 'the signature is missing',
      change: (delivery) => withHeaders(delivery, { 'x-signature': undefined }),
    },
    {
      name: 'the time is missing',
      change: (delivery) => withHeaders(delivery, { 'x-timestamp': undefined }),
    },
    {
      name: 'the signature has another form',
      change: (delivery) => withHeaders(delivery, { 'x-signature': 'v1=zz' }),
    },
  ])('takes a delivery only as it was sent: $name', async ({ asked, change, status = 401 }) => {
    expect(await statusOf(port, change(await delivered(asked)))).toBe(status);
  });

  test('a delivery of six minutes ago, or of a time to come, is refused as a replay', async () => {
    for (const seconds of [-360, 360]) {
      const other = createWebhookCaller({
        masterKeys: { webhook: masterKey },
        allowHttp: true,
        allowLoopback: true,
        clock: { now: () => (Date.now() + seconds * 1000) as never },
        log: silentLogger,
        metrics: createMetrics({ process: false }),
      });
      const webhook = {
        policyId,
        name: 'club',
        url: `http://127.0.0.1:${port}/`,
        method: 'POST',
        onError: 'Deny',
      } as const;
      const outcome = await other.call({
        paymasterId: 'p',
        organisation: 'acme',
        policies: [webhook],
        data: {},
        userOp: { sender: member },
        requestId: 'r',
      });
      expect(outcome).toEqual([{ verdict: 'refused', detail: 'answered HTTP 401' }]);
      await other.stop();
    }
  });
});

test('the verifier in JavaScript has 15 lines', () => {
  const code = readFileSync(join(folder, 'verify.mjs'), 'utf8').trimEnd().split('\n');
  const withoutComment = code.filter((line) => !/^\s*(\/\*\*|\*)/.test(line) && line !== '');
  expect(withoutComment.length).toBeLessThanOrEqual(15);
});
