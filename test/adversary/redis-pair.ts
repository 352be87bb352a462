import { connect, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { redisCommand, startRedis, type RedisServer } from '../support/redis.js';
import { until } from '../support/until.js';

/** A Redis and its replica, behind one address that leads to the current primary. */
export type RedisPair = {
  readonly url: string;
  /** kill -9 of the primary, which starts again on its files. */
  crash(): Promise<void>;
  /** Detaches the replica: it keeps the data that it has. */
  detach(): Promise<void>;
  /** The primary ends and its replica takes over with its data, complete unless it was detached. The two change places. */
  failover(): Promise<void>;
  /** kill -9 of the primary at any moment; its replica takes over with what it has by then. The two change places. */
  takeOver(): Promise<void>;
  /** Attaches the replica again and waits until it has all data. */
  attach(): Promise<void>;
  stop(): Promise<void>;
};

export async function startRedisPair(): Promise<RedisPair> {
  // Replication starts at once instead of waiting for more replicas.
  const settings = ['--repl-diskless-sync-delay', '0'];
  let main = await startRedis(settings);
  let replica = await startRedis(settings);
  const door = await openDoor(() => main.port);

  let isDetached = false;
  async function attach(): Promise<void> {
    await replica.command(['REPLICAOF', '127.0.0.1', String(main.port)]);
    await isSynced(main, replica);
    isDetached = false;
  }

  async function promote(): Promise<void> {
    if (!isDetached) await isSynced(main, replica);
    await replica.command(['REPLICAOF', 'NO', 'ONE']);
    await main.kill();
    await changePlaces();
  }

  async function takeOver(): Promise<void> {
    await main.kill();
    await replica.command(['REPLICAOF', 'NO', 'ONE']);
    await changePlaces();
  }

  async function changePlaces(): Promise<void> {
    [main, replica] = [replica, main];
    door.shut();
    await replica.start();
    await attach();
  }

  await attach();
  return {
    url: `redis://127.0.0.1:${door.port}`,
    crash: async () => {
      await main.kill();
      await main.start();
      await isSynced(main, replica);
    },
    detach: async () => {
      await isSynced(main, replica);
      await replica.command(['REPLICAOF', 'NO', 'ONE']);
      isDetached = true;
    },
    failover: promote,
    takeOver,
    attach,
    stop: async () => {
      door.stop();
      await main.stop();
      await replica.stop();
    },
  };
}

/** Resolves when the replica has everything that was written before the call. */
async function isSynced(main: RedisServer, replica: RedisServer): Promise<void> {
  const wanted = await valueOf(main.port, 'master_repl_offset');
  await until(`the replica on port ${replica.port} has everything`, async () => {
    const link = await valueOf(replica.port, 'master_link_status').catch(() => '');
    const has = Number(await valueOf(replica.port, 'slave_repl_offset').catch(() => '-1'));
    return link === 'up' && has >= Number(wanted);
  });
}

async function valueOf(port: number, name: string): Promise<string> {
  const reply = await redisCommand(port, ['INFO', 'replication']);
  return new RegExp(`^${name}:(\\S+)`, 'm').exec(reply)?.[1] ?? '';
}

/** An address that forwards connections to a port, which may change. */
async function openDoor(target: () => number) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const further = connect(target(), '127.0.0.1');
    for (const [one, other] of [
      [socket, further],
      [further, socket],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const shut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    shut,
    stop: () => {
      shut();
      server.close();
    },
  };
}
