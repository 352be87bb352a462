import { describe, expect, test } from '@jest/globals';
import {
  aContractBody,
  aDeploymentBody,
  aLimitBody,
  aWebhookBody,
  acmeToken,
  chainId,
  createPaymaster,
  recordOf,
  recordsOf,
} from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';
import { newWallet } from '../support/new-wallet.js';

// Service document, "Endpoints": methods, paths, headers, bodies, messages. Each row is called under both spellings.

const host = useDashboard();

const spellings = [
  { spelling: 'the short spelling', suffix: '' },
  { spelling: 'the spelling of the service document', suffix: 'Parameters' },
];

describe.each(spellings)('$spelling', ({ suffix }) => {
  const path = (first: string, rest = '') => `/${first}${suffix}${rest}`;
  const dapp = `DApp${suffix}`;
  let key: string;
  let paymasterId: string;

  test('2: POST /paymaster registers a DApp', async () => {
    const body = { name: dapp, type: 'HYBRID', chainId, version: '1.1.0' };
    const answer = await host.call('POST', path('paymaster'), { token: acmeToken, body });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      statusCode: 200,
      message: 'DApp registered successfully',
      data: {
        name: dapp,
        chainId,
        apiKey: expect.stringMatching(/^[A-Za-z0-9_-]{9}\.[0-9a-f-]{36}$/),
        paymasterId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    });
    key = String(recordOf(answer.body.data)['apiKey']);
    paymasterId = String(recordOf(answer.body.data)['paymasterId']);
  });

  test('1: GET /paymaster lists {name, chainId, apiKey}', async () => {
    const { status, body } = await host.call('GET', path('paymaster'), { token: acmeToken });
    expect({ status, statusCode: body.statusCode, message: body.message }).toEqual({
      status: 200,
      statusCode: 200,
      message: 'DApp list fetched',
    });
    expect(recordsOf(body.data)).toContainEqual({ name: dapp, chainId, apiKey: key });
  });

  test('3: POST /smart-contract registers a contract', async () => {
    const answer = await host.call('POST', path('smart-contract'), {
      token: acmeToken,
      key,
      body: aContractBody,
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      statusCode: 200,
      message: 'Smart contract registered successfully',
      data: undefined,
    });
  });

  test('4: GET /smart-contract lists name, address, abi, whitelistedMethods and methods', async () => {
    const { status, body } = await host.call('GET', path('smart-contract'), { token: acmeToken, key });
    expect(status).toBe(200);
    expect(body).toEqual({
      statusCode: 200,
      message: 'Smart contract list fetched',
      data: [{ ...aContractBody, methods: ['mint', 'burn'] }],
    });
  });

  test('5: PATCH /smart-contract answers the updated contract', async () => {
    const { address } = aContractBody;
    const answer = await host.call('PATCH', path('smart-contract'), {
      token: acmeToken,
      key,
      body: { address, whitelistedMethods: ['burn'] },
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      statusCode: 200,
      message: 'Smart contract updated',
      data: { ...aContractBody, whitelistedMethods: ['burn'], methods: ['mint', 'burn'] },
    });
  });

  test('7 and 8: the funding wallet is set by a signature over the funding message', async () => {
    const sent = await host.call('GET', path('funding-message', `/${paymasterId}`), {
      token: acmeToken,
      key,
    });
    expect(sent.status).toBe(200);
    expect(sent.body.message).toBe('Funding message sent');
    const wallet = newWallet();
    const signature = await wallet.signMessage(String(recordOf(sent.body.data)['fundingMessage']));
    const body = { paymasterId, type: 'paymasterFundingId', signature, address: wallet.address };
    const answer = await host.call('PATCH', path('paymaster'), { token: acmeToken, key, body });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      statusCode: 200,
      message: 'Paymaster updated successfully',
      data: { name: dapp, chainId, apiKey: key, paymasterId },
    });
  });

  test.each([
    {
      body: aLimitBody,
      policyData: {
        ...aLimitBody.policyData,
        startTimeInEpoch: expect.any(Number),
        durationInMs: 3 * 3_600_000,
      },
    },
    {
      body: aWebhookBody,
      policyData: { ...aWebhookBody.policyData, signingKey: expect.stringMatching(/^[0-9a-f]{64}$/) },
    },
    { body: aDeploymentBody, policyData: { operator: 'walletDeployment' } },
  ])('9: POST /paymaster-policy creates a $body.policyType', async ({ body, policyData }) => {
    const answer = await host.call('POST', path('paymaster-policy'), { token: acmeToken, key, body });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      statusCode: 200,
      message: 'Paymaster Policy created successfully',
      data: {
        _id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        name: body.name,
        policyType: body.policyType,
        organisationId: expect.any(String),
        paymasterId,
        createdBy: 'acme-ci',
        chainId,
        active: true,
        policyData,
      },
    });
  });

  test('10: GET /paymaster-policy returns limits, webhooks, deployment rules and whitelisted contracts', async () => {
    const { status, body } = await host.call('GET', path('paymaster-policy'), { token: acmeToken, key });
    expect({ status, message: body.message }).toEqual({ status: 200, message: 'Paymaster Policies found!' });
    const records = recordsOf(body.data);
    expect(records.map(({ policyType }) => policyType)).toEqual([
      'PAYMASTER_SA_LIMIT',
      'WEBHOOK',
      'WALLET_DEPLOYMENT',
      'SMART_CONTRACT',
    ]);
    expect(records[1]?.['policyData']).toEqual(aWebhookBody.policyData);
    expect(records[3]).toMatchObject({
      name: aContractBody.name,
      paymasterId,
      chainId,
      active: true,
      policyData: {
        address: aContractBody.address,
        whitelistedMethods: ['burn'],
        methods: ['mint', 'burn'],
      },
    });
  });

  test.each([
    { number: 11, action: 'limit', body: { threshold: 20 }, message: 'Paymaster Limit updated' },
    { number: 12, action: 'deactivate', message: 'Paymaster Policy Deactivated!' },
    { number: 13, action: 'activate', message: 'Paymaster Policy Activated!' },
  ])('$number: PATCH /paymaster-policy/$action/:policyId answers its message only', async (row) => {
    const listed = await host.call('GET', path('paymaster-policy'), { token: acmeToken, key });
    const policyId = String(recordsOf(listed.body.data)[0]?.['_id']);
    const answer = await host.call('PATCH', path('paymaster-policy', `/${row.action}/${policyId}`), {
      token: acmeToken,
      key,
      body: row.body,
    });
    expect(answer.status).toBe(200);
    // Beside what the document says, an update of a limit says that its cycle started anew.
    const { warnings: _, ...documented } = answer.body;
    expect(documented).toEqual({ statusCode: 200, message: row.message, data: undefined });
  });

  test('6: DELETE /smart-contract takes the address in its body', async () => {
    const { address } = aContractBody;
    const answer = await host.call('DELETE', path('smart-contract'), {
      token: acmeToken,
      key,
      body: { address },
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ statusCode: 200, message: 'Smart contract deleted', data: undefined });
    const left = await host.call('GET', path('smart-contract'), { token: acmeToken, key });
    expect(left.body.data).toEqual([]);
  });
});

test('what is written under one spelling is read under the other', async () => {
  const { key } = await createPaymaster(host, { name: 'Both' });
  await host.call('POST', '/smart-contractParameters', { token: acmeToken, key, body: aContractBody });
  const { body } = await host.call('GET', '/smart-contract', { token: acmeToken, key });
  expect(recordsOf(body.data).map(({ name }) => name)).toEqual([aContractBody.name]);
});

test('every endpoint is served with duplicate slashes in its path', async () => {
  const { key } = await createPaymaster(host, { name: 'Slashes' });
  const headers = { authToken: acmeToken, apiKey: key };
  for (const path of ['//api/v2/public/sdk/smart-contract', '/api//v2/public///sdk//paymaster-policy']) {
    const response = await host.fetch(path, { headers });
    expect({ path, status: response.status }).toEqual({ path, status: 200 });
  }
  const updated = await host.fetch('//api/v2/public/sdk//paymaster-policy//activate//unknown', {
    method: 'PATCH',
    headers,
  });
  expect(updated.status).toBe(404);
  expect(await updated.json()).toEqual({ statusCode: 404, message: 'Paymaster Policy not found' });
});
