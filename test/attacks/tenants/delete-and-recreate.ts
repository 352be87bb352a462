import { beforeAll, expect, test } from '@jest/globals';
import { buildUserOp } from '../../chain/support/user-op.js';
import { until } from '../../support/until.js';
import { anObject, aShop, servesEverywhere, version, type TenantWorld } from '../support/tenant-world.js';
import { aDeployedAccount, ask, expectServed, increment, type Asked } from '../support/wallet.js';

// A tenant deletes objects and recreates them under the same names, to get back a rotated key or to count from zero.
// For windows and for deletions at other moments see ../operator/made-again.

export function deleteAndRecreate(world: TenantWorld): void {
  beforeAll(async () => {
    await world.apply(...aShop(world, 'neighbour'));
    await servesEverywhere(world, 'neighbour');
  }, 600_000);

  test('a recreated Paymaster does not accept its rotated key, and goes on with the last one', async () => {
    const rotated = aShop(world, 'boutique', { keyGeneration: 2 });
    const first = aShop(world, 'boutique');
    await world.apply(...first);
    await servesEverywhere(world, 'boutique');
    const [stolen] = world.urls('boutique');
    await world.apply(...rotated);
    await until('the key is rotated', () => world.urls('boutique')[0] !== stolen);
    await servesEverywhere(world, 'boutique');
    await until('the old key is refused', async () => isUnknownKey(await asked(stolen!)));

    const last = world.urls('boutique');
    await world.remove('Paymaster', 'boutique');
    await until('it is gone', async () => isUnknownKey(await asked(last[0]!)));
    await world.apply(...first);
    for (const url of last)
      await until(
        'it is served again with its last key',
        async () => (await asked(url)).signed !== undefined,
      );
    for (const url of last) await expectServed(world.devChain, version, url);
    expect(isUnknownKey(await asked(stolen!))).toBe(true);
    await servesEverywhere(world, 'neighbour');
  }, 600_000);

  test('a limit that is recreated, alone or with its Paymaster, goes on counting', async () => {
    const shop = aShop(world, 'limited');
    const limit = anObject('PaymasterPolicy', 'limited-twice', {
      paymasterRef: { name: 'limited' },
      name: 'two a day',
      policyType: 'PAYMASTER_SA_LIMIT',
      spendingLimit: {
        scope: 'PAYMASTER',
        cycleDuration: { value: 30, unit: 'day' },
        threshold: '2',
        thresholdType: 'COUNT',
      },
    });
    await world.apply(limit, ...shop);
    await until('it has its key', () => world.urls('limited').length > 0);
    const url = world.urls('limited')[0]!;
    await until('it is served', async () => (await asked(url)).signed !== undefined);
    await until('the limit is full', async () => isFull(await asked(url)));

    await world.remove('PaymasterPolicy', 'limited-twice');
    await until('nothing is limited', async () => (await asked(url)).signed !== undefined);
    await world.apply(limit);
    await until('the limit is there again, as full as it was', async () => isFull(await asked(url)));

    for (const [kind, name] of [
      ['PaymasterPolicy', 'limited-twice'],
      ['Paymaster', 'limited'],
    ] as const)
      await world.remove(kind, name);
    await until('it is gone', async () => isUnknownKey(await asked(url)));
    await world.apply(limit, ...shop);
    await until('it is known again', async () => !isUnknownKey(await asked(url)));
    await until('the limit is as full as it was', async () => isFull(await asked(url)));
    await servesEverywhere(world, 'neighbour');
  }, 600_000);

  /** Each request is for another account, and its operation is not mined. */
  async function asked(url: string): Promise<Asked> {
    const account = await aDeployedAccount(world.devChain, version);
    return ask(url, await buildUserOp(account, [increment(world.devChain)]), { mode: 'SPONSORED' }, account);
  }
}

function isUnknownKey({ answer }: Asked): boolean {
  return answer.status === 401;
}

function isFull({ reason }: Asked): boolean {
  return reason === 'LIMIT_REACHED';
}
