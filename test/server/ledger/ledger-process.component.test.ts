import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { packDecision } from '../../../core/ledger/packed-decision.js';
import { silentLogger } from '../../../core/log.js';
import { systemClock, type EpochMs } from '../../../core/units/time.js';
import { parseLedgerConfig } from '../../../server/ledger-config.js';
import { startLedgerProcess } from '../../../server/ledger-process.js';
import { openLedger } from '../../../server/ledger-store.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import { openStore } from '../../adapters/usage/postgres-usage.js';
import { aKey, aRequest } from '../../conformance/usage-requests.js';
import { startPostgres, type PostgresServer } from '../../support/postgres.js';
import { until } from '../../support/until.js';
import { aDecision } from './decisions.js';

// The role ledger between a real usage store and a real place for the ledger.

let store: PostgresServer;
let postgres: PostgresServer;
const directory = mkdtempSync(join(tmpdir(), 'ledger-process-'));
const ids = createRecordIds(systemClock);
let nonce = 0n;

beforeAll(async () => {
  store = await startPostgres();
  postgres = await startPostgres();
}, 120_000);
afterAll(async () => {
  await store.stop();
  await postgres.stop();
  rmSync(directory, { recursive: true, force: true });
});

test('moves what replicas record from PostgreSQL to files, shows it in its metrics, and stores what waits when it stops', async () => {
  const world = await open(`file:${directory}`);
  const { ask } = world;
  const wanted = [await world.sign(), await world.sign()];
  await world.stored(2);
  expect((await ask('/readyz')).status).toBe(200);
  expect((await ask('/api/v1/usage')).status).toBe(404);
  wanted.push(await world.sign());
  await world.stop();
  expect(await world.decided()).toEqual(wanted);
});

test('a PostgreSQL that is killed holds up no signature, and afterwards has each of them once', async () => {
  const world = await open(await postgres.createDatabase());
  const wanted = [await world.sign(), await world.sign()];
  await world.stored(2);
  await postgres.kill();
  for (let each = 0; each < 20; each += 1) wanted.push(await world.sign());
  await world.failed();
  expect(await world.usage.feed.state()).toMatchObject({ length: 20 });
  await postgres.start();
  await world.stored(22);
  await world.stop();
  expect(await world.decided()).toEqual(wanted);
});

/** A replica's usage store, and a process of the role ledger. */
async function open(url: string) {
  const database = await store.createDatabase();
  const config = parseLedgerConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    PAYMASTER_DATABASE_URL: database,
    PAYMASTER_LEDGER_URL: url,
  });
  const usage = await openStore(database);
  const running = await startLedgerProcess(config, silentLogger);
  const ask = (path: string) => fetch(`http://127.0.0.1:${running.port}${path}`);
  const metric = async (name: string): Promise<number> => {
    const line = (await (await ask('/metrics')).text()).split('\n').find((each) => each.startsWith(name));
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  return {
    usage,
    ask,
    /** Makes a reservation with its record; answers the record's id. */
    async sign(): Promise<string> {
      nonce += 1n;
      const stamp = ids.next();
      const record = { id: stamp.id, text: packDecision(aDecision({ ...stamp, nonce })) };
      const { outcome } = await usage.reserve(aRequest({ key: aKey({ nonce }), limits: [], record }));
      expect(outcome).toBe('reserved');
      return stamp.id;
    },
    stored: (count: number) =>
      until(
        `${count} decisions are stored`,
        async () => (await metric('paymaster_ledger_stored_total{kind="decision"}')) >= count,
      ),
    failed: () =>
      until('the ledger fails', async () => (await metric('paymaster_ledger_failures_total')) > 0),
    async stop(): Promise<void> {
      await running.stop();
      await running.stop();
      expect(await usage.feed.state()).toMatchObject({ length: 0, bytes: 0 });
      await usage.stop();
    },
    /** Ids of the decisions in the ledger, in their order. */
    async decided(): Promise<readonly string[]> {
      const ledger = await openLedger(config.ledger);
      const range = { from: 0 as EpochMs, to: (Date.now() + 60_000) as EpochMs };
      const { decisions } = await ledger.decisions({ organisation: 'acme', ...range, limit: 100 });
      await ledger.stop();
      return decisions.map(({ decision: { id } }) => id).toReversed();
    },
  };
}
