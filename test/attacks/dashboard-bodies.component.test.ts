import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from '@jest/globals';
import { acmeToken, createPaymaster, otherToken, prefix } from '../build/dashboard.js';
import { until } from '../support/until.js';
import { openRaw, unfinishedPost, type RawClient } from './support/sockets.js';
import { useDashboard } from '../support/use-dashboard.js';

// Bodies that never end, sent to the dashboard by strangers and by a tenant.
// One process: the limits are per process, so three processes allow three times as much.

const host = useDashboard();
const clients: RawClient[] = [];
afterEach(() => {
  for (const { socket } of clients.splice(0)) socket.destroy();
});

/** Sends `count` bodies of a megabyte, each without its last byte. */
async function attack(count: number, authToken: string, begun = 999_999): Promise<readonly RawClient[]> {
  const port = Number(new URL(host.origin).port);
  const text = unfinishedPost(`${prefix}/paymaster`, 1_000_000, begun, `authToken: ${authToken}\r\n`);
  clients.push(...(await Promise.all(Array.from({ length: count }, () => openRaw(port, text)))));
  return clients;
}

/** The honest control: another organisation, or the same one later, writes. */
async function serves(token: string, name: string): Promise<void> {
  expect((await createPaymaster(host, { token, name })).key).toEqual(expect.any(String));
}

test('bodies with an unknown authToken are answered before they are read, and the connections close', async () => {
  const strangers = await attack(100, 'nobody-token-0123456789');
  await until('all are answered', () => strangers.every(({ received }) => received() !== ''));
  await serves(acmeToken, 'meanwhile');
  await until('all are closed', () => strangers.every(({ isClosed }) => isClosed()));
  // 408 on a machine so busy that the time for a whole request is over first.
  for (const { received } of strangers) expect(received()).toMatch(/^HTTP\/1\.1 40[018] /);
});

test('one organisation holds a tenth of the body memory, the rest is 429 and closed; another one writes meanwhile', async () => {
  const greedy = await attack(100, acmeToken);
  const isTurnedAway = ({ received }: RawClient): boolean => received().startsWith('HTTP/1.1 429');
  await until('most are turned away', () => greedy.filter(isTurnedAway).length > 80);
  await serves(otherToken, 'meanwhile');
  await until('all are closed when their time is over', () => greedy.every(({ isClosed }) => isClosed()));
  expect(greedy.every(isTurnedAway)).toBe(true);
  await serves(acmeToken, 'afterwards');
});

test('compressed bodies count at their largest decompressed size', async () => {
  const bomb = gzipSync(JSON.stringify({ name: ' '.repeat(1_000_000) }));
  const head =
    `POST ${prefix}/paymaster HTTP/1.1\r\nhost: x\r\nauthToken: ${acmeToken}\r\ncontent-encoding: gzip\r\n` +
    `content-length: ${bomb.length}\r\n\r\n`;
  const port = Number(new URL(host.origin).port);
  // All of it but the last byte: some kilobytes that decompress to a megabyte.
  const begun = head + bomb.subarray(0, -1).toString('latin1');
  clients.push(...(await Promise.all(Array.from({ length: 20 }, () => openRaw(port, begun, 'latin1')))));
  const isTurnedAway = ({ received }: RawClient): boolean => received().startsWith('HTTP/1.1 429');
  await until('most are turned away', () => clients.filter(isTurnedAway).length >= 14);
  await serves(otherToken, 'beside the bombs');
});

test('a body that drips is 429 and closed', async () => {
  const [client] = await attack(1, acmeToken, 1);
  await until('it is closed', () => client?.isClosed() ?? false);
  expect(client?.received()).toMatch(/^HTTP\/1\.1 429 /);
  await serves(acmeToken, 'after the drip');
});

test('a body that came while the process was busy is read, however long that was', async () => {
  const body = JSON.stringify({ name: 'patient', type: 'HYBRID', chainId: 31337, version: '1.1.0' });
  const head = `POST ${prefix}/paymaster HTTP/1.1\r\nhost: x\r\nauthToken: ${acmeToken}\r\ncontent-type: application/json\r\n`;
  const begun = `${head}content-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`;
  const client = await openRaw(Number(new URL(host.origin).port), begun);
  clients.push(client);
  // Another call is answered after it: the server waits for the rest.
  await serves(otherToken, 'before');
  client.socket.write(body.slice(10));
  const busySince = performance.now();
  while (performance.now() - busySince < 6_000);
  await until('it is answered', () => client.received() !== '');
  expect(client.received()).toMatch(/^HTTP\/1\.1 200 /);
});
