import { beforeAll, expect, test } from '@jest/globals';
import {
  aContractBody,
  aDeploymentBody,
  aLimitBody,
  aWebhookBody,
  acmeToken,
  createPaymaster,
  recordOf,
  recordsOf,
} from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';

// Service document, "States and transitions": only policies carry a state, the boolean `active`.

const host = useDashboard();
let key: string;
beforeAll(async () => {
  ({ key } = await createPaymaster(host));
});

async function create(body: object): Promise<Readonly<Record<string, unknown>>> {
  const created = await host.call('POST', '/paymaster-policy', { token: acmeToken, key, body });
  expect(created.status).toBe(200);
  return recordOf(created.body.data);
}

async function read(policyId: unknown): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await host.call('GET', '/paymaster-policy', { token: acmeToken, key });
  return recordsOf(body.data).find(({ _id }) => _id === policyId) ?? {};
}

async function patch(action: string, policyId: unknown, body?: object): Promise<string> {
  const path = `/paymaster-policy/${action}/${String(policyId)}`;
  const answer = await host.call('PATCH', path, { token: acmeToken, key, body });
  expect({ action, status: answer.status }).toEqual({ action, status: 200 });
  return answer.body.message;
}

test.each([aLimitBody, aWebhookBody, aDeploymentBody])(
  'a $policyType is active after creation, inactive when paused, active when unpaused',
  async (body) => {
    const { _id: policyId, active } = await create(body);
    expect(active).toBe(true);
    expect(await patch('deactivate', policyId)).toBe('Paymaster Policy Deactivated!');
    expect((await read(policyId))['active']).toBe(false);
    expect(await patch('activate', policyId)).toBe('Paymaster Policy Activated!');
    expect((await read(policyId))['active']).toBe(true);
  },
);

test('pausing a paused policy and resuming an active one change nothing and succeed', async () => {
  const { _id: policyId } = await create({ ...aDeploymentBody, name: 'Twice' });
  await patch('deactivate', policyId);
  const paused = await read(policyId);
  expect(await patch('deactivate', policyId)).toBe('Paymaster Policy Deactivated!');
  expect(await read(policyId)).toEqual(paused);
  await patch('activate', policyId);
  const resumed = await read(policyId);
  expect(await patch('activate', policyId)).toBe('Paymaster Policy Activated!');
  expect(await read(policyId)).toEqual(resumed);
});

test('pausing and resuming a spending limit does not restart its cycle', async () => {
  const { _id: policyId } = await create({ ...aLimitBody, name: 'Paused' });
  const before = await read(policyId);
  host.clock.advance(1000);
  await patch('deactivate', policyId);
  await patch('activate', policyId);
  expect(await read(policyId)).toEqual(before);
});

test.each([{ action: 'activate' }, { action: 'deactivate' }])(
  'updating a spending limit after $action leaves its state unchanged and resets its cycle',
  async ({ action }) => {
    const { _id: policyId } = await create({ ...aLimitBody, name: `After ${action}` });
    await patch(action, policyId);
    const before = await read(policyId);
    host.clock.advance(1000);
    const earliest = host.clock.now();
    await patch('limit', policyId, { threshold: 25 });
    const after = await read(policyId);
    expect(after['active']).toBe(action === 'activate');
    expect(recordOf(after['policyData'])['threshold']).toBe(25);
    expect(recordOf(after['policyData'])['startTimeInEpoch']).toBeGreaterThanOrEqual(earliest);
    expect(after).toEqual({ ...before, policyData: after['policyData'] });
  },
);

test('a registered contract, which the policy list shows, is paused and resumed by its id', async () => {
  await host.call('POST', '/smart-contract', { token: acmeToken, key, body: aContractBody });
  const { body } = await host.call('GET', '/paymaster-policy', { token: acmeToken, key });
  const policyId = recordsOf(body.data).find(({ policyType }) => policyType === 'SMART_CONTRACT')?.['_id'];
  await patch('deactivate', policyId);
  expect((await read(policyId))['active']).toBe(false);
  await patch('activate', policyId);
  expect((await read(policyId))['active']).toBe(true);
});
