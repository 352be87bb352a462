import { expect, test } from '@jest/globals';
import { derivePaymasterId } from '../../core/config/ids.js';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { aPaymasterConfig } from '../build/configs.js';
import { acmeToken, chainId, recordOf, recordsOf } from '../build/dashboard.js';
import { anAbi } from '../build/resources.js';
import { useDashboard } from '../support/use-dashboard.js';

// A paymaster that is deleted with what belongs to it.

const operated = useDashboard({ operator: true, programmedTimeoutMs: 60_000 });
/** What is served changes by the test alone. */
const alone = useDashboard({ operator: false });

async function ask(method: string, path: string, body?: unknown, host = operated) {
  const response = await host.fetch(`${managePrefix}${path}`, {
    method,
    headers: { Authorization: `Bearer ${acmeToken}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = recordOf(JSON.parse(await response.text()));
  return { status: response.status, data: response.ok ? recordOf(answer['data']) : answer };
}

const aPaymaster = (name: string) => ({ name, chainId, type: 'HYBRID', version: '1.1.0' });
const aLimit = (paymaster: string, name: string) => ({
  paymasterRef: { name: paymaster },
  name,
  policyType: 'PAYMASTER_SA_LIMIT',
  spendingLimit: {
    scope: 'PAYMASTER',
    cycleDuration: { value: 1, unit: 'day' },
    threshold: '10',
    thresholdType: 'COUNT',
  },
});
const aContract = (paymaster: string, address = '0x00000000000000000000000000000000000000C1') => ({
  paymasterRef: { name: paymaster },
  name: address,
  address,
  abi: anAbi,
  whitelistedMethods: ['mint'],
});

/** That a manifest declares. */
const declared = (name: string, host = operated): Promise<unknown> =>
  host.resources.apply({
    manager: 'argocd',
    kind: 'Paymaster',
    key: { namespace: 'acme', name },
    spec: aPaymaster(name) as never,
  });
/** A paymaster with a contract, a policy, and a policy that a manifest declares. */
const family = async (name: string, host = operated): Promise<void> => {
  const spec = aPaymaster(name);
  expect(await ask('POST', '/paymasters', { name, spec }, host)).toMatchObject({ status: 201 });
  const policy = { name: `${name}-daily`, spec: aLimit(name, 'daily') };
  expect(await ask('POST', '/policies', policy, host)).toMatchObject({ status: 201 });
  const contract = { name: `${name}-nft`, spec: aContract(name) };
  expect(await ask('POST', '/contracts', contract, host)).toMatchObject({ status: 201 });
  await host.resources.apply({
    manager: 'argocd',
    kind: 'PaymasterPolicy',
    key: { namespace: 'acme', name: `${name}-declared` },
    spec: aLimit(name, 'declared') as never,
  });
};
const left = async (name: string, host = operated): Promise<readonly unknown[]> => {
  const lists = await Promise.all(
    ['paymasters', 'contracts', 'policies'].map((path) => ask('GET', `/${path}?limit=500`, undefined, host)),
  );
  const names = lists.flatMap(({ data }) => recordsOf(data['items']).map((each) => String(each['name'])));
  return names.filter((each) => each === name || each.startsWith(`${name}-`));
};
const declaredOf = (name: string) => [
  { kind: 'PaymasterPolicy', name: `${name}-declared`, manager: 'argocd' },
];

test('keeps what a manifest declares, and lists it before and after', async () => {
  await family('manifold');
  const ends = {
    contracts: { count: 1, names: ['manifold-nft'] },
    policies: { count: 1, names: ['manifold-daily'] },
  };
  const answer = { cascade: true, ends, stays: declaredOf('manifold') };
  const asked = await ask('DELETE', '/paymasters/manifold?cascade=true&dryRun=true');
  expect(asked).toMatchObject({ status: 200, data: { ...answer, dryRun: true } });
  expect(await left('manifold')).toHaveLength(4);
  const done = await ask('DELETE', '/paymasters/manifold?cascade=true');
  expect(done).toMatchObject({ status: 200, data: { ...answer, dryRun: false } });
  expect(await left('manifold')).toEqual(['manifold-declared']);
});

test('takes another call that goes on where one was cut off, and then is unknown', async () => {
  await family('halved');
  await operated.resources.delete('Paymaster', { namespace: 'acme', name: 'halved' });
  expect(await ask('DELETE', '/paymasters/halved')).toMatchObject({ status: 404 });
  const again = await ask('DELETE', '/paymasters/halved?cascade=true');
  expect(again).toMatchObject({ status: 200, data: { stays: declaredOf('halved') } });
  expect(await left('halved')).toEqual(['halved-declared']);
  expect(await ask('DELETE', '/paymasters/halved?cascade=true')).toMatchObject({ status: 404 });
});

test('loses no policy while it is still served', async () => {
  await family('served', alone);
  const paymasterId = derivePaymasterId('acme', 'served');
  await alone.configs.putPaymaster(aPaymasterConfig({ paymasterId }));
  expect(await ask('DELETE', '/paymasters/served?cascade=true', undefined, alone)).toMatchObject({
    status: 503,
    data: { detail: expect.stringContaining('repeat the call') },
  });
  expect(await left('served', alone)).toEqual(['served-nft', 'served-daily', 'served-declared']);
  await alone.configs.deletePaymaster(paymasterId);
  expect(await ask('DELETE', '/paymasters/served?cascade=true', undefined, alone)).toMatchObject({
    status: 200,
  });
  expect(await left('served', alone)).toEqual(['served-declared']);
});

test('takes no policy from a paymaster that is made again meanwhile', async () => {
  await family('renewed', alone);
  const { resources } = alone;
  const beside = await alone.beside({
    resources: {
      get: (...what) => resources.get(...what),
      list: (...what) => resources.list(...what),
      page: (...what) => resources.page(...what),
      apply: (request) => resources.apply(request),
      delete: async (kind, key, condition) => {
        await resources.delete(kind, key, condition);
        if (kind === 'Paymaster') await declared('renewed', alone);
      },
    },
  });
  const answer = await beside.fetch(`${managePrefix}/paymasters/renewed?cascade=true`, {
    method: 'DELETE',
    headers: { Authorization: `Bearer ${acmeToken}` },
  });
  expect(answer.status).toBe(412);
  expect(await left('renewed', alone)).toHaveLength(4);
});

test('is kept when a manifest declares it, with all that belongs to it', async () => {
  await declared('declared');
  const policy = { name: 'declared-daily', spec: aLimit('declared', 'daily') };
  expect(await ask('POST', '/policies', policy)).toMatchObject({ status: 201 });
  const refused = await ask('DELETE', '/paymasters/declared?cascade=true');
  expect(refused).toMatchObject({ status: 409, data: { code: 'FIELD_OWNED' } });
  expect(await left('declared')).toEqual(['declared', 'declared-daily']);
});
