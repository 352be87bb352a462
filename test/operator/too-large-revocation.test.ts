import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { parseAddress, toAddressKey } from '../../core/units/address.js';
import { anOrganisation, aPaymaster, aSmartContract } from '../build/resources.js';
import { startWorld, type World } from './world.js';
import { aReplica, keyHash, owner } from './tenants.js';

// A tenant makes his configuration too large, so that the last good one is kept, and then the platform revokes its permission to
// draw on a wallet. The kept config still had the wallet, which paid again as soon as the tenant deleted spec.funding.

const abi = JSON.stringify(
  Array.from({ length: 1000 }, (_, index) => ({ name: `method${index}`, inputs: [] })),
);
const large = (index: number) =>
  aSmartContract({
    meta: { name: `c${index}` },
    name: `C${index}`,
    address: `0x${(index + 1).toString(16).padStart(40, '0')}`,
    abi,
    whitelistedMethods: Array.from({ length: 1000 }, (_, method) => `method${method}`),
  });
const vouching = anOrganisation({ fundingAddresses: [owner.address] });

let world: World;
beforeEach(async () => {
  world = await startWorld();
  await world.apply(vouching, aPaymaster({ funding: { address: owner.address } }), large(0));
  await world.until('it is served', async () => (await world.config('shop'))?.contracts.length === 1);
  for (let index = 1; index < 50; index += 1) await world.apply(large(index));
  await world.until('it is too large', async () => {
    const { status } = await world.get('Paymaster', 'shop');
    return status?.conditions?.find(({ type }) => type === 'Programmed')?.reason === 'TooLarge';
  });
});
afterEach(() => world.close());

test('a wallet that is revoked meanwhile is not drawn on, also after the tenant removes it from the spec', async () => {
  const { view } = await aReplica(world);
  await world.apply(anOrganisation());
  await world.until('it is not served', async () => (await world.config('shop'))?.notReady !== undefined);
  expect(view.find(keyHash(1))?.notReady?.reason).toBe('FundingNotProven');
  await world.apply(aPaymaster());
  await world.until('it is accepted', async () => (await world.config('shop'))?.notReady === undefined);
  await world.settle();
  expect((await world.config('shop'))?.fundingAddress).toBeUndefined();
  expect(view.find(keyHash(1))?.fundingAddress).toBeUndefined();
});

test('until the wallet is revoked the paymaster goes on with the contracts that fitted', async () => {
  const { view } = await aReplica(world);
  expect(view.find(keyHash(1))?.fundingAddress).toBe(toAddressKey(parseAddress(owner.address)));
  expect((await world.config('shop'))?.contracts.length).toBeGreaterThan(0);
});
