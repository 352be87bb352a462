import { randomBytes } from 'node:crypto';
import type { KubeTransport } from '../../../adapters/kube/transport.js';
import { createStops } from '../../../adapters/process/stops.js';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { createPostgresLedger } from '../../../adapters/store/ledger/postgres-ledger.js';
import { createKubeConfigStore } from '../../../adapters/configs/kubernetes/configs.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { systemClock, type Clock } from '../../../core/units/time.js';
import type { RpcWorld, Worlds } from '../../build/world.js';
import { createDatabase } from '../../support/postgres.js';
import { openStore } from '../../adapters/usage/postgres-usage.js';
import { claim } from './claimed-plane.js';
import type { KubeConnection } from './connection.js';
import { openKubeDashboardWorld } from './dashboard-world.js';
import { transportOf, type Caller } from './installed-plane.js';
import { createSystemNamespace, deleteUserResources, untilAllowed } from './system-namespace.js';
import { tellWhenServed } from './told-configs.js';

/** Parts of one world, stopped together. */
export type KubeParts = {
  /** Where this world's compiled objects are. */
  readonly namespace: string;
  /** A new pool of connections at each call, as each process has one. */
  transport(caller: Caller): KubeTransport;
  configs(transport: KubeTransport, clock: Clock): ReturnType<typeof createKubeConfigStore>;
  /** A client of this world's database. */
  usage(clock: Clock): ReturnType<typeof openStore>;
  /** Reads what those of this world's database have recorded. */
  ledger(clock: Clock): Promise<ReturnType<typeof createPostgresLedger>>;
  onStop(stop: () => Promise<void>): void;
};

/** Worlds on the API server and the PostgreSQL of this run. */
export function kubeWorlds(connection: KubeConnection): Worlds {
  return {
    async openDashboardWorld(options) {
      const { parts, stop } = await openUserParts(connection);
      try {
        return { ...(await openKubeDashboardWorld(parts, options)), stop };
      } catch (error) {
        await stop();
        throw error;
      }
    },
    async openRpcWorld({ clock }) {
      const stops = createStops();
      try {
        return { ...(await openRpcStores(await openParts(connection, stops.add), clock)), stop: stops.run };
      } catch (error) {
        await stops.run();
        throw error;
      }
    },
  };
}

/** A system namespace, and an API server on which no other test has resources until the stop. */
export async function openUserParts(
  connection: KubeConnection,
): Promise<{ readonly parts: KubeParts; stop(): Promise<void> }> {
  const stops = createStops();
  try {
    const plane = await claim(connection.plane, stops.add);
    const parts = await openParts({ ...connection, plane }, stops.add);
    await deleteUserResources(parts.transport('admin'));
    return { parts, stop: stops.run };
  } catch (error) {
    await stops.run();
    throw error;
  }
}

async function openRpcStores(parts: KubeParts, clock: Clock): Promise<Omit<RpcWorld, 'stop'>> {
  const usage = await parts.usage(clock);
  return {
    ...tellWhenServed({
      // Nobody but the operator may write compiled objects.
      written: parts.configs(parts.transport('operator'), clock),
      served: parts.configs(parts.transport('rpc'), systemClock),
      clock,
    }),
    usage,
    records: usage.ledger,
    ledger: await parts.ledger(clock),
  };
}

async function openParts(
  { plane, postgresUrl }: KubeConnection,
  onStop: (stop: () => Promise<void>) => void,
): Promise<KubeParts> {
  const namespace = `world-${randomBytes(4).toString('hex')}`;
  const transport = (caller: Caller): KubeTransport => {
    const opened = transportOf(plane, caller);
    onStop(() => opened.stop());
    return opened;
  };
  const database = createDatabase(postgresUrl, namespace, 'tables');
  database.catch(() => {});
  await createSystemNamespace(transport('admin'), namespace);
  for (const caller of ['operator', 'dashboard', 'rpc'] as const)
    await untilAllowed(transport(caller), namespace, 'paymasterconfigs');
  return {
    namespace,
    transport,
    configs(of, clock) {
      const store = createKubeConfigStore({
        transport: of,
        namespace,
        clock,
        log: silentLogger,
        metrics: noMetrics,
        random: Math.random,
      });
      onStop(() => store.stop());
      return store;
    },
    async usage(clock) {
      const identity = randomBytes(4).toString('hex');
      const store = await openStore(await database, { clock, identity });
      onStop(() => store.stop());
      return store;
    },
    async ledger(clock) {
      const address = parsePostgresUrl('url', await database);
      const ledger = createPostgresLedger({ address, clock, searchMs: 600_000 });
      onStop(() => ledger.stop());
      return ledger;
    },
    onStop,
  };
}
