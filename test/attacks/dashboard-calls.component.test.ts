import { expect, test } from '@jest/globals';
import { Settings } from '../../core/settings.js';
import { plusMs, type EpochMs } from '../../core/units/time.js';
import { readCallLimits } from '../../server/dashboard/call-limits.js';
import { acmeToken, otherToken, prefix } from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';

// Calls of the dashboard without end, with a token and without one, under the limits of an installation that sets none.
// One process: the limits are per process, so three processes allow three times as much.

let now = Date.now() as EpochMs;
const host = useDashboard({
  ...readCallLimits(new Settings({})),
  trustedProxies: 1,
  clock: { now: () => now },
});

const from = (address: string) => ({ 'x-forwarded-for': address });
const paths = [`${prefix}/paymaster`, '/manage/v1/limits', `${prefix}/openapi.json`];

async function call(path: string, address: string, token?: string): Promise<Response> {
  const headers = { ...from(address), ...(token === undefined ? {} : { authToken: token }) };
  const response = await host.fetch(path, { headers });
  await response.arrayBuffer();
  return response;
}

test('one token makes 40 calls at once and 20 a second, of whatever endpoint and address; another token goes on', async () => {
  const answers = [];
  for (let index = 0; index < 60; index += 1)
    answers.push(await call(paths[index % 2] ?? '', `10.0.0.${index}`, acmeToken));
  const statuses = answers.map(({ status }) => status);
  expect(statuses.slice(0, 40)).not.toContain(429);
  const refused = answers.at(-1);
  expect({ status: refused?.status, wait: refused?.headers.get('retry-after') }).toEqual({
    status: 429,
    wait: '1',
  });
  expect(await bodyOf(paths[0] ?? '', acmeToken)).toMatchObject({ statusCode: 429 });
  expect(await bodyOf(paths[1] ?? '', acmeToken)).toMatchObject({ status: 429, code: 'RATE_LIMITED' });
  expect((await call(paths[0] ?? '', '10.0.1.1', otherToken)).status).toBe(200);
  now = plusMs(now, 1000);
  const later = [];
  for (let index = 0; index < 30; index += 1)
    later.push((await call(paths[0] ?? '', `10.0.3.${index}`, acmeToken)).status);
  expect(later.filter((status) => status === 200)).toHaveLength(20);
});

test('one address guesses a hundred tokens a second, and its other calls count too; another address goes on', async () => {
  const statuses = [];
  for (let index = 0; index < 150; index += 1)
    statuses.push((await call(paths[index % 3] ?? '', '10.9.9.9', `guess-${index}-0123456789`)).status);
  expect(statuses.slice(0, 100)).not.toContain(429);
  expect(statuses.slice(100).every((status) => status === 429)).toBe(true);
  expect((await call(paths[0] ?? '', '10.9.9.10', otherToken)).status).toBe(200);
});

async function bodyOf(path: string, authToken: string): Promise<unknown> {
  return (await host.fetch(path, { headers: { ...from('10.0.2.1'), authToken } })).json();
}
