import { createHmac } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createNotificationClient } from '../../../adapters/notifications/notification-client.js';
import { testMessage, type Message } from '../../../core/notifications/message.js';
import { deriveWebhookKey } from '../../../core/policy/webhook/signing-key.js';
import { systemClock, type EpochMs } from '../../../core/units/time.js';
import { hostileByAddress, hostileByText } from '../webhook/ssrf-corpus.js';
import { answerJson, startHost, startRawHost, type WebhookHost } from '../webhook/webhook-host.js';

type Deps = Parameters<typeof createNotificationClient>[0];

const master = new Uint8Array(32).fill(7);
const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

const here = { allowHttp: true, allowLoopback: true };
function aClient(change: Partial<Deps> = here) {
  const client = createNotificationClient({
    masterKeys: { webhook: master },
    clock: systemClock,
    ...change,
  });
  cleanUps.push(() => client.stop());
  return client;
}

async function started(starting: Promise<WebhookHost>): Promise<WebhookHost> {
  const host = await starting;
  cleanUps.push(() => host.stop());
  return host;
}

const aTest = testMessage('acme', 1_800_000_000_000 as EpochMs, 'id-1');
const aMessage: Message = { ...aTest, type: 'limit.nearly' };
const receiver = (spec: object) => ({ id: 'n-1', organisation: 'team-a', spec: { name: 'ops', ...spec } });

describe('a host', () => {
  test('gets what it can check with its key, as webhooks do', async () => {
    const host = await started(startHost(answerJson({}, 202)));
    const client = aClient();
    const url = `http://127.0.0.1:${host.port}/events?for=ops`;
    expect(await client.send(receiver({ url }), aTest)).toEqual({
      isDelivered: true,
    });
    const { path, body, headers } = host.received[0]!;
    expect(headers).toMatchObject({
      'content-type': 'application/cloudevents+json',
      'x-test-delivery': 'true',
    });
    expect(JSON.parse(body)).toMatchObject({ specversion: '1.0', id: 'id-1', type: 'test' });
    const lines = ['v2', headers['x-timestamp'], 'n-1', 'test', 'POST', path, body];
    const hmac = createHmac('sha256', client.signingKey('n-1')).update(lines.join('\n'));
    expect(headers['x-signature']).toBe(`v2=${hmac.digest('hex')}`);
    expect(client.signingKey('n-1')).toBe(deriveWebhookKey(master, 'n-1'));
  });

  test('gets both signatures while the master key is replaced', async () => {
    const host = await started(startHost(answerJson({})));
    const client = aClient({
      ...here,
      masterKeys: { webhook: new Uint8Array(32).fill(8), webhookPrevious: master },
    });
    await client.send(receiver({ url: `http://127.0.0.1:${host.port}/` }), aMessage);
    expect(Object.keys(host.received[0]?.headers ?? {})).toContain('x-signature-next');
  });

  test('gets the text of Slack at the URL of a mounted file, which may change', async () => {
    const host = await started(startHost(answerJson({})));
    const directory = await mkdtemp(join(tmpdir(), 'notification-urls-'));
    const client = aClient({ ...here, directory });
    const slack = receiver({ urlFile: 'slack', format: 'Slack' });
    expect(await client.send(slack, aMessage)).toEqual({
      isDelivered: false,
      detail: 'urlFile "slack" cannot be read',
    });
    await writeFile(join(directory, 'slack'), `http://127.0.0.1:${host.port}/services/T0/B0/hunter2\n`);
    expect(await client.send(slack, aMessage)).toEqual({ isDelivered: true });
    expect(host.received[0]?.path).toBe('/services/T0/B0/hunter2');
    expect(JSON.parse(host.received[0]?.body ?? '')).toMatchObject({ mrkdwn: false });
  });
});

describe('a host that means harm', () => {
  test.each(hostileByText)('is not called by its text: $url, $why', async ({ url }) => {
    const { isDelivered, detail } = await aClient({}).send(receiver({ url }), aMessage);
    expect([isDelivered, detail]).toEqual([false, expect.stringContaining('must be')]);
  });

  test.each(hostileByAddress)(
    'is not called by its name: $host, which resolves to $addresses',
    async (one) => {
      const canary = await started(startHost(answerJson({})));
      const client = aClient({
        allowHttp: true,
        ports: [canary.port],
        resolve: () => Promise.resolve(one.addresses),
      });
      const url = `http://${one.host}:${canary.port}/`;
      expect((await client.send(receiver({ url }), aMessage)).detail).toMatch(
        /no address that may be called/,
      );
      expect(canary.connections()).toBe(0);
    },
  );

  test('leads nobody on by a redirect', async () => {
    const canary = await started(startHost(answerJson({})));
    const host = await started(
      startHost((_request, response) => {
        response.writeHead(307, { location: `http://127.0.0.1:${canary.port}/` }).end();
      }),
    );
    const url = `http://127.0.0.1:${host.port}/`;
    expect((await aClient().send(receiver({ url }), aMessage)).detail).toMatch(/HTTP 307; redirects are not/);
    expect(canary.connections()).toBe(0);
  });

  test.each([
    ['says nothing', () => undefined],
    ['says that it is well, and never ends', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{'],
    ['refuses, and never ends', 'HTTP/1.1 500 No\r\ncontent-length: 9\r\n\r\n{'],
  ])('holds nobody: one that %s', async (_what, answer) => {
    const host = await started(
      startRawHost((socket) => {
        socket.once('data', () => typeof answer === 'string' && socket.write(answer));
      }),
    );
    const client = aClient({ ...here, timeoutMs: 300 });
    const url = `http://127.0.0.1:${host.port}/`;
    expect(await client.send(receiver({ url }), aMessage)).toEqual({
      isDelivered: false,
      detail: `127.0.0.1:${host.port} did not answer in time`,
    });
  });

  test.each([
    [200, { isDelivered: true }],
    [500, { isDelivered: false, detail: expect.stringMatching(/answered HTTP 500$/) }],
  ])('sends 100 MB with HTTP %i, of which little is read', async (status, expected) => {
    const piece = Buffer.alloc(1 << 20);
    let taken = 0;
    const host = await started(
      startHost((_request, response) => {
        response.writeHead(status);
        const more = (): void => {
          while (taken < 100) {
            taken += 1;
            if (!response.write(piece)) return void response.once('drain', more);
          }
          response.end();
        };
        more();
      }),
    );
    const url = `http://127.0.0.1:${host.port}/`;
    expect(await aClient().send(receiver({ url }), aMessage)).toEqual(expected);
    // What the sockets of both sides hold.
    expect(taken).toBeLessThan(50);
  });

  test('learns nothing of a URL from what is told about it', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'notification-urls-'));
    const host = await started(startHost(answerJson({ secret: 'hunter2' }, 404)));
    const urls = [
      `http://127.0.0.1:${host.port}/hunter2?hunter2#hunter2`,
      'http://hunter2:hunter2@127.0.0.1/hunter2',
      'http://10.0.0.1/hunter2',
      'not a URL: hunter2',
      'https://hooks.invalid/hunter2',
    ];
    const client = aClient({ ...here, directory, resolve: () => Promise.reject(new Error('hunter2')) });
    for (const url of urls) {
      await writeFile(join(directory, 'slack'), url);
      const { isDelivered, detail } = await client.send(receiver({ urlFile: 'slack' }), aMessage);
      expect([isDelivered, detail]).toEqual([false, expect.not.stringContaining('hunter2')]);
    }
  });
});
