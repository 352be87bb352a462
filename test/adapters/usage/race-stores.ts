import type { UsageStore } from '../../../core/usage/usage-store.js';
import { startPostgres } from '../../support/postgres.js';
import { startRedis } from '../../support/redis.js';
import { succeeds, until } from '../../support/until.js';
import * as postgres from './postgres-usage.js';
import * as redis from './redis-usage.js';

/** A server that replicas race on, and that can be killed meanwhile. */
export type RaceServer = {
  readonly url: string;
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
};

export const raceServers: readonly { readonly name: string; start(): Promise<RaceServer> }[] = [
  { name: 'Redis', start: startRedis },
  {
    name: 'PostgreSQL',
    start: async () => {
      const server = await startPostgres();
      return { ...server, url: await server.createDatabase() };
    },
  },
];

/** Tries again while the server is away. */
export async function openRaceStore(url: string, identity: string): Promise<UsageStore> {
  if (url.startsWith('redis:')) return redis.openStore(url, { identity, timeoutMs: 500 });
  let opened: UsageStore | undefined;
  await until('PostgreSQL lets the store open', async () =>
    succeeds(
      postgres.openStore(url, { identity }).then((store) => {
        opened = store;
      }),
    ),
  );
  if (opened === undefined) throw new Error('the store did not open');
  return opened;
}
