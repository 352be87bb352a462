import { beforeEach, describe, expect, test } from '@jest/globals';
import { deriveApiKey } from '../../core/config/api-key.js';
import { deriveContractId, derivePolicyId } from '../../core/config/ids.js';
import {
  aContractBody,
  aLimitBody,
  acmeToken,
  chainId,
  createPaymaster,
  recordOf,
  recordsOf,
} from '../build/dashboard.js';
import type { Answer } from '../build/dashboard.js';
import { masterKeys } from '../build/operator.js';
import { useDashboard } from '../support/use-dashboard.js';

// Resources that a manifest declares: the dashboard shows them, changes fields that the manifest leaves out, and answers 409
// naming the owner for fields that the manifest sets.

const host = useDashboard();
let round = 0;
let paymaster: string;
let key: string;

const git = 'manifests';
const at = (name: string) => ({ namespace: 'acme', name });

/** A paymaster, a contract and a limit as a manifest declares them; none says `active`. */
beforeEach(async () => {
  round += 1;
  paymaster = `shop-${round}`;
  key = deriveApiKey(masterKeys.current, { namespace: 'acme', name: paymaster, keyGeneration: 1 });
  const { name, address, abi, whitelistedMethods } = aContractBody;
  const paymasterRef = { name: paymaster };
  await host.resources.apply({
    manager: git,
    kind: 'Paymaster',
    key: at(paymaster),
    spec: { name: `Shop ${round}`, chainId, type: 'HYBRID', version: '1.1.0' },
  });
  await host.resources.apply({
    manager: git,
    kind: 'SmartContract',
    key: at(`${paymaster}-nft`),
    spec: { paymasterRef, name, address: address.toLowerCase(), abi, whitelistedMethods },
  });
  await applyLimit('10');
});

async function applyLimit(threshold: string): Promise<void> {
  await host.resources.apply({
    manager: git,
    kind: 'PaymasterPolicy',
    key: at(`${paymaster}-daily`),
    spec: {
      paymasterRef: { name: paymaster },
      name: 'Daily',
      policyType: 'PAYMASTER_SA_LIMIT',
      spendingLimit: {
        scope: 'PAYMASTER',
        cycleDuration: { value: 1, unit: 'day' },
        threshold,
        thresholdType: 'COUNT',
      },
    },
  });
}

function call(method: string, path: string, body?: object): Promise<Answer> {
  return host.call(method, path, { token: acmeToken, key, body });
}

function patchPolicy(action: string, body?: object): Promise<Answer> {
  return call('PATCH', `/paymaster-policy/${action}/${derivePolicyId('acme', `${paymaster}-daily`)}`, body);
}

async function storedPolicy() {
  const policy = await host.resources.get('PaymasterPolicy', at(`${paymaster}-daily`));
  if (!policy) throw new Error('the policy is gone');
  return policy.spec;
}

describe('what a manifest declares is shown', () => {
  test('its apiKey works and its resources are listed', async () => {
    const contracts = await call('GET', '/smart-contract');
    expect(recordsOf(contracts.body.data)).toEqual([
      { ...aContractBody, address: aContractBody.address.toLowerCase(), methods: ['mint', 'burn'] },
    ]);
    const policies = await call('GET', '/paymaster-policy');
    expect(recordsOf(policies.body.data).map(({ name, createdBy }) => ({ name, createdBy }))).toEqual([
      { name: 'Daily', createdBy: git },
      { name: 'NFT', createdBy: git },
    ]);
  });

  test('its names and addresses count as taken', async () => {
    const contract = await call('POST', '/smart-contract', { ...aContractBody, name: 'Other' });
    expect(contract.body.message).toBe('Smart contract address already exists');
    const policy = await call('POST', '/paymaster-policy', aLimitBody);
    expect(policy.body.message).toBe('A policy named "Daily" already exists');
  });
});

describe('409 naming the owner', () => {
  test.each<{ name: string; write: () => Promise<Answer>; field: string }>([
    {
      name: 'a threshold that the manifest says',
      write: () => patchPolicy('limit', { threshold: 99 }),
      field: 'threshold',
    },
    {
      name: 'a name that the manifest says',
      write: () => patchPolicy('limit', { name: 'Other' }),
      field: 'name',
    },
    {
      name: 'a unit that the manifest says',
      write: () => patchPolicy('limit', { cycleDuration: { value: 1, unit: 'hour' } }),
      field: 'cycleDuration',
    },
    {
      name: 'methods that the manifest says',
      write: () =>
        call('PATCH', '/smart-contract', { address: aContractBody.address, whitelistedMethods: ['burn'] }),
      field: 'whitelistedMethods',
    },
  ])('$name', async ({ write, field }) => {
    const answer = await write();
    expect(answer.status).toBe(409);
    expect(answer.body.statusCode).toBe(409);
    expect(answer.body.message).toContain(`"${git}"`);
    expect(answer.body.message).toContain(field);
    expect((await storedPolicy()).spendingLimit?.threshold).toBe('10');
  });

  test('deleting a contract that a manifest declares: it would come back', async () => {
    const answer = await call('DELETE', '/smart-contract', { address: aContractBody.address });
    expect(answer.status).toBe(409);
    expect(answer.body.message).toMatch(/^SmartContract acme\/\S+: /);
    expect(answer.body.message).toContain(`spec.abi is owned by "${git}"`);
    expect(recordsOf((await call('GET', '/smart-contract')).body.data)).toHaveLength(1);
  });

  test('pausing a policy whose manifest says active', async () => {
    const name = `${paymaster}-daily`;
    await host.resources.apply({
      manager: git,
      kind: 'PaymasterPolicy',
      key: at(name),
      spec: { ...(await storedPolicy()), active: true },
    });
    const answer = await patchPolicy('deactivate');
    expect(answer.status).toBe(409);
    expect(answer.body.message).toContain(`"${git}"`);
  });
});

describe('what a manifest leaves out is the dashboard’s', () => {
  test('a policy is paused, and stays so when the manifest is applied again', async () => {
    expect((await patchPolicy('deactivate')).status).toBe(200);
    await applyLimit('10');
    expect((await storedPolicy()).active).toBe(false);
    expect((await patchPolicy('activate')).status).toBe(200);
    expect((await storedPolicy()).active).toBe(true);
  });

  test('a contract is paused by the id that the policy list shows', async () => {
    const id = deriveContractId('acme', `${paymaster}-nft`);
    expect((await call('PATCH', `/paymaster-policy/deactivate/${id}`)).status).toBe(200);
    const stored = await host.resources.get('SmartContract', at(`${paymaster}-nft`));
    expect(stored?.spec.active).toBe(false);
  });

  test('a limit is restarted with equal values, and the manifest may still change them', async () => {
    const { threshold, thresholdType } = aLimitBody.policyData;
    const answer = await patchPolicy('limit', { threshold, thresholdType, name: 'Daily' });
    expect(answer.status).toBe(200);
    expect((await storedPolicy()).spendingLimit?.startTime).toBeDefined();
    await applyLimit('25');
    const { spendingLimit } = await storedPolicy();
    expect(spendingLimit?.threshold).toBe('25');
    expect(spendingLimit?.startTime).toBeDefined();
  });

  test('pausing does not lose an earlier restart of the cycle', async () => {
    await patchPolicy('limit');
    const before = (await storedPolicy()).spendingLimit?.startTime;
    await patchPolicy('deactivate');
    const after = await storedPolicy();
    expect(after.spendingLimit?.startTime).toBe(before);
    expect(after.active).toBe(false);
  });
});

describe('what a person edited by hand', () => {
  const edit = (active: boolean) =>
    host.resources.apply({
      manager: 'kubectl-edit',
      kind: 'PaymasterPolicy',
      key: at(`${paymaster}-daily`),
      spec: { active },
    });

  test('is taken over, since nothing declares it', async () => {
    await edit(false);
    expect((await patchPolicy('activate')).status).toBe(200);
    expect((await storedPolicy()).active).toBe(true);
  });

  test('does not open the fields of the manifest', async () => {
    await edit(false);
    const answer = await patchPolicy('limit', { threshold: 99 });
    expect(answer.status).toBe(409);
    expect(answer.body.message).toContain(`"${git}"`);
  });
});

describe('what the dashboard made stays whole', () => {
  test('a change of one field keeps the others and who created it', async () => {
    const mine = await createPaymaster(host, { name: `Mine ${round}` });
    const created = await host.call('POST', '/paymaster-policy', { ...mine, body: aLimitBody });
    const path = (action: string) =>
      `/paymaster-policy/${action}/${String(recordOf(created.body.data)['_id'])}`;
    await host.call('PATCH', path('deactivate'), mine);
    await host.call('PATCH', path('limit'), { ...mine, body: { threshold: 5 } });
    const [record] = recordsOf((await host.call('GET', '/paymaster-policy', mine)).body.data);
    expect(record).toMatchObject({
      name: 'Daily',
      createdBy: 'acme-ci',
      active: false,
      policyData: { ...aLimitBody.policyData, threshold: 5 },
    });
  });
});
