import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createStops, type Stops } from '../../adapters/process/stops.js';
import { aLimitConfig } from '../build/configs.js';
import { handleOps } from '../chain/support/handle-ops.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { until } from '../support/until.js';
import { aDirectory } from '../adapters/usage/sqlite-usage.js';
import { forward } from './support/forward.js';
import { startService, type Served, type Service } from './support/service.js';
import { aDeployedAccount, ask, increment } from './support/wallet.js';

// The usage store comes back without its last promises: from a backup, or as a standby that was promoted too early. It was
// taken for intact, and a limit of 5 let 8 operations through.

const version = 'singleton-0.7';
const sponsored = { mode: 'SPONSORED' };
const threshold = 5;

let stops: Stops;
let service: Service;
let shop: Served;
let neighbour: Served;
beforeEach(() => {
  stops = createStops();
});
afterEach(() => stops.run());

type Setting = {
  /** Takes a copy of the store's data. */
  backUp(): Promise<void>;
  /** Restores that copy. */
  bringBack(): Promise<void>;
};
const settings: readonly { readonly name: string; readonly start: () => Promise<Setting> }[] = [
  { name: 'the file of the embedded store is copied back', start: embedded },
  { name: 'PostgreSQL is restored from a backup', start: () => restored(false) },
  { name: 'PostgreSQL is restored, and every replica starts anew', start: () => restored(true) },
  { name: 'a standby is promoted that lacks the last writes', start: promotedStandby },
];

describe.each(settings)('$name', ({ start }) => {
  test('nothing is signed until every possible promise has expired, and then the limit still holds', async () => {
    const { backUp, bringBack } = await start();
    const limit = aLimitConfig({ policyId: 'five', thresholdType: 'COUNT', threshold: String(threshold) });
    shop = await service.paymaster('shop', { limits: [limit] });
    neighbour = await service.paymaster('neighbour');
    await serves(shop);
    await serves(shop);
    await service.settled();
    await backUp();
    // Replicas find a restarted server one after the other; one that has not yet answers -32003.
    for (let nth = 2; nth < threshold; nth += 1)
      await until('it signs after the backup', async () => (await asked(shop)).signed !== undefined);
    await until('the limit is reached', async () => {
      const { signed, reason } = await asked(shop);
      expect(signed).toBeUndefined();
      return reason === 'LIMIT_REACHED';
    });
    await bringBack();

    // Replicas come back to a restarted server one after the other; until then they sign nothing either.
    await until('every replica has noticed the loss', async () => {
      const answers = [];
      for (const served of [shop, neighbour, shop, neighbour, shop, neighbour])
        answers.push(await asked(served));
      expect(answers.map(({ signed }) => signed)).toEqual(answers.map(() => undefined));
      expect(answers.map(({ answer }) => answer.error?.code)).toEqual(answers.map(() => -32003));
      return answers.every(({ reason }) => reason === 'USAGE_STORE_LOST');
    });

    // The wait counts from the moment at which the loss was noted, so no time may pass before it.
    const { chainId } = service.devChain;
    await until('the loss is noted', async () => (await service.recovery.recover(chainId)) === 'waiting');
    await service.pass(3_600);
    await until('every replica signs again', async () => {
      const answers = [await asked(neighbour), await asked(neighbour), await asked(neighbour)];
      return answers.every(({ signed }) => signed !== undefined);
    });
    await serves(neighbour);
    // The usage of its window was lost, and unknown is not zero.
    expect((await asked(shop)).signed).toBeUndefined();
  });
});

async function asked({ url }: Served) {
  const { devChain } = service;
  const account = await aDeployedAccount(devChain, version);
  return ask(url, await buildUserOp(account, [increment(devChain)]), sponsored, account);
}

async function serves(served: Served): Promise<void> {
  const { reason, signed } = await asked(served);
  expect(reason).toBeUndefined();
  if (signed === undefined) throw new Error('nothing was signed');
  expect((await handleOps(service.devChain, '0.7', [signed])).events).toMatchObject([{ success: true }]);
}

async function embedded(): Promise<Setting> {
  const [data, backup] = [aDirectory(), aDirectory()];
  stops.add(data.remove);
  stops.add(backup.remove);
  service = await startService('the embedded store', { versions: [version], directory: data.path });
  stops.add(() => service.stop());
  return {
    backUp: () => service.restart(() => copy(data.path, backup.path)),
    bringBack: () => service.restart(() => copy(backup.path, data.path)),
  };
}

async function restored(startsAnew: boolean): Promise<Setting> {
  const postgres = await aPostgres();
  await onThreeReplicas(await postgres.createDatabase());
  const bringBack = () => postgres.putCopyBack();
  return {
    backUp: () => postgres.takeCopy(),
    bringBack: () => (startsAnew ? service.restart(bringBack) : bringBack()),
  };
}

async function promotedStandby(): Promise<Setting> {
  const primary = await aPostgres();
  const database = new URL(await primary.createDatabase());
  const standby = await primary.startStandby();
  stops.add(() => standby.stop());
  let port = primary.port;
  const name = await forward(() => port);
  stops.add(() => name.stop());
  database.port = String(name.port);
  await onThreeReplicas(database.href);
  return {
    async backUp() {
      await standby.caughtUp();
      await standby.promote();
    },
    async bringBack() {
      await primary.kill();
      port = standby.port;
      name.cut();
    },
  };
}

async function aPostgres(): Promise<PostgresServer> {
  const postgres = await startPostgres();
  stops.add(() => postgres.stop());
  return postgres;
}

async function onThreeReplicas(databaseUrl: string): Promise<void> {
  service = await startService('three replicas on PostgreSQL', { versions: [version], databaseUrl });
  stops.add(() => service.stop());
}

function copy(from: string, to: string): void {
  for (const file of readdirSync(to)) rmSync(join(to, file), { recursive: true });
  cpSync(from, to, { recursive: true });
}
