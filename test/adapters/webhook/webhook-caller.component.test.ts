import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import { decideWebhooks } from '../../../core/policy/webhook/kind.js';
import { createHmac } from 'node:crypto';
import type { Socket } from 'node:net';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { createGuardedConnector } from '../../../adapters/webhook/ssrf-guard.js';
import { createWebhookCaller, type WebhookCallerDeps } from '../../../adapters/webhook/webhook-caller.js';
import { deriveWebhookKey } from '../../../core/policy/webhook/signing-key.js';
import type { WebhookConfig } from '../../../core/policy/webhook/schema.js';
import { DomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { createAddressGuard } from '../../../core/policy/webhook/public-address.js';
import type { PolicyHosts, HostRequest } from '../../../core/policy/policy-hosts.js';
import type { WebhookMasterKeys } from '../../../core/secrets.js';
import { systemClock, type EpochMs } from '../../../core/units/time.js';
import { createCertificate } from './certificate.js';
import {
  besideListed,
  besideListedAddresses,
  hostileByAddress,
  hostileByText,
  listedHost,
} from './ssrf-corpus.js';
import { answerJson, startHost, startRawHost, type Answer, type WebhookHost } from './webhook-host.js';
import { until } from '../../support/until.js';

const masterKey = new Uint8Array(32).fill(7);
const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

function aCaller(change: Partial<WebhookCallerDeps> = {}): PolicyHosts {
  const caller = createWebhookCaller({
    masterKeys: { webhook: masterKey },
    allowHttp: true,
    allowLoopback: true,
    clock: systemClock,
    log: silentLogger,
    metrics: createMetrics({ process: false }),
    // A busy machine takes longer than these budgets.
    stalls: { enter() {}, leave() {}, totalMs: () => 0 },
    budgetMs: 60_000,
    ...change,
    limits: { maxWaitMs: 60_000, ...change.limits },
  });
  cleanUps.push(() => caller.stop());
  return caller;
}

async function aHost(...args: Parameters<typeof startHost>): Promise<WebhookHost> {
  const host = await startHost(...args);
  cleanUps.push(() => host.stop());
  return host;
}

async function aRawHost(onSocket: (socket: Socket) => void): Promise<WebhookHost> {
  const host = await startRawHost(onSocket);
  cleanUps.push(() => host.stop());
  return host;
}

const aWebhook = (url: string, change: Partial<WebhookConfig> = {}): WebhookConfig => ({
  policyId: `policy of ${url}`,
  name: 'kyc',
  url,
  method: 'POST',
  onError: 'Deny',
  ...change,
});

const aRequest = (policies: readonly WebhookConfig[], change: Partial<HostRequest> = {}): HostRequest => ({
  paymasterId: 'pm-1',
  organisation: 'acme',
  policies,
  data: { plan: 'gold' },
  userOp: { sender: '0xab' },
  requestId: 'r-1',
  ...change,
});

const askOne = async (caller: PolicyHosts, url: string, change: Partial<WebhookConfig> = {}) =>
  (await caller.call(aRequest([aWebhook(url, change)])))[0];

/** Of a POST that is not a test. */
function signatureOf(request: WebhookHost['received'][number] | undefined, key: string): string {
  const { 'x-timestamp': timestamp, 'x-policy-id': policyId } = request?.headers ?? {};
  const lines = ['v2', timestamp, policyId, 'live', 'POST', request?.path, request?.body];
  return `v2=${createHmac('sha256', key).update(lines.join('\n')).digest('hex')}`;
}

const dnsError = (code: string) => Object.assign(new Error('no such name'), { code });

const localUrl = ({ port }: WebhookHost, path = '/') => `http://127.0.0.1:${port}${path}`;
const yes = answerJson({ arePoliciesVerified: true });
const no = answerJson({ arePoliciesVerified: false });
const failedWith = (detail: RegExp) => ({ verdict: 'failed', detail: expect.stringMatching(detail) });
const blockedWith = (detail: RegExp) => ({ verdict: 'blocked', detail: expect.stringMatching(detail) });
const isBusy = expect.objectContaining({
  code: 'UNAVAILABLE',
  details: expect.objectContaining({ reason: 'WEBHOOK_BUSY', retryAfterSeconds: 1 }),
});

describe('a webhook is called', () => {
  test('by POST with the webhook data and the user operation, signed with the key of its policy', async () => {
    const host = await aHost(yes);
    const clock = { now: () => 1_700_000_000_999 as EpochMs };
    const webhook = aWebhook(localUrl(host, '/check?tenant=7'), { policyId: 'p-1' });
    expect(await aCaller({ clock }).call(aRequest([webhook]))).toEqual([{ verdict: 'verified' }]);

    const [request] = host.received;
    expect(request).toMatchObject({
      method: 'POST',
      path: '/check?tenant=7',
      body: '{"data":{"plan":"gold"},"userOp":{"sender":"0xab"}}',
      headers: {
        host: `127.0.0.1:${host.port}`,
        'content-type': 'application/json',
        'x-request-id': 'r-1',
        'x-timestamp': '1700000000',
      },
    });
    expect(request?.headers['x-signature']).toBe(signatureOf(request, deriveWebhookKey(masterKey, 'p-1')));
  });

  test('signed by the old key until the overlap is over, and by the new one from its beginning', async () => {
    const host = await aHost(yes);
    const until = 1_700_000_010_000 as EpochMs;
    const signed = async (now: number) => {
      const caller = aCaller({ clock: { now: () => now as EpochMs } });
      await askOne(caller, localUrl(host, '/check'), { keyGeneration: 2, previousKeyUntil: until });
      const request = host.received.at(-1);
      const policyId = String(request?.headers['x-policy-id']);
      const by = (keyGeneration: number): string =>
        signatureOf(request, deriveWebhookKey(masterKey, policyId, keyGeneration));
      return { headers: request?.headers ?? {}, old: by(1), next: by(2) };
    };
    const during = await signed(until - 1);
    expect(during.headers['x-signature']).toBe(during.old);
    expect(during.headers['x-signature-next']).toBe(during.next);
    const after = await signed(until);
    expect(after.headers['x-signature']).toBe(after.next);
    expect(after.headers['x-signature-next']).toBeUndefined();
  });

  test('signed by both master keys while the master key is rotated, without a restart', async () => {
    const host = await aHost(yes);
    const next = new Uint8Array(32).fill(8);
    let masterKeys: WebhookMasterKeys = { webhook: masterKey };
    const caller = aCaller({
      masterKeys: {
        get webhook() {
          return masterKeys.webhook;
        },
        get webhookPrevious() {
          return masterKeys.webhookPrevious;
        },
      },
    });
    const signed = async () => {
      await askOne(caller, localUrl(host, '/check'));
      const request = host.received.at(-1);
      const policyId = String(request?.headers['x-policy-id']);
      const by = (master: Uint8Array): string => signatureOf(request, deriveWebhookKey(master, policyId));
      const { 'x-signature': signature, 'x-signature-next': signatureNext } = request?.headers ?? {};
      return { signature, signatureNext, old: by(masterKey), next: by(next) };
    };
    const before = await signed();
    expect([before.signature, before.signatureNext]).toEqual([before.old, undefined]);
    masterKeys = { webhook: next, webhookPrevious: masterKey };
    const during = await signed();
    expect([during.signature, during.signatureNext]).toEqual([during.old, during.next]);
    masterKeys = { webhook: next };
    const after = await signed();
    expect([after.signature, after.signatureNext]).toEqual([after.next, undefined]);
  });

  test('not at all while the master key in force is not known, also with onError Allow', async () => {
    const host = await aHost(yes);
    const caller = aCaller({
      masterKeys: {
        get webhook(): Uint8Array {
          throw new DomainError('UNAVAILABLE', 'not known', { reason: 'MASTER_KEYS_MISSING' });
        },
      },
    });
    await expect(askOne(caller, localUrl(host, '/check'), { onError: 'Allow' })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    expect(host.received).toEqual([]);
  });

  test('by GET with the data as query parameters', async () => {
    const host = await aHost(no);
    expect(await askOne(aCaller(), localUrl(host, '/check'), { method: 'GET' })).toEqual({
      verdict: 'refused',
    });
    expect(host.received).toEqual([
      expect.objectContaining({ method: 'GET', path: '/check?plan=gold', body: '' }),
    ]);
  });

  test('with {} when the request carried no webhook data', async () => {
    const host = await aHost(yes);
    await aCaller().call(aRequest([aWebhook(localUrl(host))], { data: undefined }));
    expect(host.received[0]?.body).toBe('{"data":{},"userOp":{"sender":"0xab"}}');
  });

  test('together with all others of the request, each outcome in its place', async () => {
    // Each host answers only after the other one was asked too: one after the other, neither would ever answer.
    let release = () => {};
    const bothAsked = new Promise<void>((resolve) => (release = resolve));
    let asked = 0;
    const answerTogether =
      (answer: Answer): Answer =>
      (request, response) => {
        asked += 1;
        if (asked === 2) release();
        void bothAsked.then(() => answer(request, response));
      };
    const [first, second] = [await aHost(answerTogether(yes)), await aHost(answerTogether(no))];
    const webhooks = [aWebhook(localUrl(first)), aWebhook(localUrl(second))];
    expect(await aCaller().call(aRequest(webhooks))).toEqual([
      { verdict: 'verified' },
      { verdict: 'refused' },
    ]);
  });

  test('over kept connections when asked again', async () => {
    const host = await aHost(yes);
    const caller = aCaller();
    for (let i = 0; i < 20; i += 1)
      expect(await askOne(caller, localUrl(host))).toEqual({ verdict: 'verified' });
    // A second one may open while the first is still finishing its answer.
    expect(host.connections()).toBeLessThanOrEqual(2);
  });

  test('never, when the request has none', async () => {
    expect(await aCaller().call(aRequest([]))).toEqual([]);
  });
});

describe('one retry', () => {
  test('follows an HTTP 5xx', async () => {
    const host = await aHost([answerJson({}, 503), yes]);
    expect(await askOne(aCaller(), localUrl(host))).toEqual({ verdict: 'verified' });
    expect(host.received).toHaveLength(2);
  });

  test('follows a connection that is reset', async () => {
    const host = await aHost([(_request, response) => response.socket?.resetAndDestroy(), yes]);
    expect(await askOne(aCaller(), localUrl(host))).toEqual({ verdict: 'verified' });
    expect(host.received).toHaveLength(2);
  });

  test('follows a truncated answer', async () => {
    const truncated: Answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"arePoliciesVerified":', () => response.destroy());
    };
    const host = await aHost([truncated, yes]);
    expect(await askOne(aCaller(), localUrl(host))).toEqual({ verdict: 'verified' });
  });

  test('is the last: two failures are a failure', async () => {
    const host = await aHost(answerJson({ arePoliciesVerified: true }, 500));
    expect(await askOne(aCaller(), localUrl(host))).toEqual(failedWith(/HTTP 500/));
    expect(host.received).toHaveLength(2);
  });

  test.each([200, 204, 301, 404, 408, 429])('does not follow HTTP %d', async (status) => {
    const host = await aHost(answerJson({}, status));
    expect(await askOne(aCaller(), localUrl(host))).toEqual(failedWith(/./));
    expect(host.received).toHaveLength(1);
  });

  test.each([400, 401, 403, 413, 414, 422, 431])(
    'does not follow HTTP %d, which says that the request is at fault and so is a "no"',
    async (status) => {
      const host = await aHost(answerJson({}, status));
      const outcome = await askOne(aCaller(), localUrl(host));
      expect(outcome).toEqual({ verdict: 'refused', detail: `answered HTTP ${status}` });
      expect(host.received).toHaveLength(1);
    },
  );

  test('does not follow a "no"', async () => {
    const host = await aHost([no, yes]);
    expect(await askOne(aCaller(), localUrl(host))).toEqual({ verdict: 'refused' });
    expect(host.received).toHaveLength(1);
  });
});

describe('an answer that comes compressed, although none was asked for', () => {
  const compressed =
    (
      encoding: string,
      compress: (text: string) => Buffer,
      text = JSON.stringify({ arePoliciesVerified: true }),
    ) =>
    (): Promise<WebhookHost> =>
      aHost((_request, response) => {
        response.writeHead(200, { 'content-encoding': encoding }).end(compress(text));
      });

  test.each([
    ['gzip', compressed('gzip', gzipSync)],
    ['x-gzip', compressed('X-Gzip', gzipSync)],
    ['deflate', compressed('deflate', deflateSync)],
    ['br', compressed('br', brotliCompressSync)],
  ])('with %s is read', async (_encoding, start) => {
    const host = await start();
    expect(await askOne(aCaller(), localUrl(host))).toEqual({ verdict: 'verified' });
    expect(host.received[0]?.headers['accept-encoding']).toBe('identity');
  });

  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const)('is bounded after expanding: %s', async (encoding, compress) => {
    const large = JSON.stringify({ arePoliciesVerified: true, padding: ' '.repeat(50_000_000) });
    const host = await compressed(encoding, compress, large)();
    expect(await askOne(aCaller(), localUrl(host))).toEqual(blockedWith(/answered a body of more than/));
  });

  test('in a way that is not known, or that does not expand, is a failure', async () => {
    const unknown = await compressed('lzma', Buffer.from)();
    expect(await askOne(aCaller(), localUrl(unknown))).toEqual(failedWith(/CONTENT_ENCODING/));
    const broken = await compressed('gzip', Buffer.from)();
    expect(await askOne(aCaller(), localUrl(broken))).toEqual(failedWith(/Z_DATA_ERROR/));
  });
});

describe('a failure is reported with host and cause', () => {
  test('when the host is slower than its policy allows, which counts instead of the budget', async () => {
    const host = await aHost(() => {});
    const caller = aCaller({ budgetMs: 60_000 });
    expect(await askOne(caller, localUrl(host), { timeoutMs: 150 })).toEqual(failedWith(/within 150 ms$/));
  });

  test('when the host is slower than the budget', async () => {
    const host = await aHost(() => {});
    // Without a budget it would wait for ever.
    expect(await askOne(aCaller({ budgetMs: 150 }), localUrl(host, '/?key=s3cret'))).toEqual({
      verdict: 'failed',
      detail: `127.0.0.1:${host.port} did not answer within 150 ms`,
    });
  });

  test('but not where this process had no time to read the answer: then the request is refused as busy', async () => {
    const host = await aHost(() => {});
    // At each look another second is lost.
    let stalledMs = 0;
    const stalls = { enter() {}, leave() {}, totalMs: () => (stalledMs += 1000) };
    const caller = aCaller({ budgetMs: 150, stalls });
    await expect(askOne(caller, localUrl(host), { onError: 'Allow' })).rejects.toEqual(isBusy);
  });

  test('when a retry would end after the budget of all webhooks', async () => {
    // Each is within the budget, both together are not: with a separate budget the retry would be a "yes".
    const slow =
      (answer: Answer): Answer =>
      (request, response) => {
        setTimeout(() => answer(request, response), 300);
      };
    const host = await aHost([slow(answerJson({}, 500)), slow(yes)]);
    expect(await askOne(aCaller({ budgetMs: 500 }), localUrl(host))).toEqual(
      failedWith(/within 500 ms|HTTP 500/),
    );
  });

  test('when the body never ends', async () => {
    const host = await aHost((_request, response) => {
      response.writeHead(200).write('{"arePoliciesVerified":true');
    });
    expect(await askOne(aCaller({ budgetMs: 150 }), localUrl(host))).toEqual(failedWith(/within 150 ms/));
  });

  test('when the body is too big, without reading all of it', async () => {
    const sent = { bytes: 0 };
    const host = await aHost((_request, response) => {
      const chunk = Buffer.alloc(16 * 1024, 0x20);
      const pump = () => {
        if (response.destroyed) return;
        sent.bytes += chunk.length;
        response.write(chunk, pump);
      };
      response.writeHead(200);
      pump();
    });
    expect(await askOne(aCaller(), localUrl(host))).toEqual(blockedWith(/more than 65536 bytes/));
    expect(sent.bytes).toBeLessThan(64 * 1024 * 1024);
  });

  test('when a connection is accepted and never answered', async () => {
    const host = await aRawHost((socket) => socket.pause());
    expect(await askOne(aCaller({ budgetMs: 150 }), localUrl(host))).toEqual(failedWith(/within 150 ms/));
  });

  test('when the host half-closes without an answer', async () => {
    const host = await aRawHost((socket) => socket.end());
    expect(await askOne(aCaller(), localUrl(host))).toEqual(failedWith(/could not be asked \(/));
    expect(host.connections()).toBe(2);
  });

  test.each([
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['a broken status line', 'HTTP/1.1 abc\r\n\r\n'],
    ['endless headers', `HTTP/1.1 200 OK\r\n${'x-a: b\r\n'.repeat(20_000)}`],
    [
      'two content lengths',
      'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 30\r\n\r\n{"arePoliciesVerified":true}',
    ],
  ])('when the host speaks %s', async (_name, bytes) => {
    const host = await aRawHost((socket) => socket.on('data', () => socket.write(bytes)));
    expect(await askOne(aCaller({ budgetMs: 1000 }), localUrl(host))).toEqual(
      failedWith(/could not be asked|within/),
    );
  });

  test('when nobody listens', async () => {
    const host = await aHost(yes);
    await host.stop();
    expect(await askOne(aCaller(), localUrl(host))).toEqual(failedWith(/\(ECONNREFUSED\)/));
  });

  test('when the name cannot be looked up now', async () => {
    const resolve = () => Promise.reject(Object.assign(new Error('server failed'), { code: 'ESERVFAIL' }));
    expect(await askOne(aCaller({ resolve }), 'https://nowhere.example.com/')).toEqual(
      failedWith(/\(ESERVFAIL\)/),
    );
  });

  test('when the resolver hangs', async () => {
    const resolve = () => new Promise<readonly string[]>(() => {});
    const caller = aCaller({ resolve, budgetMs: 150 });
    expect(await askOne(caller, 'https://slow.example.com/')).toEqual(failedWith(/within 150 ms/));
  });

  test('and never with the path or query, which may hold secrets', async () => {
    const host = await aHost(answerJson({}, 500));
    const outcome = await askOne(aCaller(), localUrl(host, '/p4th?key=s3cret'));
    expect(outcome).toEqual(failedWith(/HTTP 500/));
    expect(JSON.stringify(outcome)).not.toMatch(/p4th|s3cret/);
  });
});

test('GET data that would make too long a query are refused without a call, with onError Allow too', async () => {
  const host = await aHost(yes);
  const webhook = aWebhook(localUrl(host), { method: 'GET', onError: 'Allow' });
  const outcomes = await aCaller().call(aRequest([webhook], { data: { a: 'x'.repeat(9000) } }));
  expect(decideWebhooks([webhook], outcomes)).toEqual({
    pass: false,
    reason: 'WEBHOOK_REFUSED',
    detail: expect.stringContaining('at most 8192'),
    policyId: webhook.policyId,
  });
  expect(host.connections()).toBe(0);
});

describe('redirects are not followed', () => {
  test.each([301, 302, 303, 307, 308])('HTTP %d to an inner address is a failure', async (status) => {
    const inner = await aHost(yes);
    const host = await aHost((_request, response) => {
      response.writeHead(status, { location: localUrl(inner) }).end('{"arePoliciesVerified":true}');
    });
    expect(await askOne(aCaller(), localUrl(host))).toEqual(failedWith(/redirects are not followed/));
    expect(inner.connections()).toBe(0);
  });
});

describe('TLS', () => {
  const certificate = createCertificate('hooks.example.com');
  const resolve = () => Promise.resolve(['127.0.0.1']);

  test('checks the certificate against the name of the URL, and sends that name', async () => {
    const host = await aHost(yes, { tls: certificate });
    const caller = aCaller({ resolve, ca: certificate.cert, ports: [host.port], allowHttp: false });
    expect(await askOne(caller, `https://hooks.example.com:${host.port}/`)).toEqual({ verdict: 'verified' });
    expect(host.received[0]?.headers.host).toBe(`hooks.example.com:${host.port}`);
  });

  test('refuses a certificate of another name', async () => {
    const host = await aHost(yes, { tls: certificate });
    const caller = aCaller({ resolve, ca: certificate.cert, ports: [host.port] });
    expect(await askOne(caller, `https://other.example.com:${host.port}/`)).toEqual(
      failedWith(/ERR_TLS_CERT_ALTNAME_INVALID/),
    );
    expect(host.received).toEqual([]);
  });

  test('refuses a certificate that nobody vouches for', async () => {
    const host = await aHost(yes, { tls: certificate });
    const caller = aCaller({ resolve, ports: [host.port] });
    expect(await askOne(caller, `https://hooks.example.com:${host.port}/`)).toEqual(
      failedWith(/CERT|SELF_SIGNED/),
    );
    expect(host.received).toEqual([]);
  });
});

describe('no URL leads to an inner address', () => {
  const strict = { allowHttp: false, allowLoopback: false };

  test('not one of the hostile forms is called', async () => {
    const caller = aCaller({ ...strict, resolve: () => Promise.resolve(['127.0.0.1']) });
    const outcomes = await caller.call(aRequest(hostileByText.map(({ url }) => aWebhook(url))));
    expect(outcomes).toHaveLength(hostileByText.length);
    expect(hostileByText.length).toBeGreaterThanOrEqual(60);
    for (const outcome of outcomes) expect(outcome).toEqual(blockedWith(/must be/));
  });

  test.each(hostileByAddress)('$host, which resolves to $addresses', async ({ host: name, addresses }) => {
    const canary = await aHost(yes);
    const caller = aCaller({
      ...strict,
      allowHttp: true,
      ports: [canary.port],
      resolve: () => Promise.resolve(addresses),
    });
    expect(await askOne(caller, `http://${name}:${canary.port}/`)).toEqual(
      blockedWith(/no address that may be called/),
    );
    expect(canary.connections()).toBe(0);
  });

  test.each([
    { name: 'leads to an inner address', resolve: () => Promise.resolve(['10.0.0.7']) },
    {
      name: 'leads to an inner and a public address',
      resolve: () => Promise.resolve(['93.184.215.14', '10.0.0.7']),
    },
    { name: 'leads nowhere', resolve: () => Promise.resolve([]) },
    { name: 'does not exist', resolve: () => Promise.reject(dnsError('ENOTFOUND')) },
    { name: 'has no addresses', resolve: () => Promise.reject(dnsError('ENODATA')) },
  ])('a name that $name is refused in the same words and the same time as others', async ({ resolve }) => {
    const caller = aCaller({ ...strict, resolve, limits: { failures: 2 } });
    // The breaker must not tell them apart either.
    for (let call = 1; call <= 3; call += 1) {
      const startedAt = performance.now();
      expect(await askOne(caller, 'https://guess.example.com/', { onError: 'Allow' })).toEqual({
        verdict: 'blocked',
        detail: 'guess.example.com was not called, its name has no address that may be called',
      });
      // Timers count in whole milliseconds.
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(249);
    }
  });

  test('a resolver that changes its answer is not believed twice', async () => {
    const host = await aHost((request, response) => {
      response.setHeader('connection', 'close');
      yes(request, response);
    });
    const answers = [['127.0.0.1'], ['127.0.0.2']];
    const asked: string[] = [];
    const origin = `http://rebind.example.com:${host.port}`;
    const caller = aCaller({
      ...strict,
      privateHosts: [{ origin, networks: ['127.0.0.1/32'] }],
      resolve: (name) => {
        asked.push(name);
        return Promise.resolve(answers[asked.length - 1] ?? []);
      },
    });
    const url = `${origin}/`;
    expect(await askOne(caller, url)).toEqual({ verdict: 'verified' });
    expect(asked).toHaveLength(1);
    expect(await askOne(caller, url)).toEqual(blockedWith(/no address that may be called/));
    expect(host.received).toHaveLength(1);
  });

  test.each(['127.0.0.1', '[::1]', '::1', '169.254.169.254'])(
    'the connector itself refuses the literal %s, for which no lookup happens',
    async (hostname) => {
      const canary = await aHost(yes);
      const connect = createGuardedConnector({
        guard: createAddressGuard(),
        resolve: () => Promise.resolve(['127.0.0.1']),
        connectTimeoutMs: 60_000,
      });
      const error = await new Promise<Error | null>((resolve) =>
        connect({ hostname, protocol: 'http:', port: String(canary.port) }, (...result) =>
          resolve(result[0]),
        ),
      );
      expect(error).toMatchObject({ code: 'ADDRESS_REFUSED' });
      expect(canary.connections()).toBe(0);
    },
  );

  test('a socket that ended up elsewhere is closed before a byte is sent', async () => {
    const bytes: Buffer[] = [];
    const canary = await aRawHost((socket) => socket.on('data', (chunk) => bytes.push(chunk)));
    let judged = 0;
    // Allowed when the name is resolved, not allowed when the connected socket is checked.
    const guard = { isAllowed: () => (judged += 1) === 1 };
    const connect = createGuardedConnector({
      guard,
      resolve: () => Promise.resolve(['127.0.0.1']),
      connectTimeoutMs: 60_000,
    });
    const error = await new Promise<Error | null>((resolve) =>
      connect({ hostname: 'x.example.com', protocol: 'http:', port: String(canary.port) }, (...result) =>
        resolve(result[0]),
      ),
    );
    expect(error).toMatchObject({ code: 'ADDRESS_REFUSED' });
    expect(bytes).toEqual([]);
  });
});

describe('a private host that the platform lists', () => {
  const strict = { allowHttp: false, allowLoopback: false };
  const name = 'hooks.shop.svc.cluster.local';
  const resolve = () => Promise.resolve(['127.0.0.1']);
  // The test machine plays the role of the inner network.
  const listed = (port: number) => [{ origin: `http://${name}:${port}`, networks: ['127.0.0.1/32'] }];

  test('is called, and no other name of the same address', async () => {
    const host = await aHost(yes);
    const caller = aCaller({ ...strict, privateHosts: listed(host.port), resolve });
    expect(await askOne(caller, `http://${name}:${host.port}/check`)).toEqual({ verdict: 'verified' });
    expect(host.received[0]?.headers.host).toBe(`${name}:${host.port}`);
    for (const url of [
      `http://other.shop.svc.cluster.local:${host.port}/`,
      `http://hooks.example.com:${host.port}/`,
      `http://127.0.0.1:${host.port}/`,
    ])
      expect(await askOne(caller, url)).toEqual(blockedWith(/must be/));
    // Legal by its text, and led to the same address.
    const open = { ...strict, allowHttp: true, ports: [host.port] };
    const other = aCaller({ ...open, privateHosts: listed(host.port), resolve });
    expect(await askOne(other, `http://hooks.example.com:${host.port}/`)).toEqual(
      blockedWith(/no address that may be called/),
    );
    expect(host.received).toHaveLength(1);
  });

  test('not one form beside it is called', async () => {
    const caller = aCaller({ ...strict, privateHosts: [listedHost], resolve });
    const urls = [...besideListed, ...hostileByText].map(({ url }) => aWebhook(url));
    for (const outcome of await caller.call(aRequest(urls))) expect(outcome).toEqual(blockedWith(/must be/));
  });

  test.each(besideListedAddresses.map((addresses) => ({ addresses })))(
    'is not called when it resolves to $addresses',
    async ({ addresses }) => {
      const canary = await aHost(yes);
      const origin = `http://${name}:${canary.port}`;
      const privateHosts = [{ origin, networks: listedHost.networks }];
      const caller = aCaller({ ...strict, privateHosts, resolve: () => Promise.resolve(addresses) });
      expect(await askOne(caller, `${origin}/`)).toEqual(blockedWith(/no address that may be called/));
      expect(canary.connections()).toBe(0);
    },
  );

  test('leads nowhere else by a redirect', async () => {
    const inner = await aHost(yes);
    const host = await aHost((_request, response) => {
      response.writeHead(307, { location: localUrl(inner) }).end('{"arePoliciesVerified":true}');
    });
    const caller = aCaller({ ...strict, privateHosts: listed(host.port), resolve });
    expect(await askOne(caller, `http://${name}:${host.port}/`)).toEqual(
      failedWith(/redirects are not followed/),
    );
    expect(inner.connections()).toBe(0);
  });

  test('is judged by its own ranges, whatever else is allowed', async () => {
    const bytes: Buffer[] = [];
    const canary = await aRawHost((socket) => socket.on('data', (chunk) => bytes.push(chunk)));
    const connect = createGuardedConnector({
      guard: createAddressGuard({ allowLoopback: true }),
      privateHosts: [{ origin: `http://${name}:${canary.port}`, networks: ['10.0.0.0/8'] }],
      resolve,
      connectTimeoutMs: 60_000,
    });
    const target = { hostname: name, protocol: 'http:', port: String(canary.port) };
    const error = await new Promise<Error | null>((done) => connect(target, (...result) => done(result[0])));
    expect(error).toMatchObject({ code: 'ADDRESS_REFUSED' });
    expect(bytes).toEqual([]);
  });
});

describe('a host that does not answer', () => {
  test('is left alone after repeated silence, then asked once, then trusted again', async () => {
    const clock = { time: 1_000_000, now: () => clock.time as EpochMs };
    const state = { isUp: false };
    const host = await aRawHost((socket) => {
      if (!state.isUp) socket.resetAndDestroy();
      socket.on('data', () => {
        const body = '{"arePoliciesVerified":true}';
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      });
    });
    const caller = aCaller({ clock, limits: { failures: 3, openMs: 5000 } });
    for (let i = 0; i < 3; i += 1)
      expect(await askOne(caller, localUrl(host))).toEqual(failedWith(/could not be/));

    const before = host.connections();
    expect(await askOne(caller, localUrl(host))).toEqual(failedWith(/was not called/));
    expect(host.connections()).toBe(before);

    clock.time += 5000;
    expect(await askOne(caller, localUrl(host))).toEqual(failedWith(/could not be/));
    expect(await askOne(caller, localUrl(host))).toEqual(failedWith(/was not called/));

    state.isUp = true;
    clock.time += 5000;
    expect(await askOne(caller, localUrl(host))).toEqual({ verdict: 'verified' });
    expect(await askOne(caller, localUrl(host))).toEqual({ verdict: 'verified' });
  });

  test('is not left alone for answers that one user can provoke', async () => {
    const host = await aHost([...Array<Answer>(12).fill(answerJson({}, 500)), yes]);
    const caller = aCaller({ limits: { failures: 3 } });
    for (let i = 0; i < 6; i += 1)
      expect(await askOne(caller, localUrl(host))).toEqual(failedWith(/HTTP 500/));
    expect(await askOne(caller, localUrl(host))).toEqual({ verdict: 'verified' });
  });
});

describe('errors that callers cause are not failures of the host', () => {
  /** Answers nobody until it is released, and counts concurrent calls. */
  async function aSlowHost() {
    const open = { now: 0, most: 0 };
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const host = await aHost((request, response) => {
      open.now += 1;
      open.most = Math.max(open.most, open.now);
      void released.then(() => {
        open.now -= 1;
        no(request, response);
      });
    });
    return { host, open, release };
  }

  test('requests beyond the bound of their paymaster are turned away, the rest wait for their turn', async () => {
    const { host, open, release } = await aSlowHost();
    const caller = aCaller({ limits: { requests: 4, connections: 10, perPaymaster: 2 } });
    const calls = Array.from({ length: 10 }, () => askOne(caller, localUrl(host), { onError: 'Allow' }));
    for (const turnedAway of calls.slice(4)) await expect(turnedAway).rejects.toEqual(isBusy);
    await until('both connections are in use', () => open.now === 2);
    release();
    expect(await Promise.all(calls.slice(0, 4))).toEqual(Array(4).fill({ verdict: 'refused' }));
    expect(open.most).toBe(2);
  });

  test('webhooks in Shadow have a small pool to themselves: beyond it they are dropped, and take nothing from others', async () => {
    const { host, open, release } = await aSlowHost();
    const caller = aCaller({ limits: { requests: 32, connections: 32, perPaymaster: 16 } });
    const webhooks = [aWebhook(localUrl(host))];
    const shadows = Array.from({ length: 20 }, () => caller.call({ ...aRequest(webhooks), isShadow: true }));
    // A sixteenth of 32 may ask; a sixteenth of 16 connections is one, and nothing waits for another.
    for (const dropped of shadows.slice(1)) await expect(dropped).rejects.toEqual(isBusy);
    const enforced = Array.from({ length: 16 }, () => askOne(caller, localUrl(host)));
    await until('all that are enforced are asked at once', () => open.now === 1 + 16);
    release();
    expect(await shadows[0]).toEqual([{ verdict: 'refused' }]);
    expect(await Promise.all(enforced)).toEqual(Array(16).fill({ verdict: 'refused' }));
  });

  test('one paymaster holds at most its share of a host, another is served meanwhile', async () => {
    const { host, open, release } = await aSlowHost();
    const caller = aCaller({ limits: { connections: 5, perPaymaster: 1 } });
    const greedy = Array.from({ length: 20 }, () => askOne(caller, localUrl(host)));
    await until('the greedy paymaster has its share', () => open.now === 1);
    const other = caller.call(aRequest([aWebhook(localUrl(host))], { paymasterId: 'pm-2' }));
    await until('the other one is asked at once', () => open.now === 2);
    release();
    expect(await other).toEqual([{ verdict: 'refused' }]);
    expect(await Promise.all(greedy)).toEqual(Array(20).fill({ verdict: 'refused' }));
  });

  test('one organisation holds at most its share of all calls, however many paymasters it has', async () => {
    const { host, open, release } = await aSlowHost();
    const caller = aCaller({ limits: { sockets: 5, perOrganisation: 1 } });
    const ask = (paymasterId: string, organisation: string) =>
      caller.call(aRequest([aWebhook(localUrl(host))], { paymasterId, organisation }));
    const greedy = Array.from({ length: 20 }, (_, n) => ask(`pm-${n}`, 'greedy'));
    await until('the greedy organisation has its share', () => open.now === 1);
    const other = ask('pm-other', 'other');
    await until('the other one is asked at once', () => open.now === 2);
    release();
    expect(await other).toEqual([{ verdict: 'refused' }]);
    expect(await Promise.all(greedy)).toEqual(Array(20).fill([{ verdict: 'refused' }]));
    expect(open.most).toBe(2);
  });

  test('a turn that does not come in time is ours to answer for', async () => {
    const { host, open, release } = await aSlowHost();
    const caller = aCaller({ limits: { connections: 1, perPaymaster: 1, maxWaitMs: 20 } });
    const first = askOne(caller, localUrl(host));
    await until('the host has the first call', () => open.now === 1);
    await expect(askOne(caller, localUrl(host), { onError: 'Allow' })).rejects.toEqual(isBusy);
    release();
    expect(await first).toEqual({ verdict: 'refused' });
  });

  test('a process that is too busy to read the answer in time does not call the host slow', async () => {
    const caller = aCaller({ budgetMs: 200 });
    for (let isReached = false; !isReached;) {
      const { host, open, release } = await aSlowHost();
      let isOver = false;
      const begun = performance.now();
      const asked = askOne(caller, localUrl(host)).finally(() => (isOver = true));
      await until('the host has the call, or had no time for it', () => open.now === 1 || isOver);
      isReached = !isOver && performance.now() - begun < 100;
      release();
      const until500 = performance.now() + 500;
      while (performance.now() < until500);
      const answer = await asked;
      if (isReached) expect(answer).toEqual({ verdict: 'refused' });
    }
  });
});

describe('the life of a caller', () => {
  test('stopping waits for pending calls, refuses later ones, and may be repeated', async () => {
    let answer = () => {};
    const host = await aHost((request, response) => {
      answer = () => yes(request, response);
    });
    const caller = aCaller();
    const underWay = askOne(caller, localUrl(host));
    await until('the host has the call', () => host.received.length === 1);
    const stopped = Promise.all([caller.stop(), caller.stop()]);
    await expect(askOne(caller, localUrl(host))).rejects.toEqual(isBusy);
    answer();
    expect(await underWay).toEqual({ verdict: 'verified' });
    await stopped;
    await caller.stop();
  });

  test('handles are flat after many calls to many hosts', async () => {
    const before = openSockets();
    const hosts = await Promise.all([aHost(yes), aHost(() => {}), aHost(answerJson({}, 500)), aHost(no)]);
    const caller = aCaller({ budgetMs: 100, limits: { origins: 2 } });
    for (let i = 0; i < 5; i += 1) {
      await caller.call(aRequest(hosts.map((host) => aWebhook(localUrl(host)))));
    }
    await caller.stop();
    for (const host of hosts) await host.stop();
    await until('every socket is closed', () => openSockets() <= before);
  });

  test('calls are counted by outcome', async () => {
    const metrics = createMetrics({ process: false });
    const caller = aCaller({ metrics });
    const [good, bad] = [await aHost(yes), await aHost(answerJson({}, 500))];
    await caller.call(aRequest([aWebhook(localUrl(good)), aWebhook(localUrl(bad))]));
    const { body } = await metrics.render();
    expect(body).toContain('paymaster_webhook_calls_total{outcome="verified"} 1');
    expect(body).toContain('paymaster_webhook_calls_total{outcome="failed"} 1');
    expect(body).toContain('paymaster_webhook_retries_total 1');
    expect(body).toContain('paymaster_webhook_duration_seconds_count 2');
  });
});

const openSockets = () =>
  process.getActiveResourcesInfo().filter((name) => /TCP|TLS|DNS|Timeout/.test(name)).length;
