import { createChains } from '../../../adapters/chain/chains.js';
import { createManifestSource } from '../../../adapters/manifests/manifest-source.js';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { createStops } from '../../../adapters/process/stops.js';
import { createFileConnectionSecrets } from '../../../adapters/secrets/file-secrets.js';
import { loadSigners } from '../../../adapters/signer/signers.js';
import { createSqliteConfigStore } from '../../../adapters/configs/sqlite/configs.js';
import { openDatabase } from '../../../adapters/sqlite/database.js';
import { createSqliteResourceStore } from '../../../adapters/resources/sqlite/resources.js';
import { createWebhookCaller } from '../../../adapters/webhook/webhook-caller.js';
import type { Chains } from '../../../core/chain/chain.js';
import type { ConfigStore } from '../../../core/config/config-store.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { systemClock, type Clock } from '../../../core/units/time.js';
import type { Signers } from '../../../core/paymaster/signer.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import { createOperator } from '../../../operator/operator.js';
import { systemTimers, type Timers } from '../../../adapters/timers.js';
import { createServer } from '../../../server/server.js';
import { ensureAuthToken } from '../../../standalone/auth-token.js';
import { openDataDirectory, writePrivateFile } from '../../../standalone/data-directory.js';
import { sponsorSignerKey, startDevChain } from '../../chain/support/dev-chain.js';
import { sharedPostgres } from '../../support/postgres.js';
import { unlessUnavailable } from '../../../core/errors.js';
import { until } from '../../support/until.js';
import { attachDevChain } from '../../system/support/dev-chain.js';
import { newDataDirectory, removeDataDirectory } from '../../system/support/standalone.js';
import { forward } from './forward.js';
import { openReplicas } from './stores.js';
import type { Platform } from './world.js';

export type ReplicatedPlatform = Platform & {
  /** The configs that the operator has compiled. */
  readonly configs: ConfigStore;
  /** Connections to the chains that the configs name. */
  readonly chains: Chains;
  readonly databaseUrl: string;
  /** Addresses of the replicas; `secrets` name one address for all. */
  readonly origins: readonly string[];
};

export type ReplicatedOptions = {
  readonly clock?: Clock;
  /** Keys as the operator, or the replica with that index, has them mounted. Default: the dev chain's. */
  readonly signersOf?: (process: 'operator' | number) => Promise<Signers>;
  /** The operator's. Default: those of this machine. */
  readonly timers?: Timers;
  /** Whether replicas write a ledger. Default false. */
  readonly isRecorded?: boolean;
};

/**
 * An operator, and three replicas of the rpc role on PostgreSQL behind one address, as the chart runs them; manifests and SQLite stand in
 * for the API server.
 */
export async function startReplicatedPlatform(
  manifests: string,
  rpcUrl?: string,
  options: ReplicatedOptions = {},
): Promise<ReplicatedPlatform> {
  const { clock = systemClock, timers = systemTimers } = options;
  const stops = createStops();
  try {
    const path = newDataDirectory();
    stops.add(() => removeDataDirectory(path));
    const directory = openDataDirectory(path);
    const devChain = rpcUrl === undefined ? await startDevChain() : attachDevChain(rpcUrl, 31_337);
    stops.add(() => devChain.stop());
    writePrivateFile(`${directory.urlDirectory}/dev`, `${devChain.url}\n`);

    const shared = { clock, log: silentLogger, metrics: noMetrics };
    const db = openDatabase(directory.resourcesFile, { durability: 'process', exclusive: true });
    stops.add(() => db.close());
    const resources = createSqliteResourceStore({ db, clock });
    const configs = createSqliteConfigStore({ db, clock });
    const chains = createChains({ ...shared, urlDirectory: directory.urlDirectory, timeoutMs: 20_000 });
    stops.add(() => chains.stop());
    const devSigners = loadSigners({
      environment: { PAYMASTER_SIGNER_KEY_DEV: sponsorSignerKey },
      log: silentLogger,
    });
    const signersOf = options.signersOf ?? (() => devSigners);
    const masterKeys = { current: new Uint8Array(32).fill(1), webhook: new Uint8Array(32).fill(2) };
    const webhookRules = { allowLoopback: true, allowHttp: true };
    const webhooks = createWebhookCaller({
      ...shared,
      ...webhookRules,
      masterKeys,
    });
    stops.add(() => webhooks.stop());

    const source = createManifestSource({ ...shared, directory: manifests, resources });
    stops.add(() => source.stop());
    const { problems } = await source.start();
    if (problems.length > 0) throw new Error(`the manifests have problems: ${JSON.stringify(problems)}`);
    const authToken = await ensureAuthToken({ config: {}, directory, resources });
    if (authToken === undefined) throw new Error('no Organisation takes a token');

    const ports: number[] = [];
    let connections = 0;
    const address = await forward(() => ports[(connections += 1) % ports.length] ?? 0);
    stops.add(() => address.stop());
    const operator = createOperator({
      ...shared,
      resources,
      configs,
      chains,
      signers: await signersOf('operator'),
      masterKeys,
      connectionSecrets: createFileConnectionSecrets({ directory: directory.secretDirectory }),
      webhookRules,
      rpcUrlOf: ({ chainId }, apiKey) => `http://127.0.0.1:${address.port}/api/v1/${chainId}/${apiKey}`,
      timers,
    });
    await operator.start();
    stops.add(() => operator.stop());

    const postgres = await sharedPostgres();
    stops.add(() => postgres.stop());
    const databaseUrl = await postgres.createDatabase('tables');
    const opened = await openReplicas(databaseUrl, {
      epochMirror: createMemoryEpochMirror(),
      clock,
    });
    for (const store of opened) stops.add(() => store.stop());
    for (const [index, store] of opened.entries()) {
      const metrics = createMetrics({ process: false });
      const signers = await signersOf(index);
      const ledger = options.isRecorded === true ? { ledger: store.records } : {};
      const parts = { configs, chains, signers, webhooks, metrics, ...ledger };
      const server = createServer({ ...shared, ...store, ...parts, roles: ['rpc'] });
      stops.add(() => server.stop());
      ports.push((await server.listen(0, '127.0.0.1')).port);
    }
    // Before a chain is followed, what would be promised on it is refused for a moment.
    const { usage } = opened[0]!;
    await until(
      'the dev chain is followed',
      async () => (await unlessUnavailable(usage.cursor(devChain.chainId))) !== undefined,
    );
    return {
      devChain,
      authToken,
      secrets: directory.secretDirectory,
      configs,
      chains,
      databaseUrl,
      origins: ports.map((port) => `http://127.0.0.1:${port}`),
      stop: () => stops.run(),
    };
  } catch (error) {
    await stops.run();
    throw error;
  }
}
