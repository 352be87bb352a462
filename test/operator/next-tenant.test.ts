import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { derivePaymasterId } from '../../core/config/ids.js';
import { anOrganisation, aPaymaster, aPolicy } from '../build/resources.js';
import { startWorld, type World } from './world.js';
import { aReplica, fundingProof, keyHash, owner } from './tenants.js';

// A namespace is given to another tenant. The former tenant still has the apiKey and the webhook key, and the next one presents the
// public proof that a wallet of the former tenant signed.

let world: World;
beforeEach(async () => {
  world = await startWorld();
  const webhook = { url: 'https://host.example/' };
  await world.apply(
    aPaymaster({ funding: fundingProof('acme') }),
    aPolicy({ meta: { name: 'hook' }, name: 'Hook', policyType: 'WEBHOOK', webhook }),
  );
  await world.until('the former tenant is served', async () => (await latest('acme')) !== undefined);
});
afterEach(() => world.close());

const latest = async (tenant: string) =>
  (await world.configs.getPaymaster(derivePaymasterId(tenant, 'shop')))?.config;

test('key, proof and webhook key of the former tenant have become invalid', async () => {
  const { view } = await aReplica(world);
  const former = await latest('acme');
  expect(former?.fundingAddress).toBe(owner.address);
  expect(view.find(keyHash(1))).toBeDefined();

  await world.apply(anOrganisation({ tenantGeneration: 2 }));
  await world.until('the next tenant is served', async () => (await latest('acme@2')) !== undefined);
  await world.settle();
  expect(view.find(keyHash(1))).toBeUndefined();
  expect(await latest('acme')).toBeUndefined();
  const next = await latest('acme@2');
  expect(next).toMatchObject({ notReady: { reason: 'FundingNotProven' } });
  expect(next?.fundingAddress).toBeUndefined();
  expect(next?.webhooks[0]?.policyId).not.toBe(former?.webhooks[0]?.policyId);
});

test("the next tenant's proof and keys work", async () => {
  await world.apply(anOrganisation({ tenantGeneration: 2 }), aPaymaster({ funding: fundingProof('acme@2') }));
  const { view } = await aReplica(world);
  await world.until('the next tenant is served', () => view.find(keyHash(1, 'acme@2')) !== undefined);
  await world.settle();
  expect(await latest('acme@2')).toMatchObject({ fundingAddress: owner.address });
  expect((await latest('acme@2'))?.notReady).toBeUndefined();
});

test('deleting a Paymaster right after the change leaves nothing of the former tenant', async () => {
  const { view } = await aReplica(world);
  await world.apply(anOrganisation({ tenantGeneration: 2 }));
  await world.remove('Paymaster', 'shop');
  await world.until('nothing is served', async () => (await latest('acme')) === undefined);
  await world.settle();
  expect(await latest('acme@2')).toBeUndefined();
  expect(view.find(keyHash(1))).toBeUndefined();
});
