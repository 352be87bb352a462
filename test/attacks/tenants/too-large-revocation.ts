import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { buildUserOp } from '../../chain/support/user-op.js';
import { until } from '../../support/until.js';
import { fundSponsor, sponsor } from '../support/sponsor-wallet.js';
import {
  anObject,
  aShop,
  servesEverywhere,
  theOrganisation,
  version,
  type TenantWorld,
} from '../support/tenant-world.js';
import { aDeployedAccount, ask, increment } from '../support/wallet.js';

// A tenant makes his configuration too large, so that the last good one is kept, and then the platform revokes its permission to
// draw on a wallet. The kept config still had the wallet, which paid again as soon as the tenant deleted spec.funding.

const methods = Array.from({ length: 1000 }, (_, index) => `method${index}`);
const abi = JSON.stringify(methods.map((name) => ({ type: 'function', name, inputs: [] })));
const large = (index: number) =>
  anObject('SmartContract', `large-${index}`, {
    paymasterRef: { name: 'overlarge' },
    name: `Large ${index}`,
    address: `0x${(index + 0x1000).toString(16).padStart(40, '0')}`,
    abi,
    whitelistedMethods: methods,
  });
/** Together larger than a compiled config may be. */
const contracts = Array.from({ length: 50 }, (_, index) => large(index));
const wallet = sponsor.address.slice(2).toLowerCase();

export function tooLargeRevocation(world: TenantWorld): void {
  beforeAll(async () => {
    await fundSponsor(world.devChain, version);
    await world.apply(
      theOrganisation({ fundingAddresses: [sponsor.address] }),
      ...aShop(world, 'overlarge', { funding: { address: sponsor.address } }),
      ...aShop(world, 'neighbour'),
    );
    for (const name of ['overlarge', 'neighbour']) await servesEverywhere(world, name);
    await world.apply(...contracts);
    await until(
      'it is too large',
      () => world.says('Paymaster', 'overlarge').includes('compiled form is over'),
      900_000,
    );
  }, 1_800_000);
  afterAll(async () => {
    await world.remove('Paymaster', 'overlarge');
    await world.remove('SmartContract', ...contracts.map(({ metadata }) => metadata.name));
  });

  test('a wallet that is revoked meanwhile is not drawn on, also after the tenant removes it from the spec', async () => {
    // Until the permission is revoked, the paymaster goes on with the contracts that fitted, and its wallet pays.
    for (const url of world.urls('overlarge')) expect(await signedData(url)).toContain(wallet);

    await world.apply(theOrganisation({ fundingAddresses: [] }));
    for (const url of world.urls('overlarge'))
      await until('it is refused', async () => (await signedData(url)) === '');
    await servesEverywhere(world, 'neighbour');

    const [withoutFunding] = aShop(world, 'overlarge');
    await world.apply(withoutFunding!);
    // Now the deposit of the contract pays, for the contracts that are still kept.
    await servesEverywhere(world, 'overlarge');
    for (const url of world.urls('overlarge'))
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
}
