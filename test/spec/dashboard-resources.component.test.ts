import { beforeEach, describe, expect, test } from '@jest/globals';
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

// Service document, "Resources and their fields".

const host = useDashboard();
let key: string;
let paymasterId: string;
let round = 0;
beforeEach(async () => {
  round += 1;
  ({ key, paymasterId } = await createPaymaster(host, { name: `Shop ${round}` }));
});

const call = (method: string, path: string, body?: object) =>
  host.call(method, path, { token: acmeToken, key, body });

describe('paymaster', () => {
  test('apiKey and paymasterId identify the DApp and stay the same', async () => {
    const { body } = await host.call('GET', '/paymaster', { token: acmeToken });
    const listed = recordsOf(body.data).find(({ name }) => name === `Shop ${round}`);
    expect(listed?.['apiKey']).toBe(key);
    expect(paymasterId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test('the list is in the order of creation', async () => {
    for (const name of ['Zebra', 'Aardvark', 'Moose'])
      await createPaymaster(host, { name: `${name} ${round}` });
    const { body } = await host.call('GET', '/paymaster', { token: acmeToken });
    const names = recordsOf(body.data).map(({ name }) => String(name));
    expect(names.slice(-3)).toEqual([`Zebra ${round}`, `Aardvark ${round}`, `Moose ${round}`]);
  });

  test.each(['Ünïcødé ☂', '日本', 'a/b?c#d', "Robert'); DROP TABLE paymasters;--", 'x'.repeat(128)])(
    'a name such as %s is kept as it is',
    async (name) => {
      await createPaymaster(host, { name });
      const { body } = await host.call('GET', '/paymaster', { token: acmeToken });
      expect(recordsOf(body.data).map((record) => record['name'])).toContain(name);
    },
  );
});

describe('smart contract', () => {
  test('methods are the state-changing functions of the ABI, each once, in its order', async () => {
    await call('POST', '/smart-contract', aContractBody);
    const { body } = await call('GET', '/smart-contract');
    expect(recordsOf(body.data)[0]?.['methods']).toEqual(['mint', 'burn']);
  });

  test('the abi is returned as the string that was sent', async () => {
    const abi = ` ${aContractBody.abi} `;
    await call('POST', '/smart-contract', { ...aContractBody, abi });
    const { body } = await call('GET', '/smart-contract');
    expect(recordsOf(body.data)[0]?.['abi']).toBe(abi);
  });

  test('the address is returned in checksummed form, and is found in any case', async () => {
    const address = '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed';
    await call('POST', '/smart-contract', { ...aContractBody, address });
    const { body } = await call('GET', '/smart-contract');
    expect(recordsOf(body.data)[0]?.['address']).toBe('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed');
    const removal = await call('DELETE', '/smart-contract', {
      address: `0x${address.slice(2).toUpperCase()}`,
    });
    expect(removal.status).toBe(200);
  });

  test('an address in mixed case whose checksum is wrong is a 400; what is there already is found by it', async () => {
    const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD';
    const answer = await call('POST', '/smart-contract', { ...aContractBody, address });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toMatch(
      /^address must be an address whose upper and lower case .*got "0x5aAeb/,
    );
    await call('POST', '/smart-contract', { ...aContractBody, address: address.toLowerCase() });
    expect((await call('DELETE', '/smart-contract', { address })).status).toBe(200);
  });

  test('whitelistedMethods left out means none yet', async () => {
    const { name, address, abi } = aContractBody;
    expect((await call('POST', '/smart-contract', { name, address, abi })).status).toBe(200);
    const { body } = await call('GET', '/smart-contract');
    expect(recordsOf(body.data)[0]?.['whitelistedMethods']).toEqual([]);
  });

  test('a full signature whitelists one overload, and is returned as it was sent', async () => {
    const whitelistedMethods = ['mint(address)', 'burn'];
    await call('POST', '/smart-contract', { ...aContractBody, whitelistedMethods });
    const { body } = await call('GET', '/smart-contract');
    expect(recordsOf(body.data)[0]?.['whitelistedMethods']).toEqual(whitelistedMethods);
  });

  test('an update replaces the methods, an empty list removes all', async () => {
    await call('POST', '/smart-contract', aContractBody);
    const { address } = aContractBody;
    const update = await call('PATCH', '/smart-contract', { address, whitelistedMethods: [] });
    expect(recordOf(update.body.data)['whitelistedMethods']).toEqual([]);
    const unknown = await call('PATCH', '/smart-contract', { address, whitelistedMethods: ['steal'] });
    expect(unknown.status).toBe(400);
    expect(unknown.body.message).toContain('a method of the ABI (mint, burn), got "steal"');
  });
});

describe('policy', () => {
  test('has the common fields, and the same ones in the list', async () => {
    const created = await call('POST', '/paymaster-policy', aLimitBody);
    const record = recordOf(created.body.data);
    expect(record).toMatchObject({
      name: 'Daily',
      policyType: 'PAYMASTER_SA_LIMIT',
      paymasterId,
      createdBy: 'acme-ci',
      chainId: 31337,
      active: true,
    });
    expect(record['_id']).toMatch(/^[0-9a-f-]{36}$/);
    const { body } = await call('GET', '/paymaster-policy');
    expect(body.data).toEqual([record]);
  });

  test('all policies of an organisation carry one organisationId, those of another another', async () => {
    const mine = recordOf((await call('POST', '/paymaster-policy', aLimitBody)).body.data);
    const sibling = await createPaymaster(host, { name: `Sibling ${round}` });
    const theirs = await host.call('POST', '/paymaster-policy', { ...sibling, body: aLimitBody });
    expect(recordOf(theirs.body.data)['organisationId']).toBe(mine['organisationId']);
    const stranger = await createPaymaster(host, { token: 'other-token-0123456789', name: `Shop ${round}` });
    const other = await host.call('POST', '/paymaster-policy', { ...stranger, body: aLimitBody });
    expect(recordOf(other.body.data)['organisationId']).not.toBe(mine['organisationId']);
  });

  test('a webhook shows its signing key once, at creation', async () => {
    const created = await call('POST', '/paymaster-policy', aWebhookBody);
    const { signingKey } = recordOf(recordOf(created.body.data)['policyData']);
    expect(signingKey).toMatch(/^[0-9a-f]{64}$/);
    const { body } = await call('GET', '/paymaster-policy');
    expect(recordsOf(body.data)[0]?.['policyData']).toEqual({ url: aWebhookBody.policyData.url });
    expect(JSON.stringify(body)).not.toContain(String(signingKey));
    const stored = JSON.stringify(await host.resources.list('PaymasterPolicy'));
    expect(stored).not.toContain(String(signingKey));
  });

  test('every webhook has its own signing key', async () => {
    const keys = await Promise.all(
      ['One', 'Two'].map(async (name) => {
        const { body } = await call('POST', '/paymaster-policy', { ...aWebhookBody, name });
        return recordOf(recordOf(body.data)['policyData'])['signingKey'];
      }),
    );
    expect(new Set(keys).size).toBe(2);
  });

  test('the GET variant and the reaction to failure of a webhook are kept', async () => {
    const policyData = { url: 'https://rules.example.com/check', method: 'GET', onError: 'Allow' };
    await call('POST', '/paymaster-policy', { ...aWebhookBody, policyData });
    const { body } = await call('GET', '/paymaster-policy');
    expect(recordsOf(body.data)[0]?.['policyData']).toEqual(policyData);
  });

  test('a WALLET_DEPLOYMENT rule carries operator walletDeployment, whatever its data said', async () => {
    const { body } = await call('POST', '/paymaster-policy', {
      ...aDeploymentBody,
      policyData: { operator: 'walletDeployment' },
    });
    expect(recordOf(body.data)['policyData']).toEqual({ operator: 'walletDeployment' });
  });

  test('fields that the document does not know are ignored at creation', async () => {
    const { status, body } = await call('POST', '/paymaster-policy', {
      ...aLimitBody,
      active: false,
      _id: 'mine',
      policyData: { ...aLimitBody.policyData, startTimeInEpoch: 0, durationInMs: 1 },
    });
    expect(status).toBe(200);
    const record = recordOf(body.data);
    expect(record['active']).toBe(true);
    expect(record['_id']).not.toBe('mine');
    expect(recordOf(record['policyData'])['durationInMs']).toBe(3 * 3_600_000);
  });

  test('the list has the rules first, oldest first, then one record per contract', async () => {
    await call('POST', '/smart-contract', aContractBody);
    for (const name of ['Zeta', 'Alpha', 'Mid'])
      await call('POST', '/paymaster-policy', { ...aLimitBody, name });
    await call('POST', '/smart-contract', {
      ...aContractBody,
      name: 'A second one',
      address: '0x00000000000000000000000000000000000000c2',
    });
    const { body } = await call('GET', '/paymaster-policy');
    expect(recordsOf(body.data).map(({ name }) => name)).toEqual([
      'Zeta',
      'Alpha',
      'Mid',
      'NFT',
      'A second one',
    ]);
  });
});
