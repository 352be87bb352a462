import { createStops } from '../../../core/adapters/process/stops.js';
import { createMetrics } from '../../../core/adapters/metrics/prometheus.js';
import { loadSigners } from '../../../core/adapters/signer/signers.js';
import { createSqliteConfigStore } from '../../../core/adapters/store/sqlite/configs.js';
import { openDatabase } from '../../../core/adapters/store/sqlite/database.js';
import { createSqliteUsageStore } from '../../../core/adapters/store/sqlite/usage.js';
import type { ProfileConfig } from '../../../core/config/chain-config.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { silentLogger } from '../../../core/log.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import type { FeeTokenSpec } from '../../../core/resources/fee-token.js';
import { systemClock } from '../../../core/units/time.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { mayDemandAdvance } from '../../../operator/facts/facts.js';
import { probeTokenPayment } from '../../../operator/facts/token-probe.js';
import { createServer } from '../../../server/server.js';
import { aChainConfig, aPaymasterConfig, sha256 } from '../../build/configs.js';
import { sponsorSignerKey, startDevChain, type DevChain } from '../../chain/support/dev-chain.js';
import { startRedis } from '../../support/redis.js';
import { until } from '../../support/until.js';
import { openStore } from '../../usage/redis-usage.js';
import { aDirectory } from '../../usage/sqlite-usage.js';

/** Where the same attack is tried. */
export const stores = ['the embedded store', 'three replicas on Redis'] as const;
export type StoreKind = (typeof stores)[number];

/**
 * The rpc role on a real chain with the real EntryPoints, settled from its events. Configs are written as the operator
 * compiles them.
 */
export type Service = {
  readonly devChain: DevChain;
  /** What one replica knows of usage. */
  readonly usage: UsageStore;
  /** A paymaster of an organisation. Its JSON-RPC address is of another replica with each look. */
  paymaster(namespace: string, overrides?: Partial<PaymasterConfig>): Promise<{ readonly url: string }>;
  /** Resolves when what was mined is settled: when so many promises are left that were not. Default 0. */
  settled(left?: number): Promise<void>;
  stop(): Promise<void>;
};

export type ServiceOptions = {
  readonly version: string;
  readonly profile?: Partial<ProfileConfig>;
};

const patienceMs = 60_000;

export async function startService(
  kind: StoreKind,
  { version, profile: overrides }: ServiceOptions,
): Promise<Service> {
  const stops = createStops();
  try {
    const devChain = await startDevChain();
    stops.add(() => devChain.stop());
    const clock = systemClock;
    const directory = aDirectory();
    stops.add(() => directory.remove());
    const db = openDatabase(`${directory.path}/store.db`, { durability: 'process', exclusive: true });
    stops.add(() => db.close());
    const configs = createSqliteConfigStore({ db, clock });
    const signers = await loadSigners({
      environment: { PAYMASTER_SIGNER_KEY_DEV: sponsorSignerKey },
      log: silentLogger,
    });
    const { chainId, url: rpcUrl, chains } = devChain;
    const { feeToken } = devChain.deployments;
    const token: FeeTokenSpec = { chainId, ...feeToken, price: { static: { rate: '3000000000' } } };
    const profile = await withSecurity(devChain, { ...profileOf(devChain, version), ...overrides });
    const served = { rpc: { urls: [rpcUrl] }, confirmations: 0, profiles: [profile], feeTokens: [token] };
    await configs.putChain(aChainConfig({ chainId, ...served }));

    const opened = await openStores(kind, directory.path);
    for (const { stop } of opened.toReversed()) stops.add(stop);
    const origins: string[] = [];
    for (const { server: parts } of opened) {
      const server = createServer({
        ...parts,
        roles: ['rpc'],
        configs,
        chains,
        signers,
        webhooks: { call: () => Promise.resolve([]), stop: () => Promise.resolve() },
        clock,
        log: silentLogger,
        metrics: createMetrics({ process: false }),
      });
      stops.add(() => server.stop());
      const { port } = await server.listen(0, '127.0.0.1');
      origins.push(`http://127.0.0.1:${port}`);
    }
    const [first] = opened;
    if (first === undefined) throw new Error('there is no replica');
    await until(
      'the chain is followed',
      async () => (await first.server.usage.cursor(chainId)) !== undefined,
      patienceMs,
    );
    let calls = 0;

    return {
      devChain,
      usage: first.server.usage,
      async paymaster(namespace, more = {}) {
        const key = `key-of-${more.paymasterId ?? namespace}`;
        const { fundingAddress: _none, ...config } = aPaymasterConfig({
          paymasterId: namespace,
          namespace,
          chainId,
          version,
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
        return {
          get url() {
            calls += 1;
            return `${origins[calls % origins.length]}/api/v1/${chainId}/${key}`;
          },
        };
      },
      settled: (left = 0) =>
        until(
          `${left} promises are left`,
          async () => (await first.server.usage.liveCount(chainId)) === left,
          patienceMs,
        ),
      stop: () => stops.run(),
    };
  } catch (error) {
    await stops.run();
    throw error;
  }
}

function profileOf(devChain: DevChain, version: string): ProfileConfig {
  const { layout, entryPoint, sponsorship, token, options } = devChain.profile(version);
  return {
    version,
    layout,
    entryPoint,
    sponsorship,
    ...(token === undefined ? {} : { token }),
    signerFile: 'dev',
    defaultFunding: { address: devChain.deployments.defaultFunding, organisations: ['*'] },
    options: { priceMarkup: 1_000_000, unaccountedGas: 50_000, ...options },
  };
}

/** As the operator finds out by asking the contract. */
async function withSecurity(devChain: DevChain, profile: ProfileConfig): Promise<ProfileConfig> {
  const { token: contract } = profile;
  if (contract === undefined) return profile;
  if (!mayDemandAdvance(profile)) return profile;
  const { chain, chainId, sponsorSigner } = devChain;
  const signers = await loadSigners({
    environment: { PAYMASTER_SIGNER_KEY_DEV: sponsorSigner.privateKey },
    log: silentLogger,
  });
  const signer = signers.get('dev');
  if (signer === undefined) throw new Error('there is no signer');
  const layout = layouts[profile.layout];
  const found = await probeTokenPayment({ chain, chainId, profile, contract, layout, signer });
  return found === 'Secured' ? { ...profile, tokenSecured: true } : profile;
}

async function openStores(kind: StoreKind, directory: string) {
  const clock = systemClock;
  if (kind === 'the embedded store') {
    const usage = createSqliteUsageStore({
      path: `${directory}/usage.db`,
      clock,
      log: silentLogger,
      durability: 'process',
    });
    return [{ server: { usage, recovery: usage.recovery }, stop: () => usage.stop() }];
  }
  const redis = await startRedis();
  const epochMirror = createMemoryEpochMirror();
  const opened = [{ stop: () => redis.stop() }] as { stop: () => Promise<void> }[];
  const replicas = [];
  for (const identity of ['replica-1', 'replica-2', 'replica-3']) {
    const usage = await openStore(redis.url, { identity, epochMirror });
    const { lease, recovery } = usage;
    replicas.push({
      server: { usage, lease, recovery },
      stop: async () => {
        await usage.stop();
        // The last one to stop takes the server along.
        if (identity === 'replica-1') for (const each of opened) await each.stop();
      },
    });
  }
  return replicas;
}
