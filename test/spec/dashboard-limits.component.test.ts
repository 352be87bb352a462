import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  aContractBody,
  aDeploymentBody,
  aLimitBody,
  acmeToken,
  applyOrganisation,
  chainId,
  createPaymaster,
  recordOf,
  recordsOf,
} from '../build/dashboard.js';
import type { Answer } from '../build/dashboard.js';
import { hashCredential as hashToken } from '../../core/config/api-key.js';
import { derivePolicyId } from '../../core/config/ids.js';
import { aProfile } from '../build/resources.js';
import { useDashboard } from '../support/use-dashboard.js';

// Service document, "Limits": cycle units, thresholds, scopes, uniqueness; and the figures that only the API rounds.

const host = useDashboard();
let key: string;
let paymasters = 0;
beforeEach(async () => {
  paymasters += 1;
  ({ key } = await createPaymaster(host, { name: `Shop ${paymasters}` }));
});

type Data = Partial<Record<keyof typeof aLimitBody.policyData, unknown>>;

function createLimit(data: Data, name = 'Limit'): Promise<Answer> {
  const body = { ...aLimitBody, name, policyData: { ...aLimitBody.policyData, ...data } };
  return host.call('POST', '/paymaster-policy', { token: acmeToken, key, body });
}

function updateLimit(policyId: unknown, body?: object): Promise<Answer> {
  return host.call('PATCH', `/paymaster-policy/limit/${String(policyId)}`, { token: acmeToken, key, body });
}

async function created(data: Data = {}, name?: string): Promise<string> {
  const { status, body } = await createLimit(data, name);
  expect(status).toBe(200);
  return String(recordOf(body.data)['_id']);
}

async function readLimit(policyId: string): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await host.call('GET', '/paymaster-policy', { token: acmeToken, key });
  const record = recordsOf(body.data).find(({ _id }) => _id === policyId);
  return { name: record?.['name'], ...recordOf(record?.['policyData']) };
}

async function storedLimit(policyId: string): Promise<Readonly<Record<string, unknown>>> {
  const policies = await host.resources.list('PaymasterPolicy', { namespace: 'acme' });
  const policy = policies.find(({ metadata }) => derivePolicyId('acme', metadata.name) === policyId);
  return { ...policy?.spec.spendingLimit };
}

describe('creation', () => {
  test.each([
    { unit: 'hour', value: 1, durationInMs: 3_600_000 },
    { unit: 'hour', value: 8760, durationInMs: 8760 * 3_600_000 },
    { unit: 'day', value: 1, durationInMs: 86_400_000 },
    { unit: 'day', value: 365, durationInMs: 365 * 86_400_000 },
  ])('a cycle of $value $unit lasts $durationInMs ms', async ({ unit, value, durationInMs }) => {
    const { status, body } = await createLimit({ cycleDuration: { value, unit } });
    expect(status).toBe(200);
    expect(recordOf(recordOf(body.data)['policyData'])).toMatchObject({
      cycleDuration: { value, unit },
      durationInMs,
    });
  });

  test.each([
    { unit: 'week', value: 1, problem: 'policyData.cycleDuration.unit must be "hour" or "day", got "week"' },
    { unit: 'minute', value: 90, problem: 'policyData.cycleDuration.unit' },
    { unit: 'day', value: 366, problem: 'policyData.cycleDuration.value must be at most 365' },
    { unit: 'hour', value: 8761, problem: 'policyData.cycleDuration.value' },
    { unit: 'hour', value: 0, problem: 'policyData.cycleDuration.value' },
    { unit: 'hour', value: -3, problem: 'policyData.cycleDuration.value' },
    { unit: 'hour', value: 1.5, problem: 'policyData.cycleDuration.value' },
    { unit: 'hour', value: '3', problem: 'policyData.cycleDuration.value' },
  ])('a cycle of $value $unit is refused by name', async ({ unit, value, problem }) => {
    const { status, body } = await createLimit({ cycleDuration: { value, unit } });
    expect(status).toBe(400);
    expect(body.message).toContain(problem);
  });

  test.each(['PAYMASTER', 'SMART_ACCOUNT'])('scope %s is kept', async (type) => {
    const { body } = await createLimit({ type });
    expect(recordOf(recordOf(body.data)['policyData'])['type']).toBe(type);
  });

  test('the cycle starts at the creation, in milliseconds', async () => {
    const earliest = host.clock.now();
    const { body } = await createLimit({});
    const start = recordOf(recordOf(body.data)['policyData'])['startTimeInEpoch'];
    expect(start).toBeGreaterThanOrEqual(earliest);
    expect(start).toBeLessThanOrEqual(host.clock.now());
  });

  test.each([
    { threshold: 0.1, text: '0.1' },
    { threshold: 1e-7, text: '0.0000001' },
    { threshold: 1e-18, text: '0.000000000000000001' },
    { threshold: 1.5e-3, text: '0.0015' },
    { threshold: 0.30000000000000004, text: '0.30000000000000004' },
    { threshold: 12345.678, text: '12345.678' },
    { threshold: 100000000000000, text: '100000000000000' },
    { threshold: 0, text: '0' },
  ])('a threshold of $threshold ether is stored as exactly "$text"', async ({ threshold, text }) => {
    const policyId = await created({ threshold, thresholdType: 'NATIVE_ASSET' });
    expect((await storedLimit(policyId))['threshold']).toBe(text);
    expect((await readLimit(policyId))['threshold']).toBe(threshold);
  });

  test.each([
    { name: 'a negative amount', threshold: -1, thresholdType: 'NATIVE_ASSET' },
    { name: 'less than a wei', threshold: 1e-19, thresholdType: 'NATIVE_ASSET' },
    { name: 'a quadrillion ether', threshold: 1e15, thresholdType: 'NATIVE_ASSET' },
    { name: 'the largest double', threshold: 1.7976931348623157e308, thresholdType: 'NATIVE_ASSET' },
    { name: 'half an operation', threshold: 0.5, thresholdType: 'COUNT' },
    { name: 'a quadrillion operations', threshold: 1e15, thresholdType: 'COUNT' },
    { name: 'text', threshold: '10', thresholdType: 'COUNT' },
    { name: 'null, which is what JSON makes of NaN', threshold: null, thresholdType: 'COUNT' },
  ])('a threshold of $name is refused by name', async ({ threshold, thresholdType }) => {
    const { status, body } = await createLimit({ threshold, thresholdType });
    expect(status).toBe(400);
    expect(body.message).toContain('policyData.threshold must be');
  });

  test.each(['9007199254740993', '0.1234567890123456789', '1e400', '1e-400'])(
    'a threshold literal of %s, which a double cannot hold, is refused rather than rounded',
    async (literal) => {
      const raw = JSON.stringify({
        ...aLimitBody,
        policyData: { ...aLimitBody.policyData, thresholdType: 'NATIVE_ASSET' },
      }).replace('"threshold":10', `"threshold":${literal}`);
      const { status, body } = await host.call('POST', '/paymaster-policy', { token: acmeToken, key, raw });
      expect(status).toBe(400);
      expect(body.message).toBe('threshold must be a number that fits a double exactly');
    },
  );

  test.each(['10', '1e1', '10.0', '0.1e2'])('the threshold literal %s is ten', async (literal) => {
    const raw = JSON.stringify(aLimitBody).replace('"threshold":10', `"threshold":${literal}`);
    const { body } = await host.call('POST', '/paymaster-policy', { token: acmeToken, key, raw });
    expect(recordOf(recordOf(body.data)['policyData'])['threshold']).toBe(10);
  });
});

describe('update', () => {
  test.each<{ name: string; body: object | undefined }>([
    { name: 'without a body', body: undefined },
    { name: 'with no field', body: {} },
  ])('an update $name changes nothing: the cycle goes on, and a warning says so', async ({ body }) => {
    const policyId = await created();
    const before = await readLimit(policyId);
    host.clock.advance(5000);
    const answer = await updateLimit(policyId, body);
    expect(answer).toMatchObject({ status: 200, body: { message: 'Paymaster Limit updated' } });
    expect(answer.body.warnings).toContain(
      'no field of the limit was given: nothing changed, and its cycle goes on',
    );
    expect(await readLimit(policyId)).toEqual(before);
  });

  test('an update of the name alone restarts the cycle', async () => {
    const policyId = await created();
    const before = await readLimit(policyId);
    host.clock.advance(5000);
    await updateLimit(policyId, { name: 'Another' });
    expect((await readLimit(policyId))['startTimeInEpoch']).toBeGreaterThan(
      Number(before['startTimeInEpoch']),
    );
  });

  test('an update with equal values restarts the cycle', async () => {
    const policyId = await created();
    const before = await readLimit(policyId);
    host.clock.advance(5000);
    const { threshold, thresholdType, cycleDuration } = aLimitBody.policyData;
    await updateLimit(policyId, { name: 'Limit', threshold, thresholdType, cycleDuration });
    expect((await readLimit(policyId))['startTimeInEpoch']).toBeGreaterThan(
      Number(before['startTimeInEpoch']),
    );
  });

  test('two updates at the same moment start two cycles', async () => {
    const policyId = await created();
    host.clock.advance(-60_000);
    const before = await readLimit(policyId);
    await updateLimit(policyId, { threshold: 10 });
    const first = await readLimit(policyId);
    await updateLimit(policyId, { threshold: 10 });
    const second = await readLimit(policyId);
    host.clock.advance(60_000);
    expect(first['startTimeInEpoch']).toBe(Number(before['startTimeInEpoch']) + 1);
    expect(second['startTimeInEpoch']).toBe(Number(before['startTimeInEpoch']) + 2);
  });

  test('the name, the cycle, the threshold and its type change, what is left out stays', async () => {
    const policyId = await created();
    await updateLimit(policyId, { name: 'Renamed', cycleDuration: { value: 2, unit: 'day' } });
    expect(await readLimit(policyId)).toMatchObject({
      name: 'Renamed',
      threshold: 10,
      thresholdType: 'COUNT',
      durationInMs: 2 * 86_400_000,
    });
    await updateLimit(policyId, { threshold: 0.25, thresholdType: 'NATIVE_ASSET' });
    expect(await readLimit(policyId)).toMatchObject({
      name: 'Renamed',
      threshold: 0.25,
      thresholdType: 'NATIVE_ASSET',
      durationInMs: 2 * 86_400_000,
    });
  });

  test('cycleDuration, documented as a string here, is taken as JSON text too', async () => {
    const policyId = await created();
    await updateLimit(policyId, { cycleDuration: '{"value":5,"unit":"day"}' });
    expect((await readLimit(policyId))['cycleDuration']).toEqual({ value: 5, unit: 'day' });
  });

  test.each([
    { body: { cycleDuration: 'daily' }, problem: 'cycleDuration must be' },
    { body: { cycleDuration: { value: 2, unit: 'month' } }, problem: 'cycleDuration.unit must be' },
    { body: { threshold: -1 }, problem: 'threshold must be' },
    { body: { threshold: 1.5 }, problem: 'threshold must be a whole number of user operations' },
    { body: { thresholdType: 'GAS' }, problem: 'thresholdType must be "COUNT" or "NATIVE_ASSET"' },
    { body: { thresholdType: 'USD' }, problem: 'thresholdType must be "COUNT" or "NATIVE_ASSET"' },
    { body: { name: '' }, problem: 'name must be' },
    { body: { type: 'SMART_ACCOUNT' }, problem: 'type must be left as it is' },
    { body: { treshold: 5 }, problem: 'treshold must be left out' },
  ])('$body is refused, and the cycle goes on', async ({ body, problem }) => {
    const policyId = await created();
    const before = await readLimit(policyId);
    const answer = await updateLimit(policyId, body);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain(problem);
    expect(await readLimit(policyId)).toEqual(before);
  });

  test('a type that no longer fits the stored threshold is refused', async () => {
    const policyId = await created({ threshold: 0.5, thresholdType: 'NATIVE_ASSET' });
    const answer = await updateLimit(policyId, { thresholdType: 'COUNT' });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain('threshold must be a whole number');
  });
});

describe('uniqueness', () => {
  test('a paymaster name is unique per chain: the same name on another chain is another paymaster', async () => {
    await host.resources.apply({
      manager: 'platform',
      kind: 'Chain',
      key: { name: 'second' },
      spec: {
        chainId: 31338,
        rpc: { urls: ['http://127.0.0.1:1'] },
        nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
        profiles: [aProfile],
      },
    });
    const body = { name: 'Twin', type: 'HYBRID', version: '1.1.0' };
    const call = (chain: number) =>
      host.call('POST', '/paymaster', { token: acmeToken, body: { ...body, chainId: chain } });
    expect((await call(31337)).status).toBe(200);
    expect((await call(31338)).status).toBe(200);
    expect((await call(31338)).body.message).toBe('paymaster_name_exists');
  });

  test('a paymaster name that a manifest uses is taken', async () => {
    await host.resources.apply({
      manager: 'manifests',
      kind: 'Paymaster',
      key: { namespace: 'acme', name: 'from-git' },
      spec: { name: 'From Git', chainId, type: 'HYBRID', version: '1.1.0' },
    });
    const body = { name: 'From Git', type: 'HYBRID', chainId, version: '1.1.0' };
    const answer = await host.call('POST', '/paymaster', { token: acmeToken, body });
    expect(answer.body).toMatchObject({ statusCode: 400, message: 'paymaster_name_exists' });
  });

  test('a contract address is unique per DApp: another DApp may register it', async () => {
    const other = await createPaymaster(host, { name: `Other ${paymasters}` });
    for (const credentials of [{ token: acmeToken, key }, other])
      expect(
        (await host.call('POST', '/smart-contract', { ...credentials, body: aContractBody })).status,
      ).toBe(200);
  });

  test('a taken contract name is a 400 that names it', async () => {
    await host.call('POST', '/smart-contract', { token: acmeToken, key, body: aContractBody });
    const { status, body } = await host.call('POST', '/smart-contract', {
      token: acmeToken,
      key,
      body: { ...aContractBody, address: '0x00000000000000000000000000000000000000C2' },
    });
    expect({ status, message: body.message }).toEqual({
      status: 400,
      message: 'A smart contract named "NFT" already exists',
    });
  });

  test('a contract can be registered again after it was deleted', async () => {
    const { address } = aContractBody;
    const credentials = { token: acmeToken, key };
    for (let round = 0; round < 2; round++) {
      expect(
        (await host.call('POST', '/smart-contract', { ...credentials, body: aContractBody })).status,
      ).toBe(200);
      expect(
        (await host.call('DELETE', '/smart-contract', { ...credentials, body: { address } })).status,
      ).toBe(200);
    }
  });

  test('a taken policy name is a 400 that names it, whatever the kind', async () => {
    await created({}, 'Daily');
    const body = { ...aDeploymentBody, name: 'Daily' };
    const answer = await host.call('POST', '/paymaster-policy', { token: acmeToken, key, body });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toBe('A policy named "Daily" already exists');
  });

  test('a policy cannot be renamed to a taken name', async () => {
    await created({}, 'First');
    const second = await created({}, 'Second');
    const answer = await updateLimit(second, { name: 'First' });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toBe('A policy named "First" already exists');
    expect((await readLimit(second))['name']).toBe('Second');
  });

  test('a name that a rename has freed can be used again, and both policies keep their ids', async () => {
    const first = await created({}, 'Daily');
    await updateLimit(first, { name: 'Formerly daily' });
    const second = await created({}, 'Daily');
    await updateLimit(second, { name: 'Also formerly daily' });
    const third = await created({}, 'Daily');
    expect(new Set([first, second, third]).size).toBe(3);
    expect((await readLimit(first))['name']).toBe('Formerly daily');
    expect((await readLimit(third))['name']).toBe('Daily');
  });
});

describe('what the organisation is granted', () => {
  const token = 'small-token-0123456789';
  const tokens = [{ name: 'ci', sha256: hashToken(token) }];
  const create = (name: string) =>
    host.call('POST', '/paymaster', { token, body: { name, type: 'HYBRID', chainId, version: '1.1.0' } });

  test('a quota that is used up is a 400 that names it', async () => {
    const quotas = { paymasters: 1, contractsPerPaymaster: 1, policiesPerPaymaster: 1 };
    await applyOrganisation(host.resources, 'small', { namespace: 'small', tokens, quotas });
    const first = await create('One');
    const second = await create('Two');
    expect({ status: second.status, message: second.body.message }).toEqual({
      status: 400,
      message:
        'The organisation may have 1 paymasters and has them all (spec.quotas.paymasters of Organisation small)',
    });
    const credentials = { token, key: String(recordOf(first.body.data)['apiKey']) };
    await host.call('POST', '/smart-contract', { ...credentials, body: aContractBody });
    const contract = await host.call('POST', '/smart-contract', {
      ...credentials,
      body: { ...aContractBody, name: 'More', address: '0x00000000000000000000000000000000000000C2' },
    });
    expect(contract.body.message).toBe(
      'The paymaster may have 1 contracts and has them all (spec.quotas.contractsPerPaymaster of Organisation small)',
    );
    await host.call('POST', '/paymaster-policy', { ...credentials, body: aLimitBody });
    const policy = await host.call('POST', '/paymaster-policy', { ...credentials, body: aDeploymentBody });
    expect(policy.body.message).toBe(
      'The paymaster may have 1 policies and has them all (spec.quotas.policiesPerPaymaster of Organisation small)',
    );
  });

  test('more limits or webhooks than count are a 400 that says how many do', async () => {
    await applyOrganisation(host.resources, 'small', {
      namespace: 'small',
      tokens,
      quotas: { paymasters: 5 },
    });
    const paymaster = await create('Many');
    const credentials = { token, key: String(recordOf(paymaster.body.data)['apiKey']) };
    const add = (body: object, name: string) =>
      host.call('POST', '/paymaster-policy', { ...credentials, body: { ...body, name } });
    for (let index = 1; index <= 20; index += 1)
      expect((await add(aLimitBody, `L${index}`)).status).toBe(200);
    const late = await add(aLimitBody, 'L21');
    expect({ status: late.status, message: late.body.message }).toEqual({
      status: 400,
      message:
        'A paymaster has at most 20 active spending limits, and the oldest count: delete or pause one.',
    });
    expect((await add(aDeploymentBody, 'Deploy')).status).toBe(200);
  });

  test('deactivated policies take no place, and none is activated beyond the number', async () => {
    await applyOrganisation(host.resources, 'small', {
      namespace: 'small',
      tokens,
      quotas: { paymasters: 5 },
    });
    const paymaster = await create('Deactivated');
    const credentials = { token, key: String(recordOf(paymaster.body.data)['apiKey']) };
    const add = async (name: string): Promise<string> => {
      const policyData = { url: 'https://host.example/' };
      const body = { name, policyType: 'WEBHOOK', policyData };
      const answer = await host.call('POST', '/paymaster-policy', { ...credentials, body });
      expect(answer).toMatchObject({ status: 200 });
      return String(recordOf(answer.body.data)['_id']);
    };
    const setActive = (id: string, verb: 'activate' | 'deactivate') =>
      host.call('PATCH', `/paymaster-policy/${verb}/${id}`, credentials);
    const old: string[] = [];
    for (let index = 1; index <= 5; index += 1) old.push(await add(`W${index}`));
    for (const id of old) expect((await setActive(id, 'deactivate')).status).toBe(200);
    const newer: string[] = [];
    for (let index = 6; index <= 10; index += 1) newer.push(await add(`W${index}`));

    const beyond = await setActive(old[0]!, 'activate');
    expect({ status: beyond.status, message: beyond.body.message }).toEqual({
      status: 400,
      message: 'A paymaster has at most 5 active webhooks, and the oldest count: delete or pause one.',
    });
    // An active limit stays as it is.
    expect((await setActive(newer[0]!, 'activate')).status).toBe(200);
    expect((await setActive(newer[0]!, 'deactivate')).status).toBe(200);
    expect((await setActive(old[0]!, 'activate')).status).toBe(200);
  });

  test('a chain that the organisation may not use is not supported', async () => {
    await applyOrganisation(host.resources, 'small', { namespace: 'small', tokens, chains: [1] });
    const answer = await create('Elsewhere');
    expect(answer.body).toMatchObject({ statusCode: 400, message: 'Chain ID not supported' });
  });
});
