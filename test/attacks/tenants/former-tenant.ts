import { beforeAll, expect, test } from '@jest/globals';
import { buildUserOp } from '../../chain/support/user-op.js';
import { until } from '../../support/until.js';
import { fundSponsor, proofOfSponsor } from '../support/sponsor-wallet.js';
import {
  aShop,
  namespace,
  servesEverywhere,
  theOrganisation,
  version,
  type TenantWorld,
} from '../support/tenant-world.js';
import { aDeployedAccount, ask, expectServed, increment, type Asked } from '../support/wallet.js';

// A namespace is given to another tenant. The former tenant still has the apiKey, and the next one presents the public proof that a
// wallet of the former tenant signed. For webhook keys, and deletions right after the change, see ../../operator/next-tenant.

export function formerTenant(world: TenantWorld): void {
  let former: readonly string[];
  const next = `${namespace}@2`;
  beforeAll(async () => {
    await fundSponsor(world.devChain, version);
    await world.apply(
      ...aShop(world, 'inherited', {
        funding: proofOfSponsor(world.devChain, version, { tenant: namespace, paymaster: 'inherited' }),
      }),
      ...aShop(world, 'plain'),
    );
    for (const name of ['inherited', 'plain']) await servesEverywhere(world, name);
    former = [...world.urls('inherited'), ...world.urls('plain')];
    await world.apply(theOrganisation({ tenantGeneration: 2 }));
  }, 600_000);

  test('keys of the former tenant are unknown to every replica', async () => {
    for (const url of former)
      await until('the key is unknown', async () => (await asked(url)).answer.status === 401);
  }, 600_000);

  test('the next tenant cannot draw on the wallet with its old proof, and is served without it', async () => {
    await until('there is a new key', () => !former.includes(world.urls('plain')[0] ?? former[0]!));
    await servesEverywhere(world, 'plain');
    const url = () => world.urls('inherited')[0] ?? former[0]!;
    // Not ready, since the proof was made for another tenant.
    await until('the wallet is not drawn on', async () => (await asked(url())).answer.error?.code === -32006);
    for (const replica of world.urls('inherited')) expect((await asked(replica)).signed).toBeUndefined();
  }, 600_000);

  test('a wallet that the next tenant proves pays for its operations', async () => {
    const funding = proofOfSponsor(world.devChain, version, { tenant: next, paymaster: 'inherited' });
    await world.apply(...aShop(world, 'inherited', { funding }));
    await until(
      'it is served',
      async () => (await asked(world.urls('inherited')[0] ?? former[0]!)).signed !== undefined,
    );
    for (const url of world.urls('inherited')) await expectServed(world.devChain, version, url);
  }, 600_000);

  async function asked(url: string): Promise<Asked> {
    const account = await aDeployedAccount(world.devChain, version);
    return ask(url, await buildUserOp(account, [increment(world.devChain)]), { mode: 'SPONSORED' }, account);
  }
}
