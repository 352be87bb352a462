import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { handleOps } from '../chain/support/handle-ops.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { until } from '../support/until.js';
import { startService, type Served, type Service } from './support/service.js';
import { onReplicas, type StoreKind } from './support/stores.js';
import { aDeployedAccount, ask, increment } from './support/wallet.js';

// A platform suspends a paymaster. One replica is cut off from the configs and does not know: it went on signing for
// up to six hours.

const version = 'singleton-0.7';
const sponsored = { mode: 'SPONSORED' };
const third = 2;

let service: Service;
let shop: Served;
let neighbour: Served;

const asked = async (url: string) => {
  const account = await aDeployedAccount(service.devChain, version);
  const op = await buildUserOp(account, [increment(service.devChain)]);
  return ask(url, op, sponsored, account);
};

/** The control: an operation that the replica signs is mined. */
async function serves(url: string): Promise<void> {
  const { reason, signed } = await asked(url);
  expect(reason).toBeUndefined();
  if (signed === undefined) throw new Error('nothing was signed');
  const { events } = await handleOps(service.devChain, '0.7', [signed]);
  expect(events).toMatchObject([{ success: true }]);
}

async function start(store: StoreKind): Promise<void> {
  service = await startService(store, { versions: [version] });
  shop = await service.paymaster('shop');
  neighbour = await service.paymaster('neighbour');
}
afterEach(() => service.stop());

describe('on three replicas on PostgreSQL, of which one is cut off from the configs', () => {
  beforeEach(async () => {
    await start('three replicas on PostgreSQL');
    await serves(shop.urlAt(third));
    await serves(neighbour.urlAt(third));
    service.cutOff(third);
    await serves(shop.urlAt(third));
  });

  test.each<{ name: string; stop: () => Promise<unknown> }>([
    { name: 'a paymaster that is suspended', stop: () => service.paymaster('shop', { suspended: true }) },
    { name: 'a paymaster that is deleted', stop: () => service.deletePaymaster('shop') },
    {
      name: 'a paymaster whose key is taken away',
      stop: () => service.paymaster('shop', { keys: [{ sha256: '0'.repeat(64) }] }),
    },
  ])(
    '$name is refused by the fence in the usage store, and its neighbour is served there',
    async ({ stop }) => {
      await stop();
      await until(
        'the cut-off replica is refused',
        async () => (await asked(shop.urlAt(third))).signed === undefined,
      );
      expect((await asked(shop.urlAt(third))).answer.error).toMatchObject({ code: -32003 });
      expect((await asked(shop.urlAt(third))).signed).toBeUndefined();
      await serves(neighbour.urlAt(third));
    },
  );

  test('a chain that is suspended is refused there for every paymaster', async () => {
    await service.changeChain((chain) => ({ ...chain, suspended: true }));
    await until(
      'the cut-off replica is refused',
      async () => (await asked(shop.urlAt(third))).signed === undefined,
    );
    expect((await asked(neighbour.urlAt(third))).answer.error).toMatchObject({ code: -32003 });
  });
});

describe.each(onReplicas)('on %s', (store) => {
  test('suspended in the usage store itself, while nobody can change configs, a paymaster signs nothing until it is resumed', async () => {
    await start(store);
    const { chainId } = service.devChain;
    await service.usage.setSuspended(chainId, 'shop', true);
    for (const replica of [0, 1, third]) {
      expect((await asked(shop.urlAt(replica))).signed).toBeUndefined();
      await serves(neighbour.urlAt(replica));
    }
    await service.usage.setSuspended(chainId, 'shop', false);
    await serves(shop.url);
  });
});
