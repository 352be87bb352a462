import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { buildAccount } from '../chain/support/account.js';
import { handleOps } from '../chain/support/handle-ops.js';
import { buildUserOp, type SignedUserOp } from '../chain/support/user-op.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { createSmallDisk } from '../support/small-disk.js';
import { succeeds, until } from '../support/until.js';
import { startService, type Served, type Service } from './support/service.js';
import { aDeployedAccount, ask, askForNobody, increment } from './support/wallet.js';

// The disk of the database fills up while an attacker requests promises. PostgreSQL only: a full disk under the embedded store is tested
// with that store.

const version = 'singleton-0.7';
const sponsored = { mode: 'SPONSORED' };
const promises = 50;
const disk = createSmallDisk(250);

let postgres: PostgresServer;
let service: Service;
let attacker: Served;
let shop: Served;
beforeAll(async () => {
  if (disk === undefined) return;
  postgres = await startPostgres({ folder: disk.path });
  service = await startService('three replicas on PostgreSQL', {
    versions: [version],
    databaseUrl: await postgres.createDatabase(),
  });
  attacker = await service.paymaster('attacker');
  shop = await service.paymaster('shop');
});
afterAll(async () => {
  await service?.stop();
  await postgres?.stop();
  disk?.remove();
});

// Where nobody may mount a disk it cannot be filled.
const testOnDisk = disk === undefined ? test.skip : test;

testOnDisk(
  'a full disk stops signing and loses nothing: with room again all is settled and it signs',
  async () => {
    const { devChain } = service;
    const honest: SignedUserOp[] = [];
    for (let nth = 0; nth < 3; nth += 1) honest.push(await signedFor(shop));
    const template = await buildUserOp(await buildAccount(devChain, '0.7'), [increment(devChain)]);
    const fillBetween = askForNobody(() => attacker.url, template, { count: promises, mode: sponsored });
    disk?.fill();
    await fillBetween;
    await until('it refuses', async () => {
      const { answer } = await ask(shop.url, await anOperation(), sponsored);
      if (answer.error === undefined) return false;
      expect(answer.error).toMatchObject({ code: -32003, data: { retryable: true } });
      return true;
    });

    const { events } = await handleOps(devChain, '0.7', honest);
    expect(events).toHaveLength(3);
    disk?.free();
    await until('PostgreSQL answers', () => succeeds(postgres.start()));
    await service.settled(0, 'shop');
    await service.pass(700);
    await service.settled();
    await until(
      'it signs again',
      async () => (await ask(shop.url, await anOperation(), sponsored)).answer.error === undefined,
    );
  },
);

async function anOperation() {
  const { devChain } = service;
  return buildUserOp(await buildAccount(devChain, '0.7'), [increment(devChain)]);
}

async function signedFor({ url }: Served): Promise<SignedUserOp> {
  const { devChain } = service;
  const account = await aDeployedAccount(devChain, version);
  const { signed } = await ask(url, await buildUserOp(account, [increment(devChain)]), sponsored, account);
  if (signed === undefined) throw new Error('nothing was signed');
  return signed;
}
