import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { once } from 'node:events';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { createPostgresUsageStore, openPostgresUsageStore } from '../../../adapters/store/postgres/usage.js';
import { silentLogger, type Logger } from '../../../core/log.js';
import { aRequest, chainId } from '../../conformance/usage-requests.js';
import { sharedPostgres, type SharedPostgres } from '../../support/postgres.js';
import { until } from '../../support/until.js';

// A loss or an outage fails a turn each second in every pod: the log has it once with its stack, and then by count.

let postgres: SharedPostgres;
let lines: string[] = [];
const log: Logger = { ...silentLogger, child: () => log, warn: note, error: note };
const stops: (() => unknown)[] = [];
beforeAll(async () => {
  postgres = await sharedPostgres();
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
  lines = [];
});
afterAll(() => postgres?.stop());

function note(message: string): void {
  lines.push(message);
}

test('a database that does not take connections is one line, however often it is tried', async () => {
  let tries = 0;
  const server: Server = createServer((socket) => {
    tries += 1;
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stops.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const address = parsePostgresUrl('url', `postgresql://a@127.0.0.1:${port}/b?sslmode=disable`);
  const store = createPostgresUsageStore({ client: { address }, identity: 'one', log });
  stops.push(() => store.stop());
  await until('it was tried five times', () => tries >= 5);
  expect(lines).toEqual(['usage store is not connected: nothing is signed']);
});

test('turns that fail because the usage data are lost are one line', async () => {
  const url = await postgres.createDatabase('tables');
  const store = await openPostgresUsageStore({
    client: { address: parsePostgresUrl('url', url) },
    identity: 'one',
    log,
  });
  stops.push(() => store.stop());
  await store.reserve(aRequest());
  await postgres.query(url, `UPDATE usage.chain SET epoch = gen_random_uuid() || ':0'`);
  const lost = expect.objectContaining({ details: expect.objectContaining({ reason: 'USAGE_STORE_LOST' }) });
  for (let turn = 1; turn <= 4; turn += 1) {
    const request = aRequest({ key: { nonce: BigInt(turn) } });
    await expect(store.reserve(request)).rejects.toEqual(lost);
    await expect(store.noteGenerations(chainId, [{ id: 'pm-1', generation: 1 + turn }])).rejects.toEqual(
      lost,
    );
  }
  const failed = lines.filter((line) => line.startsWith('a turn'));
  expect(failed).toEqual(['a turn of the usage store failed']);
});
