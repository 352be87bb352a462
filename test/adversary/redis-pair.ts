import { connect, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { redisCommand, startRedis, type RedisServer } from '../support/redis.js';
import { until } from '../support/until.js';

/** A Redis and its replica, behind one address that leads to whichever is in charge. */
export type RedisPair = {
  readonly url: string;
  /** kill -9 of the one in charge, which starts again on its files. */
  crash(): Promise<void>;
  /** The replica hears nothing more: it stays at what it has. */
  detach(): Promise<void>;
  /** The one in charge ends, and its replica takes over with what it has, everything unless it was detached; they change places. */
  failover(): Promise<void>;
  /** A replica that was detached has everything again. */
  attach(): Promise<void>;
  stop(): Promise<void>;
};

export async function startRedisPair(): Promise<RedisPair> {
  // A replica is served at once instead of waiting for others that want the same.
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
    const former = main;
    await former.kill();
    [main, replica] = [replica, former];
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
    attach,
    stop: async () => {
      door.stop();
      await main.stop();
      await replica.stop();
    },
  };
}

/** Everything that was written before the call is on the replica. */
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

/** An address that passes connections on to a port, which may change. */
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
