import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { answerJson, startHost, type WebhookHost } from '../adapters/webhook/webhook-host.js';
import type { Component } from '../support/cluster/component.js';
import { query } from '../support/postgres.js';
import { until } from '../support/until.js';
import { startInstallation, type Installation } from './support/installation.js';

// Two dashboards with the rights of the chart, of which one tells an organisation what needs somebody; and then the other.

let installation: Installation;
let host: WebhookHost;
let dashboards: readonly Component[];
beforeAll(async () => {
  host = await startHost(answerJson({}));
  installation = await startInstallation({ operators: 1, replicas: 1 });
  // It looks once a minute.
  installation.dashboard.signal('SIGKILL');
  await installation.dashboard.ended();
  const environment = { PAYMASTER_NOTIFICATION_SECONDS: '1' };
  dashboards = await Promise.all(
    [1, 2].map((index) => installation.cluster.start('dashboard', { environment, index, path: '/healthz' })),
  );
}, 600_000);
afterAll(async () => {
  await installation?.cluster.stop();
  await host?.stop();
});

function patch(kind: string, name: string, spec: object, ...where: readonly string[]): void {
  const change = JSON.stringify({ spec });
  installation.cluster.plane.kubectl(['patch', kind, name, ...where, '--type=merge', '-p', change]);
}
const keyUntil = (ms: number): void =>
  patch(
    'paymaster',
    'shop',
    { keys: [{ name: 'partner', expiresAt: new Date(Date.now() + ms).toISOString() }] },
    '-n',
    'quickstart',
  );
const types = (): readonly string[] =>
  host.received.map(({ body }) => (JSON.parse(body) as { readonly type: string }).type);
const dayMs = 86_400_000;

test('one of them tells it once, and when that one is killed the other tells the rest', async () => {
  patch('organisation', 'quickstart', {
    notifications: [{ name: 'ops', url: `http://127.0.0.1:${host.port}/`, events: ['key.expiring'] }],
  });
  keyUntil(dayMs);
  await until('it is told', () => types().length > 0);
  expect(types()).toEqual(['key.expiring']);
  const leads = async ({ origin }: Component): Promise<boolean> => {
    const metrics = await (await fetch(`${origin}/metrics`)).text();
    return /^paymaster_notifications_total\{outcome="delivered"\} [1-9]/m.test(metrics);
  };
  let leading: readonly boolean[] = [];
  await until('it is counted', async () => {
    leading = await Promise.all(dashboards.map(leads));
    return leading.includes(true);
  });
  expect(leading.filter(Boolean)).toHaveLength(1);
  // What was told is stored once it was counted.
  const stored = `SELECT FROM usage.message WHERE paymaster_id LIKE 'told %' AND message LIKE '%"isOpen":true%'`;
  await until(
    'it is stored',
    async () => (await query(installation.cluster.postgres.url, stored)).length > 0,
  );
  const leader = dashboards[leading.indexOf(true)]!;
  leader.signal('SIGKILL');
  await leader.ended();
  keyUntil(30 * dayMs);
  await until('the other tells that it is resolved', () => types().length > 1);
  expect(types()).toEqual(['key.expiring', 'key.expiring.resolved']);
});
