import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  aContractBody,
  aLimitBody,
  acmeToken,
  chainId,
  createPaymaster,
  recordOf,
  recordsOf,
} from '../build/dashboard.js';
import type { CallOptions } from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';
import { newWallet } from '../support/new-wallet.js';

// Service document, "Errors": one test per row, messages and statuses to the letter, the odd ones included.

const host = useDashboard();
let key: string;
let paymasterId: string;
let policyId: string;
beforeAll(async () => {
  ({ key, paymasterId } = await createPaymaster(host));
  const created = await host.call('POST', '/paymaster-policy', { token: acmeToken, key, body: aLimitBody });
  policyId = String(recordOf(created.body.data)['_id']);
});

const both = 'Auth token and API key is required in the headers';
const tokenOnly = 'Auth token is required in the headers';

type Row = { number: number; method: string; path: () => string; scope: 'organisation' | 'paymaster' };
const endpoints: Row[] = [
  { number: 1, method: 'GET', path: () => '/paymaster', scope: 'organisation' },
  { number: 2, method: 'POST', path: () => '/paymaster', scope: 'organisation' },
  { number: 3, method: 'POST', path: () => '/smart-contract', scope: 'paymaster' },
  { number: 4, method: 'GET', path: () => '/smart-contract', scope: 'paymaster' },
  { number: 5, method: 'PATCH', path: () => '/smart-contract', scope: 'paymaster' },
  { number: 6, method: 'DELETE', path: () => '/smart-contract', scope: 'paymaster' },
  { number: 7, method: 'GET', path: () => `/funding-message/${paymasterId}`, scope: 'paymaster' },
  { number: 8, method: 'PATCH', path: () => '/paymaster', scope: 'paymaster' },
  { number: 9, method: 'POST', path: () => '/paymaster-policy', scope: 'paymaster' },
  { number: 10, method: 'GET', path: () => '/paymaster-policy', scope: 'paymaster' },
  { number: 11, method: 'PATCH', path: () => `/paymaster-policy/limit/${policyId}`, scope: 'paymaster' },
  { number: 12, method: 'PATCH', path: () => `/paymaster-policy/deactivate/${policyId}`, scope: 'paymaster' },
  { number: 13, method: 'PATCH', path: () => `/paymaster-policy/activate/${policyId}`, scope: 'paymaster' },
];

describe.each(endpoints)('endpoint $number, required header missing', ({ number, method, path, scope }) => {
  const message = number === 2 ? tokenOnly : both;
  const cases: { name: string; options: () => CallOptions }[] = [
    { name: 'no header at all', options: () => ({}) },
    { name: 'apiKey without authToken', options: () => ({ key }) },
    { name: 'an empty authToken', options: () => ({ token: '', key }) },
    ...(scope === 'organisation'
      ? []
      : [
          { name: 'authToken without apiKey', options: () => ({ token: acmeToken }) },
          { name: 'an empty apiKey', options: () => ({ token: acmeToken, key: '' }) },
        ]),
  ];

  test.each(cases)(`$name is 401 "${message}"`, async ({ options }) => {
    const answer = await host.call(method, path(), options());
    expect(answer.status).toBe(401);
    expect(answer.body).toEqual({ statusCode: 401, message, data: undefined });
  });
});

test('2: a name that is used already is 400 paymaster_name_exists', async () => {
  const body = { name: 'Shop', type: 'HYBRID', chainId, version: '2.0.0' };
  const answer = await host.call('POST', '/paymaster', { token: acmeToken, body });
  expect(answer.status).toBe(400);
  expect(answer.body).toMatchObject({ statusCode: 400, message: 'paymaster_name_exists' });
});

test.each([1, 80001, 0, -1, 31337.5, 1e15])(
  '2: chainId %d, which is not offered, is 400 Chain ID not supported',
  async (unsupported) => {
    const body = { name: 'Elsewhere', type: 'HYBRID', chainId: unsupported, version: '1.1.0' };
    const answer = await host.call('POST', '/paymaster', { token: acmeToken, body });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ statusCode: 400, message: 'Chain ID not supported' });
  },
);

test.each([aContractBody.address, aContractBody.address.toLowerCase()])(
  '3: the registered address again, as %s, is 400 Smart contract address already exists',
  async (address) => {
    await host.call('POST', '/smart-contract', { token: acmeToken, key, body: aContractBody });
    const answer = await host.call('POST', '/smart-contract', {
      token: acmeToken,
      key,
      body: { ...aContractBody, name: 'Another', address },
    });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ statusCode: 400, message: 'Smart contract address already exists' });
  },
);

test.each(['mint', { mint: true }, null, 7, undefined])(
  '5: whitelistedMethods %j is 400 whitelistedMethods must be an array',
  async (whitelistedMethods) => {
    const answer = await host.call('PATCH', '/smart-contract', {
      token: acmeToken,
      key,
      body: { address: aContractBody.address, whitelistedMethods },
    });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ statusCode: 400, message: 'whitelistedMethods must be an array' });
  },
);

describe.each([
  { number: 5, method: 'PATCH' },
  { number: 6, method: 'DELETE' },
])('$number: HTTP 404 "Smart contract not found" with statusCode 400 in the body', ({ method }) => {
  const body = { address: '0x00000000000000000000000000000000000000ff', whitelistedMethods: [] };
  const notFound = { statusCode: 400, message: 'Smart contract not found', data: undefined };

  test('for a wrong apiKey', async () => {
    const answer = await host.call(method, '/smart-contract', { token: acmeToken, key: 'wrong', body });
    expect(answer.status).toBe(404);
    expect(answer.body).toEqual(notFound);
  });

  test('for an address that was not added', async () => {
    const answer = await host.call(method, '/smart-contract', { token: acmeToken, key, body });
    expect(answer.status).toBe(404);
    expect(answer.body).toEqual(notFound);
  });
});

describe('8: 400 Invalid signature', () => {
  const wallet = newWallet();

  async function fundingMessage(): Promise<string> {
    const sent = await host.call('GET', `/funding-message/${paymasterId}`, { token: acmeToken, key });
    return String(recordOf(sent.body.data)['fundingMessage']);
  }

  test.each<{ name: string; sign: () => Promise<{ signature: string; address: string }> }>([
    {
      name: 'a signature made over an older message',
      sign: async () => {
        const older = await fundingMessage();
        await fundingMessage();
        return { signature: await wallet.signMessage(older), address: wallet.address };
      },
    },
    {
      name: 'a signer that differs from the address in the body',
      sign: async () => ({
        signature: await wallet.signMessage(await fundingMessage()),
        address: newWallet().address,
      }),
    },
    {
      name: 'a signature over another text',
      sign: async () => {
        await fundingMessage();
        return { signature: await wallet.signMessage('hello'), address: wallet.address };
      },
    },
    { name: 'no hex', sign: async () => ({ signature: 'signed, me', address: wallet.address }) },
    { name: 'an empty text', sign: async () => ({ signature: '', address: wallet.address }) },
    {
      name: 'half a signature',
      sign: async () => ({ signature: `0x${'1b'.repeat(32)}`, address: wallet.address }),
    },
  ])('$name', async ({ sign }) => {
    const body = { paymasterId, type: 'paymasterFundingId', ...(await sign()) };
    const answer = await host.call('PATCH', '/paymaster', { token: acmeToken, key, body });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ statusCode: 400, message: 'Invalid signature' });
  });
});

test.each([
  { name: 'a wrong apiKey', options: () => ({ token: acmeToken, key: 'wrong' }) },
  { name: 'a wrong authToken', options: () => ({ token: 'wrong', key }) },
])('8: 404 User not found for $name', async ({ options }) => {
  const body = {
    paymasterId,
    type: 'paymasterFundingId',
    signature: '0x',
    address: newWallet().address,
  };
  const answer = await host.call('PATCH', '/paymaster', { ...options(), body });
  expect(answer.status).toBe(404);
  expect(answer.body).toEqual({ statusCode: 404, message: 'User not found', data: undefined });
});

describe('beyond the table', () => {
  test.each(['limit', 'activate', 'deactivate'])('an unknown policy is 404 for %s', async (action) => {
    const answer = await host.call(
      'PATCH',
      `/paymaster-policy/${action}/5f8e7f9a-0000-4000-8000-000000000000`,
      {
        token: acmeToken,
        key,
      },
    );
    expect(answer.status).toBe(404);
    expect(answer.body).toMatchObject({ statusCode: 404, message: 'Paymaster Policy not found' });
  });

  test('a limit update of another kind of policy is 400', async () => {
    const { body } = await host.call('POST', '/paymaster-policy', {
      token: acmeToken,
      key,
      body: { name: 'Deployments', policyType: 'WALLET_DEPLOYMENT', policyData: {} },
    });
    const answer = await host.call('PATCH', `/paymaster-policy/limit/${String(recordOf(body.data)['_id'])}`, {
      token: acmeToken,
      key,
      body: { threshold: 1 },
    });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toBe('The policy is not a spending limit');
  });

  test('the funding message of another paymaster is 404', async () => {
    const other = await createPaymaster(host, { name: 'Neighbour' });
    const answer = await host.call('GET', `/funding-message/${other.paymasterId}`, { token: acmeToken, key });
    expect(answer.status).toBe(404);
  });

  test('a path that does not exist is 404 in the envelope', async () => {
    const answer = await host.call('PUT', '/paymaster', { token: acmeToken });
    expect(answer.status).toBe(404);
    expect(answer.body).toMatchObject({
      statusCode: 404,
      message: 'There is no PUT /api/v2/public/sdk/paymaster',
    });
  });

  test('the list shows that no refused call has left anything behind', async () => {
    const { body } = await host.call('GET', '/paymaster', { token: acmeToken });
    expect(recordsOf(body.data).map(({ name }) => name)).toEqual(['Shop', 'Neighbour']);
  });
});
