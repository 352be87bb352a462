import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { aRequest } from '../../conformance/usage-requests.js';
import { startRedis, type RedisServer } from '../../support/redis.js';
import { succeeds, until } from '../../support/until.js';
import { openStore } from './redis-usage.js';
import { aClock } from './clock.js';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A Sentinel that names one master, and holds the answer back while `isHolding`. */
type ScriptedSentinel = {
  readonly port: number;
  isHolding: boolean;
  /** Questions for the master that wait for an answer. */
  waiting(): number;
  /** Announces a failover to all subscribers, then answers the waiting requests. */
  switchMaster(): void;
};

async function serveSentinel(masterPort: number): Promise<ScriptedSentinel> {
  const sockets = new Set<Socket>();
  const listeners = new Set<Socket>();
  const held: Socket[] = [];
  const answer = (socket: Socket) => socket.write(bulks(['127.0.0.1', String(masterPort)]));
  const sentinel = {
    isHolding: false,
    waiting: () => held.length,
    switchMaster() {
      for (const socket of listeners) socket.write(bulks(['message', '+switch-master', 'usage']));
      // The answer comes later than the news, as from a Sentinel that was busy with the failover.
      setImmediate(() => {
        for (const socket of held.splice(0)) answer(socket);
      });
    },
  };
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (data) => {
      for (const words of commandsIn(data.toString('latin1'))) reply(socket, words);
    });
  });
  function reply(socket: Socket, [name = '', ...rest]: readonly string[]): void {
    if (name === 'subscribe') {
      listeners.add(socket);
      socket.write(`*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n`);
    } else if (rest[0] === 'get-master-addr-by-name') {
      if (sentinel.isHolding) held.push(socket);
      else answer(socket);
    } else if (name === 'sentinel') socket.write('*0\r\n');
    else socket.write('+OK\r\n');
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return Object.assign(sentinel, { port: address.port });
}

function bulks(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
}

/** Commands in lower case; each arrives whole, being shorter than a packet. */
function commandsIn(text: string): readonly (readonly string[])[] {
  return text
    .split(/^\*\d+\r\n/m)
    .slice(1)
    .map((command) => command.split('\r\n').filter((_, line) => line % 2 === 1))
    .map((words) => words.map((word) => word.toLowerCase()));
}

async function serve(): Promise<RedisServer> {
  const server = await startRedis();
  cleanUps.push(() => server.stop());
  return server;
}

test('a failover that is told while the new master is being asked for leaves nobody without a connection', async () => {
  const master = await serve();
  const sentinel = await serveSentinel(master.port);
  const store = await openStore(`redis+sentinel://127.0.0.1:${sentinel.port}/usage`, {
    clock: aClock(),
    replicaAcks: 0,
  });
  cleanUps.push(() => store.stop());
  expect(await store.reserve(aRequest())).toEqual({ outcome: 'reserved' });

  sentinel.isHolding = true;
  await master.kill();
  await until('the new master is asked for', () => sentinel.waiting() > 0);
  await master.start();
  sentinel.isHolding = false;
  sentinel.switchMaster();

  await until('it is connected again', () => succeeds(store.ping()));
  expect(await store.reserve(aRequest())).toEqual({ outcome: 'reserved' });
}, 300_000);
