import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { buildUserOp } from '../chain/support/user-op.js';
import { until } from '../support/until.js';
import { fundSponsor, sponsor } from './support/sponsor-wallet.js';
import {
  anObject,
  aShop,
  planes,
  servesEverywhere,
  startTenantWorld,
  theOrganisation,
  version,
  type TenantWorld,
} from './support/tenant-world.js';
import { aDeployedAccount, ask, increment } from './support/wallet.js';

// A tenant makes his configuration too large, so that the last good one is kept, and then the platform revokes its permission to
// draw on a wallet. The kept config still had the wallet, which paid again as soon as the tenant deleted spec.funding.

const methods = Array.from({ length: 1000 }, (_, index) => `method${index}`);
const abi = JSON.stringify(methods.map((name) => ({ type: 'function', name, inputs: [] })));
const large = (index: number) =>
  anObject('SmartContract', `large-${index}`, {
    paymasterRef: { name: 'boutique' },
    name: `Large ${index}`,
    address: `0x${(index + 0x1000).toString(16).padStart(40, '0')}`,
    abi,
    whitelistedMethods: methods,
  });
/** Together larger than a compiled config may be. */
const contracts = Array.from({ length: 50 }, (_, index) => large(index));
const wallet = sponsor.address.slice(2).toLowerCase();

describe.each(planes)('on %s', (plane) => {
  let world: TenantWorld;
  beforeAll(async () => {
    world = await startTenantWorld(plane);
    await fundSponsor(world.devChain, version);
    await world.apply(
      theOrganisation({ fundingAddresses: [sponsor.address] }),
      ...aShop(world, 'boutique', { funding: { address: sponsor.address } }),
      ...aShop(world, 'neighbour'),
    );
    for (const name of ['boutique', 'neighbour']) await servesEverywhere(world, name);
    await world.apply(...contracts);
    await until(
      'it is too large',
      () => world.says('Paymaster', 'boutique').includes('compiled form is over'),
      900_000,
    );
  }, 1_800_000);
  afterAll(() => world?.stop(), 240_000);

  test('a wallet that is revoked meanwhile is not drawn on, also after the tenant removes it from the spec', async () => {
    // Until the permission is revoked, the paymaster goes on with the contracts that fitted, and its wallet pays.
    for (const url of world.urls('boutique')) expect(await signedData(url)).toContain(wallet);

    await world.apply(theOrganisation({ fundingAddresses: [] }));
    for (const url of world.urls('boutique'))
      await until('it is refused', async () => (await signedData(url)) === '');
    await servesEverywhere(world, 'neighbour');

    const [withoutFunding] = aShop(world, 'boutique');
    await world.apply(withoutFunding!);
    // Now the deposit of the contract pays, for the contracts that are still kept.
    await servesEverywhere(world, 'boutique');
    for (const url of world.urls('boutique'))
      for (let nth = 0; nth < 20; nth += 1) {
        const data = await signedData(url);
        expect(data).not.toBe('');
        expect(data).not.toContain(wallet);
      }
    await servesEverywhere(world, 'neighbour');
  }, 600_000);

  /** The paymaster data; "" when the service signed nothing. */
  async function signedData(url: string): Promise<string> {
    const account = await aDeployedAccount(world.devChain, version);
    const op = await buildUserOp(account, [increment(world.devChain)]);
    const { signed } = await ask(url, op, { mode: 'SPONSORED' }, account);
    return signed?.paymasterAndData.toLowerCase() ?? '';
  }
});
