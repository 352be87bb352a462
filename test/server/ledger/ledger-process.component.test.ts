import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createSqliteLedger } from '../../../adapters/ledger/sqlite/ledger.js';
import { formatDecision } from '../../../core/ledger/decision-text.js';
import { silentLogger } from '../../../core/log.js';
import { systemClock, type EpochMs } from '../../../core/units/time.js';
import { parseLedgerConfig } from '../../../server/ledger-config.js';
import { startLedgerProcess } from '../../../server/ledger-process.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import { openStore } from '../../adapters/usage/redis-usage.js';
import { aKey, aRequest } from '../../conformance/usage-requests.js';
import { startPostgres } from '../../support/postgres.js';
import { startRedis, type RedisServer } from '../../support/redis.js';
import { until } from '../../support/until.js';
import { aDecision } from './decisions.js';

let redis: RedisServer;
const directory = mkdtempSync(join(tmpdir(), 'ledger-process-'));
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  await redis.stop();
  rmSync(directory, { recursive: true, force: true });
});

test('moves what replicas record from Redis to the ledger, shows it in its metrics, and stores what waits when it stops', async () => {
  const usage = await openStore(redis.url, { keyPrefix: 'paymaster:' });
  const ids = createRecordIds(systemClock);
  const sign = async (nonce: bigint): Promise<string> => {
    const stamp = ids.next();
    const text = formatDecision(aDecision({ ...stamp, nonce }));
    const record = { id: stamp.id, text };
    const { outcome } = await usage.reserve(aRequest({ key: aKey({ nonce }), record }));
    expect(outcome).toBe('reserved');
    return stamp.id;
  };
  const running = await startLedgerProcess(
    parseLedgerConfig({
      HOST: '127.0.0.1',
      PORT: '0',
      PAYMASTER_USAGE_STORE_URL: redis.url,
      PAYMASTER_LEDGER_URL: `file:${directory}`,
    }),
    silentLogger,
  );
  const ask = (path: string) => fetch(`http://127.0.0.1:${running.port}${path}`);
  const wanted = [await sign(1n), await sign(2n)];
  await until('two decisions are stored', async () =>
    (await (await ask('/metrics')).text()).includes('paymaster_ledger_stored_total{kind="decision"} 2'),
  );
  expect((await ask('/readyz')).status).toBe(200);
  expect((await ask('/api/v1/usage')).status).toBe(404);
  wanted.push(await sign(3n));
  await running.stop();
  await running.stop();
  expect(await usage.feed.state()).toMatchObject({ length: 0, bytes: 0 });
  await usage.stop();

  const ledger = await createSqliteLedger({ directory, durability: 'process' });
  const range = { from: 0 as EpochMs, to: Number.MAX_SAFE_INTEGER as EpochMs };
  const { decisions } = await ledger.decisions({ organisation: 'acme', ...range, limit: 10 });
  await ledger.stop();
  expect(decisions.map(({ decision: { id } }) => id)).toEqual(wanted.toReversed());
});

test('what is signed while PostgreSQL is away waits in Redis, and is stored when PostgreSQL is back', async () => {
  const postgres = await startPostgres();
  try {
    const url = await postgres.createDatabase();
    const usage = await openStore(redis.url, { keyPrefix: 'away:' });
    const ids = createRecordIds(systemClock);
    const sign = async (nonce: bigint): Promise<string> => {
      const stamp = ids.next();
      const record = { id: stamp.id, text: formatDecision(aDecision({ ...stamp, nonce })) };
      const { outcome } = await usage.reserve(aRequest({ key: aKey({ nonce }), record }));
      expect(outcome).toBe('reserved');
      return stamp.id;
    };
    const running = await startLedgerProcess(
      parseLedgerConfig({
        HOST: '127.0.0.1',
        PORT: '0',
        PAYMASTER_USAGE_STORE_URL: redis.url,
        PAYMASTER_USAGE_STORE_KEY_PREFIX: 'away:',
        PAYMASTER_LEDGER_URL: url,
      }),
      silentLogger,
    );
    const ask = async (path: string): Promise<Response> => fetch(`http://127.0.0.1:${running.port}${path}`);
    const isEmpty = async (): Promise<boolean> => (await usage.feed.state()).length === 0;
    const wanted = [await sign(1n)];
    await until('the first decision is stored', isEmpty);
    await postgres.kill();
    wanted.push(await sign(2n), await sign(3n));
    await until('the process is not ready', async () => (await ask('/readyz')).status === 503);
    expect(await isEmpty()).toBe(false);
    await postgres.start();
    await until('all decisions are stored', isEmpty);
    expect((await ask('/readyz')).status).toBe(200);
    await running.stop();
    await usage.stop();
    const rows = await postgres.query(url, 'SELECT id FROM ledger.decisions ORDER BY id');
    expect(rows.map(({ id }) => id)).toEqual(wanted);
  } finally {
    await postgres.stop();
  }
});
