import { createStops } from '../../../adapters/process/stops.js';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { loadSigners } from '../../../adapters/signer/signers.js';
import { createSqliteConfigStore } from '../../../adapters/configs/sqlite/configs.js';
import { openDatabase } from '../../../adapters/sqlite/database.js';
import type { ChainConfig, ProfileConfig } from '../../../core/config/chain-config.js';
import type { ConfigStore } from '../../../core/config/config-store.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { DomainError, unlessUnavailable } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { compileAddressList } from '../../../core/policy/address-list.js';
import type { FeeTokenSpec } from '../../../core/pricing/fee-token-spec.js';
import { createMemoryEpochMirror, type UsageRecovery } from '../../../core/usage/epoch.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { createServer } from '../../../server/server.js';
import { aChainConfig, aPaymasterConfig, sha256 } from '../../build/configs.js';
import { createChainClock } from '../../chain/support/chain-clock.js';
import { sponsorSignerKey, startDevChain, type DevChain } from '../../chain/support/dev-chain.js';
import { sharedPostgres } from '../../support/postgres.js';
import { until } from '../../support/until.js';
import { aDirectory } from '../../adapters/usage/sqlite-usage.js';
import { servedProfile } from './profiles.js';
import { openEmbedded, openReplicas, type OpenedStore, type StoreKind } from './stores.js';

/** The JSON-RPC address of a paymaster. Each read gives the address of the next replica. */
export type Served = {
  readonly url: string;
  /** The address at the replica with that index. */
  urlAt(replica: number): string;
};

/**
 * The rpc role on a real chain with the real EntryPoints, settled from its events. Configs are written as the operator
 * compiles them.
 */
export type Service = {
  readonly devChain: DevChain;
  /** The usage store as one replica sees it. */
  readonly usage: UsageStore;
  /** What that replica does when data are lost. */
  readonly recovery: UsageRecovery;
  /** Writes a paymaster of an organisation, or changes it. Its id is the organisation's name, unless it is given. */
  paymaster(namespace: string, overrides?: Partial<PaymasterConfig>): Promise<Served>;
  deletePaymaster(paymasterId: string): Promise<void>;
  /** Stores a list of accounts and resolves with the name by which configs mention it. */
  addressList(addresses: readonly string[]): Promise<string>;
  /** The time by the clock of the replicas. */
  now(): EpochMs;
  /** Changes what the platform configures of the chain; resolves with what it was before. */
  changeChain(change: (chain: ChainConfig) => ChainConfig): Promise<ChainConfig>;
  /**
   * Resolves when all mined operations are settled: when this many promises are left, default 0, of the paymasters whose id
   * ends with `of`.
   */
  settled(left?: number, of?: string): Promise<void>;
  /** Time passes on the chain and on every clock, and a block is mined. */
  pass(seconds: number): Promise<void>;
  /** From now on the replica sees no config changes, as if it were cut off from the API server. */
  cutOff(replica: number): void;
  /** Ends every replica, and starts them again after `between`. */
  restart(between: () => void | Promise<void>): Promise<void>;
  stop(): Promise<void>;
};

export type ServiceOptions = {
  /** Profiles that are served. */
  readonly versions: readonly string[];
  readonly profile?: (version: string) => Partial<ProfileConfig>;
  /** A dev chain that several worlds share, one after the other; it is not stopped. Default: a new one. */
  readonly devChain?: DevChain;
  /** Where the service finds the node. Default: that of the dev chain. */
  readonly rpcUrl?: string;
  /** A database of a server that the test started. Default: a new one. */
  readonly databaseUrl?: string;
  /** Directory of the embedded store's files. */
  readonly directory?: string;
};

const patienceMs = 240_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Short, because a test waits for the follower many times. */
const pollMs = 50;

export async function startService(kind: StoreKind, options: ServiceOptions): Promise<Service> {
  const stops = createStops();
  try {
    const devChain = options.devChain ?? (await startDevChain());
    if (options.devChain === undefined) stops.add(() => devChain.stop());
    const clock = createChainClock();
    const keepUp = (): Promise<void> => clock.keepUp(devChain);
    await keepUp();
    // Limits and budgets of a day, or of a month, must not begin anew within a test.
    const leftMs = dayMs - (clock.now() % dayMs);
    if (leftMs < 2 * hourMs) await clock.pass(devChain, Math.ceil((leftMs + hourMs) / 1_000));
    const scratch = aDirectory();
    stops.add(() => scratch.remove());
    const db = openDatabase(`${scratch.path}/store.db`, { durability: 'process', exclusive: true });
    stops.add(() => db.close());
    const configs = createSqliteConfigStore({ db, clock });
    const signers = await loadSigners({
      environment: { PAYMASTER_SIGNER_KEY_DEV: sponsorSignerKey },
      log: silentLogger,
    });
    const { chainId, chains } = devChain;
    const { feeToken } = devChain.deployments;
    const token: FeeTokenSpec = { chainId, ...feeToken, price: { static: { rate: '3000000000' } } };
    const profiles = await Promise.all(
      options.versions.map((version) => servedProfile(devChain, version, options.profile?.(version))),
    );
    const rpc = { urls: [options.rpcUrl ?? devChain.url] };
    let served = aChainConfig({ chainId, rpc, confirmations: 0, profiles, feeTokens: [token] });
    await configs.putChain(served);

    const databaseUrl =
      kind === 'the embedded store' ? undefined : (options.databaseUrl ?? (await ownDatabase()));
    const epochMirror = createMemoryEpochMirror();
    const open = async (): Promise<readonly OpenedStore[]> =>
      databaseUrl === undefined
        ? [openEmbedded(options.directory ?? scratch.path, { db, clock })]
        : openReplicas(databaseUrl, { epochMirror, clock });
    let replicas: Awaited<ReturnType<typeof startReplicas>>;
    replicas = await startReplicas();
    stops.add(() => replicas.stop());
    const usage = () => replicas.usage;
    await until(
      'the chain is followed',
      async () => (await unlessUnavailable(usage().cursor(chainId))) !== undefined,
      patienceMs,
    );
    let calls = 0;

    return {
      devChain,
      get usage() {
        return usage();
      },
      get recovery() {
        return replicas.recovery;
      },
      async paymaster(namespace, more = {}) {
        await keepUp();
        const key = `key-of-${more.paymasterId ?? namespace}`;
        const { fundingAddress: _none, ...config } = aPaymasterConfig({
          paymasterId: namespace,
          namespace,
          chainId,
          version: options.versions[0] ?? '',
          keys: [{ sha256: sha256(key) }],
          defaultContractAction: 'Allow',
          contractsRegistered: false,
          contracts: [],
          ...more,
        });
        await configs.putPaymaster(
          more.fundingAddress === undefined
            ? (config as PaymasterConfig)
            : { ...config, fundingAddress: more.fundingAddress },
        );
        const urlAt = (replica: number): string =>
          `${replicas.origins[replica % replicas.origins.length]}/api/v1/${chainId}/${key}`;
        return {
          get url() {
            calls += 1;
            return urlAt(calls);
          },
          urlAt,
        };
      },
      deletePaymaster: (paymasterId) => configs.deletePaymaster(paymasterId),
      async addressList(addresses) {
        const { list } = compileAddressList(addresses);
        await configs.putList(list);
        return list.hash;
      },
      now: () => clock.now(),
      async changeChain(change) {
        const before = served;
        served = change(served);
        await configs.putChain(served);
        return before;
      },
      async settled(left = 0, of = '') {
        await keepUp();
        await until(
          `${left} promises are left`,
          async () => {
            const live = await unlessUnavailable(usage().reservations(chainId));
            return live?.filter(({ key }) => key.paymasterId.endsWith(of)).length === left;
          },
          patienceMs,
        );
      },
      pass: (seconds) => clock.pass(devChain, seconds),
      cutOff: (replica) => replicas.cutOff(replica),
      async restart(between) {
        await replicas.stop();
        await between();
        replicas = await startReplicas();
      },
      stop: () => stops.run(),
    };

    async function ownDatabase(): Promise<string> {
      const server = await sharedPostgres();
      stops.add(() => server.stop());
      return server.createDatabase('tables');
    }

    async function startReplicas() {
      const own = createStops();
      const [origins, gates]: [string[], Gate[]] = [[], []];
      const opened = await open();
      for (const store of opened) own.add(() => store.stop());
      for (const store of opened) {
        const gate = gateTo(configs);
        const server = createServer({
          ...store,
          roles: ['rpc'],
          configs: gate.configs,
          chains,
          signers,
          webhooks: { call: () => Promise.resolve([]), stop: () => Promise.resolve() },
          pollMs,
          clock,
          log: silentLogger,
          metrics: createMetrics({ process: false }),
        });
        own.add(() => server.stop());
        const { port } = await server.listen(0, '127.0.0.1');
        origins.push(`http://127.0.0.1:${port}`);
        gates.push(gate);
      }
      const [first] = opened;
      if (first === undefined) throw new Error('no replica runs');
      return {
        usage: first.usage,
        recovery: first.recovery,
        origins,
        cutOff: (replica: number) => gates[replica]?.close(),
        stop: () => own.run(),
      };
    }
  } catch (error) {
    await stops.run();
    throw error;
  }
}

type Gate = { readonly configs: ConfigStore; close(): void };

/** A config store as one replica sees it; while the gate is closed it reports no changes and does not answer. */
function gateTo(configs: ConfigStore): Gate {
  let isOpen = true;
  const ifOpen = <T>(read: () => Promise<T>): Promise<T> =>
    isOpen ? read() : Promise.reject(new DomainError('UNAVAILABLE', 'the API server does not answer'));
  return {
    close: () => {
      isOpen = false;
    },
    configs: {
      ...configs,
      watch: (handler) => configs.watch((event) => (isOpen ? handler(event) : undefined)),
      getPaymaster: (id) => ifOpen(() => configs.getPaymaster(id)),
      getChain: (id) => ifOpen(() => configs.getChain(id)),
      findByKey: (key) => ifOpen(() => configs.findByKey(key)),
    },
  };
}
