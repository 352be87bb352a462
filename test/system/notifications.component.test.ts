import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { stringify } from 'yaml';
import { freePort } from '../support/cluster/free-port.js';
import { paymaster } from '../support/paymaster.js';
import { until } from '../support/until.js';
import {
  answerJson,
  startHost,
  type ReceivedRequest,
  type WebhookHost,
} from '../adapters/webhook/webhook-host.js';
import { aLimit, almostEmpty, aPaymaster, aPolicy, useDoctor } from './support/doctor.js';

// Whom `make run` tells what, on a real chain. One receiver takes CloudEvents, one the text of Slack; one is dead.

const doctor = useDoctor({ PAYMASTER_NOTIFICATION_SECONDS: '1' });
const { apply, ask, urlOf } = doctor;

let host: WebhookHost;
let deadPort: number;
beforeAll(async () => {
  host = await startHost(answerJson({}));
  deadPort = await freePort();
  const directory = join(doctor.running.dataDirectory, 'notification-urls');
  writeFileSync(join(directory, 'slack'), `http://127.0.0.1:${host.port}/services/hunter2\n`);
  writeFileSync(join(directory, 'dead'), `http://127.0.0.1:${deadPort}/services/hunter2\n`);
  const spec = {
    namespace: 'quickstart',
    fundingAddresses: [almostEmpty],
    notifications: [
      { name: 'ops', url: `http://127.0.0.1:${host.port}/events` },
      { name: 'chat', urlFile: 'slack', format: 'Slack', events: ['limit.nearly'] },
      { name: 'dead', urlFile: 'dead', format: 'Slack' },
    ],
  };
  const organisation = { kind: 'Organisation', metadata: { name: 'quickstart' }, spec };
  writeFileSync(
    join(doctor.manifests, 'organisation.yaml'),
    stringify({ apiVersion: 'paymasters.dev/v1alpha1', ...organisation }),
  );
});
afterAll(() => host.stop());

type Event = {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly items: readonly { readonly subject: string; readonly message: string }[] };
};
const eventOf = ({ body }: ReceivedRequest): Event => JSON.parse(body) as Event;
/** One whose answer came too late for the sender is sent once more, with the id that it had. */
const toOps = (): readonly ReceivedRequest[] => [
  ...new Map(
    host.received.filter(({ path }) => path === '/events').map((request) => [eventOf(request).id, request]),
  ).values(),
];
const told = (type: string, subject: RegExp): readonly Event[] =>
  toOps()
    .map(eventOf)
    .filter((event) => event.type === type && event.data.items.some((item) => subject.test(item.subject)));

async function tells(type: string, subject: RegExp): Promise<Event> {
  const seen = (): string => [...new Set(toOps().map((each) => eventOf(each).type))].join(', ');
  await until(
    () => `${type} of ${subject} is told, besides ${seen()}`,
    () => told(type, subject).length > 0,
  );
  return told(type, subject)[0]!;
}

const count = (name: string, threshold: string) =>
  aLimit(`${name}-limit`, name, {
    name: '<!channel> limit',
    spendingLimit: { scope: 'PAYMASTER', never: {}, threshold, thresholdType: 'COUNT' },
  });

async function manage(
  method: string,
  path: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const { dashboardUrl, authToken } = doctor.connection;
  const answer = await fetch(`${dashboardUrl}/manage/v1${path}`, { method, headers: { authToken } });
  return { status: answer.status, text: await answer.text() };
}

describe('an organisation is told', () => {
  test('that a webhook fails for a minute, and when it answers again', async () => {
    const webhook = (policy: object) =>
      apply(
        aPaymaster('asking', { name: 'asking' }),
        count('asking', '100000'),
        aPolicy('unheard', 'asking', { policyType: 'WEBHOOK', webhook: policy }),
      );
    webhook({ url: `http://127.0.0.1:${deadPort}/check` });
    const url = await urlOf('asking');
    let refused = 0;
    await until('it refuses again and again', async () => {
      if ((await ask(url)).reason === 'WEBHOOK_FAILED') refused += 1;
      return refused === 20;
    });
    await doctor.pass(60);
    await tells('webhook.failing', /policies\/unheard/);
    // All of these were refused.
    await tells('refusals.rising', /paymasters\/asking/);
    await tells('paymaster.notServing', /paymasters\/asking/);
    apply(
      aPolicy('unheard', 'asking', {
        policyType: 'WEBHOOK',
        active: false,
        webhook: { url: `http://127.0.0.1:${deadPort}/check` },
      }),
    );
    await tells('webhook.failing.resolved', /policies\/unheard/);
    await tells('paymaster.notServing.resolved', /paymasters\/asking/);
  });

  test('that a deposit is low, that its paymaster does not serve, and when it does again', async () => {
    const poor = (spec: object) => apply(aPaymaster('poor', spec), count('poor', '1000'));
    poor({ funding: { address: almostEmpty } });
    const low = await tells('deposit.low', /paymasters\/poor/);
    expect(low.data.items[0]?.message).toContain('top it up');
    await tells('paymaster.notServing', /paymasters\/poor/);
    poor({});
    await tells('deposit.low.resolved', /paymasters\/poor/);
    await tells('paymaster.notServing.resolved', /paymasters\/poor/);
  });

  test('that a limit is nearly used up, that it is full, and when there is room again, each once', async () => {
    apply(aPaymaster('busy'), count('busy', '10'));
    const url = await urlOf('busy');
    await until('its limit counts', async () => (await manage('GET', '/limits')).text.includes('"busy"'));
    let signed = 0;
    const sponsor = async (): Promise<void> => {
      const { result } = await ask(url);
      if (typeof result?.['paymasterAndData'] === 'string' && result['paymasterAndData'] !== '0x')
        signed += 1;
    };
    await until('8 are sponsored', async () => (await sponsor(), signed === 8));
    const nearly = await tells('limit.nearly', /limits\//);
    expect(nearly.data.items[0]?.message).toContain('80 %');
    await until('it is full', async () => {
      await sponsor();
      return told('limit.reached', /policies\/busy-limit/).length > 0;
    });
    expect(signed).toBe(10);
    apply(count('busy', '100000'));
    await tells('limit.reached.resolved', /policies\/busy-limit/);
    await tells('limit.nearly.resolved', /limits\//);
    for (const type of ['limit.nearly', 'limit.reached', 'limit.nearly.resolved', 'limit.reached.resolved'])
      expect([type, told(type, /./).length]).toEqual([type, 1]);
  });

  test('that a key ends soon, and when it does not', async () => {
    const keyUntil = (at: number) =>
      apply(
        aPaymaster('lent', { keys: [{ name: 'partner', expiresAt: new Date(at).toISOString() }] }),
        count('lent', '1000'),
      );
    keyUntil(Date.now() + 3 * 86_400_000);
    await tells('key.expiring', /paymasters\/lent\/keys\/partner/);
    keyUntil(Date.now() + 30 * 86_400_000);
    await tells('key.expiring.resolved', /paymasters\/lent\/keys\/partner/);
  });
});

describe('a receiver', () => {
  test('checks each post by the key that its owner is shown', async () => {
    const { data } = JSON.parse((await manage('GET', '/notifications/ops/key')).text) as {
      readonly data: { readonly key: string };
    };
    for (const { path, body, headers } of toOps()) {
      const start = ['v2', headers['x-timestamp'], headers['x-policy-id'], 'live', 'POST', path, body];
      const signature = createHmac('sha256', data.key).update(start.join('\n')).digest('hex');
      expect(headers['x-signature']).toBe(`v2=${signature}`);
    }
  });

  test('of Slack gets text in which the names of tenants call nobody, and only what it wants', () => {
    const texts = host.received
      .filter(({ path }) => path === '/services/hunter2')
      .map(({ body }) => (JSON.parse(body) as { readonly text: string }).text);
    expect(texts.length).toBeGreaterThan(0);
    for (const text of texts) {
      expect(text).toMatch(/^quickstart: limit\.nearly/);
      expect(text).toContain('&lt;!channel&gt; limit');
      expect(text).not.toContain('<!');
    }
  });

  test('is tested by REST and by the command line', async () => {
    const environment = {
      PAYMASTER_URL: doctor.connection.dashboardUrl,
      PAYMASTER_TOKEN_FILE: doctor.tokenFile,
    };
    const listed = await paymaster(['notification', 'list'], environment);
    expect(listed.out).toMatch(/ops .*CloudEvents.*127\.0\.0\.1/);
    const { out } = await paymaster(['notification', 'test', 'ops', '-o', 'json'], environment);
    expect(JSON.parse(out)).toMatchObject({ delivered: true });
    const tests = toOps().filter(({ headers }) => headers['x-test-delivery'] === 'true');
    expect(tests.map((each) => eventOf(each).type)).toEqual(['test']);
    expect(JSON.parse((await manage('POST', '/notifications/dead/test')).text)).toMatchObject({
      data: { delivered: false, detail: expect.stringContaining('ECONNREFUSED') },
    });
    expect((await manage('POST', '/notifications/nobody/test')).status).toBe(404);
  });

  test('that is dead holds back nobody, is shown, and its URL is shown nowhere', async () => {
    const list = await manage('GET', '/notifications');
    const { items } = (JSON.parse(list.text) as { readonly data: { readonly items: readonly object[] } })
      .data;
    expect(items).toEqual([
      expect.objectContaining({ name: 'ops', failure: null }),
      expect.objectContaining({ name: 'chat', host: `127.0.0.1:${host.port}` }),
      expect.objectContaining({
        name: 'dead',
        failure: `127.0.0.1:${deadPort} could not be asked (ECONNREFUSED)`,
      }),
    ]);
    const doctored = await doctor.asPlatform();
    const log = readFileSync(join(doctor.running.dataDirectory, 'log.jsonl'), 'utf8');
    expect(log).toContain('notification not delivered');
    for (const shown of [list.text, doctored.out, log, doctor.running.output()])
      expect(shown).not.toContain('hunter2');
  });
});
