import { createMemoryEpochMirror } from '../../core/usage/epoch.js';
import { copyOf, openStore, putBack } from '../adapters/usage/postgres-usage.js';
import type { PostgresServer } from '../support/postgres.js';
import { succeeds, until } from '../support/until.js';
import { hasNoCopy, type OpenStores } from './stores.js';

/**
 * This many replicas over one PostgreSQL. A kill ends one replica; a crash ends the server with -9 during a request. A backup is restored under
 * running replicas, or before they start again.
 */
export function openOnPostgres(server: PostgresServer, count: number): OpenStores {
  return async (clock) => {
    const url = await server.createDatabase('tables');
    const epochMirror = createMemoryEpochMirror();
    const open = (i: number) => openStore(url, { clock, epochMirror, identity: `replica-${i}` });
    const replicas = [await open(0)];
    for (let i = 1; i < count; i++) replicas.push(await open(i));
    let backup: readonly string[] | undefined;
    let kills = 0;
    const replace = async (i: number) => {
      const former = replicas[i]!;
      replicas[i] = await open(i);
      await former.stop();
    };
    return {
      get replicas() {
        return replicas;
      },
      recovery: (replica) => replicas[replica % count]!.recovery,
      kill: async () => {
        kills += 1;
        await replace(kills % count);
      },
      ...hasNoCopy,
      crash: async (during) => {
        await Promise.all([during(), server.kill().then(() => server.start())]);
        for (const replica of replicas) await until('PostgreSQL answers', () => succeeds(replica.ping()));
      },
      backup: async () => {
        backup = await copyOf(server, url);
      },
      restore: async () => {
        if (backup === undefined) return false;
        kills += 1;
        await putBack(server, url, backup);
        if (kills % 2 === 0) for (let i = 0; i < count; i++) await replace(i);
        return true;
      },
      stop: async () => {
        await Promise.all(replicas.map((replica) => replica.stop()));
      },
    };
  };
}
