import { beforeAll, expect, test } from '@jest/globals';
import { derivePaymasterId, derivePolicyId } from '../../core/config/ids.js';
import { compileLimits, limitShares } from '../../core/policy/spending-limit/shares.js';
import { noCost } from '../../core/usage/unit.js';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { aRequest, sender } from '../conformance/usage-requests.js';
import { acmeToken, chainId, recordOf, recordsOf } from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';

// What a change of a limit does to its count: said before and after, and kept where that is asked for.

const host = useDashboard({ operator: true, programmedTimeoutMs: 60_000 });
const paymasterId = derivePaymasterId('acme', 'shop');

async function ask(method: string, path: string, body?: unknown) {
  const response = await host.fetch(`${managePrefix}${path}`, {
    method,
    headers: { Authorization: `Bearer ${acmeToken}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const { data, warnings = [], detail } = recordOf(JSON.parse(await response.text()));
  return { status: response.status, data: recordOf(data), warnings, detail };
}

beforeAll(async () => {
  const spec = { name: 'shop', chainId, type: 'HYBRID', version: '1.1.0' };
  expect(await ask('POST', '/paymasters', { name: 'shop', spec })).toMatchObject({ status: 201 });
});

const specOf = (name: string, limit: object) => ({
  paymasterRef: { name: 'shop' },
  name,
  policyType: 'PAYMASTER_SA_LIMIT',
  spendingLimit: {
    scope: 'PAYMASTER',
    cycleDuration: { value: 1, unit: 'day' },
    threshold: '1000',
    thresholdType: 'COUNT',
    ...limit,
  },
});
const aLimit = async (name: string, limit: object = {}): Promise<void> => {
  expect(await ask('POST', '/policies', { name, spec: specOf(name, limit) })).toMatchObject({ status: 201 });
};
const change = (name: string, spendingLimit: object, query = '') =>
  ask('PATCH', `/policies/${name}${query}`, { spec: { spendingLimit } });

/** What an operation takes of the limit as it is served now. */
async function shareOf(name: string) {
  const config = (await host.configs.getPaymaster(paymasterId))!.config;
  const policyId = derivePolicyId('acme', name);
  const limits = compileLimits(config.limits.filter((each) => each.policyId === policyId));
  const [share] = limitShares(limits, { sender, cost: noCost, now: host.usage.now() });
  return share!;
}

let nonce = 0n;
async function take(name: string, cost: number): Promise<string> {
  nonce += 1n;
  const limits = [{ ...(await shareOf(name)), cost }];
  const request = aRequest({ key: { chainId, paymasterId, nonce }, limits });
  return (await host.usage.reserve(request)).outcome;
}
async function standOf(name: string): Promise<string> {
  const share = await shareOf(name);
  const [state] = await host.usage.counters(chainId, [share]);
  return `${state!.used + state!.reserved} of ${share.threshold}`;
}

test('another threshold says before and after how much is forgotten', async () => {
  await aLimit('daily');
  expect(await take('daily', 606)).toBe('reserved');
  const forgets = 'the count begins anew: 606 of 1000 operations forgotten';

  const asked = await change('daily', { threshold: '2000' }, '?dryRun=true');
  expect(asked.warnings).toEqual([`${forgets}; spec.spendingLimit.keepCount: true keeps it`]);
  expect(asked).toMatchObject({ status: 200, data: { spec: specOf('daily', { threshold: '2000' }) } });
  expect((await ask('GET', '/policies/daily')).data).toMatchObject({ spec: specOf('daily', {}) });
  expect(await standOf('daily')).toBe('606 of 1000');

  expect(await change('daily', { threshold: '2000' })).toMatchObject({ status: 200, warnings: [forgets] });
  expect(await standOf('daily')).toBe('0 of 2000');

  expect(await take('daily', 7)).toBe('reserved');
  const spec = specOf('daily', { threshold: '3000' });
  const whole = await ask('PUT', '/policies/daily', { spec });
  expect(whole.warnings).toEqual(['the count begins anew: 7 of 2000 operations forgotten']);
});

test('what forgets nothing says nothing', async () => {
  await aLimit('same');
  expect((await change('same', { threshold: '1000' })).warnings).toEqual([]);
  expect((await ask('PATCH', '/policies/same', { spec: { name: 'renamed' } })).warnings).toEqual([]);
  await aLimit('monthly', { cycleDuration: undefined, calendar: { every: 'month', timeZone: 'UTC' } });
  expect((await change('monthly', { threshold: '2' })).warnings).toEqual([]);
});

test('a change that keepCount cannot help does not name it', async () => {
  await aLimit('longer');
  const { warnings } = await change('longer', { cycleDuration: { value: 2 } }, '?dryRun=true');
  expect(warnings).toEqual(['the count begins anew: 0 of 1000 operations forgotten']);
  await aLimit('each', { scope: 'SMART_ACCOUNT' });
  expect((await change('each', { threshold: '5' })).warnings).toEqual([
    'the count begins anew: what each account has used of 1000 operations is forgotten',
  ]);
});

test('with keepCount the count goes on, and the limit holds exactly', async () => {
  await aLimit('kept', { threshold: '10' });
  expect(await take('kept', 6)).toBe('reserved');
  const raised = await change('kept', { threshold: '12', keepCount: true });
  expect(raised).toMatchObject({ status: 200, warnings: [] });
  expect(await take('kept', 7)).toBe('limit');
  expect(await take('kept', 6)).toBe('reserved');
  expect(await change('kept', { threshold: '5' })).toMatchObject({ status: 200, warnings: [] });
  expect(await standOf('kept')).toBe('12 of 5');
  expect(await take('kept', 1)).toBe('limit');
  expect(await change('kept', { threshold: '13' })).toMatchObject({ status: 200, warnings: [] });
  expect(await take('kept', 2)).toBe('limit');
  expect(await take('kept', 1)).toBe('reserved');
});

test('the endpoint of the service document restarts it all the same', async () => {
  await aLimit('documented', { keepCount: true });
  expect(await take('documented', 5)).toBe('reserved');
  const { body } = await host.call('GET', '/paymaster', { token: acmeToken });
  const key = recordsOf(body.data)[0]?.['apiKey'];
  const answer = await host.call('PATCH', `/paymaster-policy/limit/${derivePolicyId('acme', 'documented')}`, {
    token: acmeToken,
    key: String(key),
    body: { threshold: 20 },
  });
  expect(answer).toMatchObject({ status: 200, body: { warnings: [expect.stringContaining('anew')] } });
  expect(await standOf('documented')).toBe('0 of 20');
});
