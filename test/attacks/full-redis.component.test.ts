import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { buildAccount } from '../chain/support/account.js';
import { handleOps } from '../chain/support/handle-ops.js';
import { buildUserOp, type SignedUserOp } from '../chain/support/user-op.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { until } from '../support/until.js';
import { startService, type Served, type Service } from './support/service.js';
import { aDeployedAccount, ask, askForNobody, increment } from './support/wallet.js';

// An attacker requests promises until Redis has no memory left. Redis then refused every script, also the one that frees memory, so
// it stayed full for ever. Redis only: the embedded store uses a disk, and a full disk is tested with that store.

const version = 'singleton-0.7';
const sponsored = { mode: 'SPONSORED' };
const promises = 400;

let redis: RedisServer;
let service: Service;
let attacker: Served;
let shop: Served;
beforeAll(async () => {
  redis = await startRedis();
  service = await startService('three replicas on Redis', { versions: [version], redis });
  attacker = await service.paymaster('attacker');
  shop = await service.paymaster('shop');
}, 300_000);
afterAll(async () => {
  await service.stop();
  await redis.stop();
});

test('a full Redis stops signing and goes on settling, and signs again when that has freed memory', async () => {
  const { devChain } = service;
  const honest: SignedUserOp[] = [];
  for (let nth = 0; nth < 3; nth += 1) honest.push(await signedFor(shop));
  const template = await buildUserOp(await buildAccount(devChain, '0.7'), [increment(devChain)]);
  const reasons = await askForNobody(() => attacker.url, template, { count: promises, mode: sponsored });
  expect(new Set(reasons)).toEqual(new Set([undefined]));

  // Redis becomes full part way through the promises: memory is freed only if they are released.
  const used = Number(/used_memory:(\d+)/.exec(await redis.command(['INFO', 'memory']))?.[1]);
  await redis.command(['CONFIG', 'SET', 'maxmemory', String(used - promises * 512)]);
  const refused = await ask(shop.url, await anOperation(), sponsored);
  expect(refused.answer.error).toMatchObject({
    code: -32003,
    data: { reason: 'USAGE_STORE_FULL', retryable: true },
  });

  // Operations that were signed before are mined and settled meanwhile; promises that nobody mines expire.
  const { events } = await handleOps(devChain, '0.7', honest);
  expect(events).toHaveLength(3);
  await service.settled(0, 'shop');
  await service.pass(700);
  await service.settled();
  await until('it signs again', async () => {
    const { signed } = await ask(
      shop.url,
      await anOperation(),
      sponsored,
      await buildAccount(devChain, '0.7'),
    );
    return signed !== undefined;
  });
});

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
