import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { derivePolicyId } from '../../core/config/ids.js';
import { deriveApiKey } from '../../core/config/api-key.js';
import type { Kind } from '../../core/resources/kinds.js';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { acmeToken, chainId, recordOf } from '../build/dashboard.js';
import { masterKeys } from '../build/operator.js';
import { anAbi } from '../build/resources.js';
import { useDashboard } from '../support/use-dashboard.js';

// Where a manifest owns `active`, a token with `write` can neither pause a rule nor make it worthless by another field.

const host = useDashboard();

async function patch(path: string, spec: object) {
  const response = await host.fetch(`${managePrefix}${path}`, {
    method: 'PATCH',
    headers: { Authorization: `Bearer ${acmeToken}` },
    body: JSON.stringify({ spec }),
  });
  const answer = recordOf(JSON.parse(await response.text()));
  return { status: response.status, answer };
}

const objects = { paymasters: 'Paymaster', contracts: 'SmartContract', policies: 'PaymasterPolicy' } as const;

async function declare<K extends Kind>(kind: K, name: string, spec: object): Promise<void> {
  await host.resources.apply({
    manager: 'argocd',
    kind,
    key: { namespace: 'acme', name },
    spec: spec as never,
  });
}

let rounds = 0;

/** A paymaster with a rule of each form, as Git declares them; `active` is in Git, or left out. */
async function declareShop(isActiveInGit: boolean): Promise<string> {
  rounds += 1;
  const shop = `shop-${rounds}`;
  const paymasterRef = { name: shop };
  const active = isActiveInGit ? { active: true } : {};
  await declare('Paymaster', shop, { name: shop, chainId, type: 'HYBRID', version: '1.1.0' });
  await declare('SmartContract', shop, {
    paymasterRef,
    name: 'nft',
    address: '0x00000000000000000000000000000000000000C1',
    abi: anAbi,
    ...active,
  });
  const rule = { paymasterRef, ...active };
  const cycleDuration = { value: 1, unit: 'day' };
  await declare('PaymasterPolicy', shop, {
    ...rule,
    name: 'daily',
    policyType: 'PAYMASTER_SA_LIMIT',
    spendingLimit: { scope: 'PAYMASTER', cycleDuration, threshold: '10', thresholdType: 'COUNT' },
  });
  await declare('PaymasterPolicy', `${shop}-monthly`, {
    ...rule,
    name: 'monthly',
    policyType: 'PAYMASTER_SA_LIMIT',
    spendingLimit: {
      scope: 'PAYMASTER',
      calendar: { every: 'month', timeZone: 'UTC' },
      threshold: '10',
      thresholdType: 'COUNT',
    },
  });
  await declare('PaymasterPolicy', `${shop}-hook`, {
    ...rule,
    name: 'hook',
    policyType: 'WEBHOOK',
    webhook: { url: 'https://rules.example.com/' },
  });
  await declare('PaymasterPolicy', `${shop}-window`, {
    ...rule,
    name: 'window',
    policyType: 'WINDOW',
    window: { until: '2036-01-01T00:00:00Z' },
  });
  return shop;
}

const changes = [
  { path: 'policies/', spec: { enforcement: 'Shadow' }, field: 'spec.enforcement' },
  { path: 'policies/', spec: { campaign: 'winter' }, field: 'spec.campaign' },
  {
    path: 'policies/',
    spec: { spendingLimit: { startTime: '2026-12-01T00:00:00Z' } },
    field: 'spec.spendingLimit.startTime',
  },
  {
    path: 'policies/-monthly',
    spec: { spendingLimit: { restartedAt: '2026-01-01T00:00:00Z' } },
    field: 'spec.spendingLimit.restartedAt',
  },
  { path: 'policies/-hook', spec: { webhook: { onError: 'Allow' } }, field: 'spec.webhook.onError' },
  { path: 'policies/-window', spec: { window: { appliesTo: ['ERC20'] } }, field: 'spec.window.appliesTo' },
  { path: 'contracts/', spec: { whitelistedMethods: ['mint'] }, field: 'spec.whitelistedMethods' },
  { path: 'paymasters/', spec: { withoutCampaign: 'Allow' }, field: 'spec.withoutCampaign' },
  { path: 'paymasters/', spec: { contractsEnforcement: 'Shadow' }, field: 'spec.contractsEnforcement' },
  { path: 'paymasters/', spec: { defaultContractAction: 'Allow' }, field: 'spec.defaultContractAction' },
];

test.each(changes)(
  "$field of $path is Git's where Git owns active, and REST's where not",
  async ({ path, spec, field }) => {
    const [noun = '', suffix = ''] = path.split('/');
    const kind = objects[noun as keyof typeof objects];
    const shop = await declareShop(true);
    const before = await host.resources.get(kind, { namespace: 'acme', name: `${shop}${suffix}` });
    const refused = await patch(`/${noun}/${shop}${suffix}`, spec);
    expect(refused).toMatchObject({ status: 409 });
    expect(refused.answer['message'] ?? refused.answer['detail']).toContain(`${field} is owned by "argocd"`);
    expect(parse(String(refused.answer['manifest']))).toMatchObject({ kind, spec });
    expect(await host.resources.get(kind, { namespace: 'acme', name: `${shop}${suffix}` })).toEqual(before);

    const open = await declareShop(false);
    expect(await patch(`/${noun}/${open}${suffix}`, spec)).toMatchObject({ status: 200 });
  },
);

test('the document restarts no cycle where Git owns active', async () => {
  const update = async (shop: string): Promise<number> => {
    const key = deriveApiKey(masterKeys.current, { namespace: 'acme', name: shop, keyGeneration: 1 });
    const path = `/paymaster-policy/limit/${derivePolicyId('acme', shop)}`;
    return (await host.call('PATCH', path, { token: acmeToken, key, body: { threshold: 10 } })).status;
  };
  expect(await update(await declareShop(true))).toBe(409);
  expect(await update(await declareShop(false))).toBe(200);
});

test('what widens nothing stays as it was', async () => {
  const shop = await declareShop(true);
  expect(await patch(`/policies/${shop}-hook`, { webhook: { keyGeneration: 2 } })).toMatchObject({
    status: 200,
  });
  expect(await patch(`/paymasters/${shop}`, { suspended: true })).toMatchObject({ status: 200 });
});
