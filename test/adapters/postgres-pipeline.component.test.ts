import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parsePostgresUrl } from '../../adapters/postgres/address.js';
import { ConnectionLost, openPipeline, type Pipeline } from '../../adapters/postgres/pipeline.js';
import { sharedPostgres, type SharedPostgres } from '../support/postgres.js';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');
const timeoutMs = 60_000;

let server: SharedPostgres;
let pipeline: Pipeline;

beforeAll(async () => {
  server = await sharedPostgres();
  const address = parsePostgresUrl('url', server.url);
  pipeline = await openPipeline({ address }, { settings: {}, connectTimeoutMs: timeoutMs });
});
afterAll(async () => {
  await pipeline.end();
  await server.stop();
});

test('a connection does not keep the answers that it has given', async () => {
  const ask = async () => {
    const { answers } = await pipeline.trip([{ name: 'one', text: 'SELECT 1 AS one' }], timeoutMs);
    expect(answers[0]?.rows).toEqual([{ one: 1 }]);
    return new WeakRef(answers[0]!.rows);
  };
  const asked = [await ask(), await ask(), await ask()];
  // The last result is pg's own, until the next one.
  await ask();
  await turn();
  collectGarbage();
  expect(asked.filter((each) => each.deref() !== undefined)).toEqual([]);
});

test('a trip that is under way when the connection is given up ends at once', async () => {
  const address = parsePostgresUrl('url', server.url);
  const lost = await openPipeline({ address }, { settings: {}, connectTimeoutMs: timeoutMs });
  const trip = lost.trip([{ name: 'sleep', text: 'SELECT pg_sleep(3600)' }], timeoutMs);
  lost.destroy();
  await expect(trip).rejects.toBeInstanceOf(ConnectionLost);
  expect(lost.isOpen).toBe(false);
});
