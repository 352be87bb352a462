import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { anOperation, sponsored } from '../build/operations.js';
import { rpcPath } from '../build/rpc.js';
import { until } from '../support/until.js';
import { openRaw, unfinishedPost, type RawClient } from './support/sockets.js';
import { useRpc } from '../support/use-rpc.js';

// Strangers, and a caller with a key, send bodies that never end, to fill the memory of the process.
// One process: the limits are per process, so three processes allow three times as much.

const rpc = useRpc();
let port: number;
const clients: RawClient[] = [];
let nonce = 0;
beforeAll(async () => {
  port = Number(new URL(rpc.origin).port);
});
afterEach(() => {
  for (const { socket } of clients.splice(0)) socket.destroy();
});

/** 250 bodies of a megabyte, each without its last byte. */
async function attack(path: string): Promise<readonly RawClient[]> {
  const begun = Array.from({ length: 250 }, () => openRaw(port, unfinishedPost(path, 1_000_000, 999_999)));
  clients.push(...(await Promise.all(begun)));
  return clients;
}

async function heldBytes(sender: 'key' | 'stranger'): Promise<number> {
  const text = await (await fetch(`${rpc.origin}/metrics`)).text();
  const match = new RegExp(`^paymaster_request_body_bytes\\{sender="${sender}"\\} (\\d+)`, 'm').exec(text);
  if (match === null) throw new Error('the metric is missing');
  return Number(match[1]);
}

/** The honest control. */
async function serves(): Promise<boolean> {
  nonce += 1;
  const { body } = await rpc.call('pm_sponsorUserOperation', [anOperation({ nonce }), sponsored]);
  return body.result?.['paymasterAndData'] !== '0x';
}

test('bodies with an unknown key are not held, the answer is 401 at once, and the connections close', async () => {
  const strangers = await attack(rpcPath('aaaaaaaaa.00000000-0000-4000-8000-000000000000'));
  await until('all are answered', () => strangers.every(({ received }) => received().includes('HTTP/1.1 4')));
  expect(await heldBytes('stranger')).toBeLessThan(500_000);
  expect(await heldBytes('key')).toBe(0);
  expect(await serves()).toBe(true);
  await until('all are closed', () => strangers.every(({ isClosed }) => isClosed()));
  // 408 on a machine so busy that the time for a whole request is over first.
  for (const { received } of strangers) expect(received()).toMatch(/^HTTP\/1\.1 (401|408|429) /);
});

test('bodies with a known key take a tenth of the body memory, the rest is 429 and closed', async () => {
  const greedy = await attack(rpcPath());
  await until(
    'most are turned away',
    () => greedy.filter(({ received }) => received().startsWith('HTTP/1.1 429')).length > 230,
  );
  expect(await heldBytes('key')).toBeLessThanOrEqual((64 * 1_048_576) / 10);
  await until('all are closed when their time is over', () => greedy.every(({ isClosed }) => isClosed()));
  expect(await heldBytes('key')).toBe(0);
  expect(await serves()).toBe(true);
});

test('a body that drips is 429 and closed, a whole one on another connection is served meanwhile', async () => {
  const client = await openRaw(port, unfinishedPost(rpcPath(), 1_000, 1));
  clients.push(client);
  expect(await serves()).toBe(true);
  await until('it is answered', () => client.received().includes('BODY_SLOW'));
  await until('it is closed', () => client.isClosed());
  expect(client.received()).toMatch(/^HTTP\/1\.1 429 /);
  expect(client.received()).toMatch(/\r\nretry-after: 1\r\n/i);
});
