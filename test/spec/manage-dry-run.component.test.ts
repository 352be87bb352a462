import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ResourceEvent } from '../../core/resources/kubernetes-events.js';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { openSqliteLedger, type WrittenLedger } from '../adapters/store/ledger/written.js';
import { acmeToken, chainId, recordOf, startDashboard, type DashboardHost } from '../build/dashboard.js';
import { anAbi } from '../build/resources.js';

// A write with dryRun=true is answered as the write would be, and leaves nothing behind.

let ledger: WrittenLedger;
let host: DashboardHost;
const events: ResourceEvent[] = [];
beforeAll(async () => {
  ledger = await openSqliteLedger();
  host = await startDashboard({ ledger, events: { record: (event) => void events.push(event) } });
  expect(await ask('POST', '/paymasters', { name: 'shop', spec: spec('shop') })).toMatchObject({
    status: 201,
  });
});
afterAll(async () => {
  await host.stop();
  await ledger.stop();
});

const spec = (name: string, more: object = {}) => ({
  name,
  chainId,
  type: 'HYBRID',
  version: '1.1.0',
  ...more,
});
const contract = (paymaster: string) => ({
  paymasterRef: { name: paymaster },
  name: 'nft',
  address: `0x${'c1'.repeat(20)}`,
  abi: anAbi,
  whitelistedMethods: ['mint'],
});

async function ask(method: string, path: string, body?: unknown, token = acmeToken) {
  const response = await host.fetch(`${managePrefix}${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = recordOf(JSON.parse(await response.text()));
  return { status: response.status, etag: response.headers.get('etag'), ...answer };
}
const changesSaid = async () => (await ask('GET', '/changes'))['data' as never];

test('says what would be created, and creates nothing', async () => {
  const before = await changesSaid();
  const dry = await ask('PUT', '/paymasters/game?dryRun=true', { spec: spec('game') });
  expect(dry).toMatchObject({ status: 201, data: { name: 'game', spec: spec('game') } });
  expect(await ask('PUT', '/contracts/nft?dryRun=true', { spec: contract('shop') })).toMatchObject({
    status: 201,
    data: { name: 'nft' },
  });
  expect(await ask('GET', '/paymasters/game')).toMatchObject({ status: 404 });
  expect(await ask('GET', '/contracts/nft')).toMatchObject({ status: 404 });
  expect(await changesSaid()).toEqual(before);
  expect(events.map(({ object }) => object.metadata.name)).not.toContain('game');
});

test('says what would be changed, with the ETag of what is there, and changes nothing', async () => {
  const present = await ask('GET', '/paymasters/shop');
  const before = await changesSaid();
  for (const [method, body] of [
    ['PUT', { spec: spec('shop', { maxExpirySeconds: 60 }), labels: { team: 'a' } }],
    ['PATCH', { spec: { maxExpirySeconds: 60 }, labels: { team: 'a' } }],
  ] as const)
    expect(await ask(method, '/paymasters/shop?dryRun=true', body)).toMatchObject({
      status: 200,
      etag: present.etag,
      data: { generation: 2, labels: { team: 'a' }, spec: spec('shop', { maxExpirySeconds: 60 }) },
    });
  expect(await ask('GET', '/paymasters/shop')).toEqual(present);
  expect(await changesSaid()).toEqual(before);
});

test('is refused where the write would be, for the same reason', async () => {
  const key = { namespace: 'acme', name: 'theirs' };
  await host.resources.apply({
    manager: 'argocd',
    kind: 'Paymaster',
    key,
    spec: spec('theirs', { maxExpirySeconds: 60 }) as never,
  });
  const cases = [
    {
      path: '/paymasters/theirs',
      body: { spec: spec('theirs', { maxExpirySeconds: 90 }) },
      code: 'FIELD_OWNED',
    },
    { path: '/paymasters/other', body: { spec: spec('shop') }, code: 'OBJECT_EXISTS' },
    {
      path: '/paymasters/other',
      body: { spec: { ...spec('other'), maxExpirySeconds: -1 } },
      code: 'INVALID_INPUT',
    },
    { path: '/paymasters/other', body: { spec: spec('other', { version: '9.9.9' }) }, code: undefined },
    { path: '/contracts/far', body: { spec: contract('nobody') }, code: 'INVALID_INPUT' },
  ];
  for (const { path, body, code } of cases) {
    const { status, etag: _, ...dry } = await ask('PUT', `${path}?dryRun=true`, body);
    const real = await ask('PUT', path, body);
    expect(status).toBeGreaterThanOrEqual(400);
    expect({ ...real, requestId: '', instance: '', etag: '' }).toEqual({
      ...dry,
      status,
      requestId: '',
      instance: '',
      etag: '',
    });
    if (code !== undefined) expect(dry).toMatchObject({ code });
  }
});

test('asks for the scope of the write, and for the organisation of the token', async () => {
  for (const scope of ['read', 'stop', 'finance']) {
    const made = recordOf((await ask('POST', '/tokens', { name: scope, scopes: [scope] }))['data' as never]);
    for (const [method, body] of [
      ['PUT', { spec: spec('game') }],
      ['PATCH', { spec: { suspended: true } }],
    ] as const)
      expect(await ask(method, '/paymasters/shop?dryRun=true', body, String(made['token']))).toMatchObject({
        status: 403,
      });
  }
});
