import { createChains } from '../adapters/chain/chains.js';
import { createLogger } from '../adapters/log/pino-logger.js';
import { formatManifestProblem } from '../adapters/manifests/parse-manifest.js';
import { createManifestSource, type ManifestSource } from '../adapters/manifests/manifest-source.js';
import { createMetrics } from '../adapters/metrics/prometheus.js';
import type { Running } from '../adapters/process/run-process.js';
import { startAll, type Stops } from '../adapters/process/stops.js';
import { createFileConnectionSecrets } from '../adapters/secrets/file-secrets.js';
import { keepFresh, loadSigners } from '../adapters/signer/signers.js';
import { createSqliteConfigStore } from '../adapters/configs/sqlite/configs.js';
import { openDatabase } from '../adapters/sqlite/database.js';
import { openOrSetAside } from '../adapters/sqlite/set-aside.js';
import { createSqliteEpochMirror } from '../adapters/store/sqlite/epoch-mirror.js';
import { createSqliteResourceStore } from '../adapters/resources/sqlite/resources.js';
import { createSqliteLedger } from '../adapters/store/ledger/sqlite-ledger.js';
import { createSqliteUsageStore } from '../adapters/store/sqlite/usage.js';
import { createPlatformTokens } from '../adapters/secrets/platform-tokens.js';
import { createWebhookCaller } from '../adapters/webhook/webhook-caller.js';
import type { Logger } from '../core/log.js';
import { createMemoryReports } from '../core/reports/reports.js';
import { isLoopbackHost } from '../core/policy/webhook/webhook-url.js';
import type { ResourceStore } from '../core/resources/resource-store.js';
import { given } from '../core/units/given.js';
import { systemClock } from '../core/units/time.js';
import { createOperator } from '../operator/operator.js';
import { systemTimers } from '../adapters/timers.js';
import { newAuthToken } from '../server/dashboard/auth-token.js';
import { createLedgerKeeping } from '../server/ledger/keeping.js';
import { createRecentRefusals } from '../server/ops/recent-refusals.js';
import { createServer } from '../server/server.js';
import type { StandaloneConfig } from './config.js';
import type { Console } from './console.js';
import { createConnectionFile, describeConnection } from './connection.js';
import { reportLife, reportOpenSponsorship } from './life.js';
import { countStates } from './resource-state.js';
import { openLogFile } from './log-file.js';
import { createOwnHosts, createPublicHost } from './own-hosts.js';
import { openDataDirectory, type DataDirectory } from './data-directory.js';
import { loadMasterKeys, loadSessionKey } from './master-keys.js';
import { printBanner, printProblems } from './banner.js';
import { startBundlerBeside } from './bundler/beside.js';
import { startDevChain } from './dev-chain.js';
import { createSignInCode, ensureAuthToken, type SignInCode } from './auth-token.js';
import { waitUntilReady, watchReadiness } from './readiness.js';
import { explained, refuseBusyPort, refuseMissingManifests, refusePublicKeys } from './start-error.js';
import { createStatusEndpoint } from './status/endpoint.js';
import { readStatus } from './status/status.js';

/** Short, because somebody who puts a key into the directory waits for it to be loaded. */
const signerReloadMs = 5_000;

/**
 * Starts the dev chain, stores, operator and server in this process, applies the manifests and prints what to do next.
 * If a step fails, stops everything that was started before. An aborted `signal` ends the start in the same way.
 */
export async function startStandalone(
  config: StandaloneConfig,
  console: Console,
  signal: AbortSignal,
): Promise<Running> {
  return startAll((onStop) => startParts(config, console, signal, onStop)).catch((error: unknown) => {
    throw explained(error, config);
  });
}

async function startParts(
  config: StandaloneConfig,
  console: Console,
  signal: AbortSignal,
  onStop: Stops['add'],
): Promise<Pick<Running, 'failed'>> {
  console.line('Paymaster Operator, standalone');
  await refuseBusyPort(config);
  refuseMissingManifests(config);
  const directory = openDataDirectory(config.dataDirectory);
  const log = openLog(config, directory, onStop);
  const db = openDatabase(directory.resourcesFile, { durability: config.durability, exclusive: true });
  onStop(() => db.close());

  const devChain = await startDevChain({ config, directory, log, console });
  onStop(() => devChain.stop());
  signal.throwIfAborted();

  const bundler = startBundlerBeside({ devChain, config, directory, log, console });
  onStop(() => bundler?.stop());

  const clock = systemClock;
  const metrics = createMetrics({ process: true });
  const ambient = { clock, log, metrics };
  const resources = createSqliteResourceStore({ db, clock });
  const configs = createSqliteConfigStore({ db, clock });
  const epochMirror = createSqliteEpochMirror({ db });
  // Operations promised on a former chain cannot be mined on this one.
  if (devChain.isFresh) epochMirror.forget(devChain.chainId);
  const usage = openOrSetAside(
    directory.usageFile,
    (path) =>
      createSqliteUsageStore({
        path,
        epochMirror,
        durability: config.durability,
        ...ambient,
        log: log.child({ part: 'usage' }),
      }),
    ({ file, movedTo }) => {
      log.error('damaged file set aside', { file, movedTo });
      console.warn(
        `${file} is damaged and was moved to ${movedTo}: its limits, promises and records are lost. Where it held promises, nothing is signed until the last of them has ended.`,
      );
    },
  );
  onStop(() => usage.stop());
  const ledger = config.ledger.isOn
    ? await createSqliteLedger({ path: directory.usageFile, ...config.ledger })
    : undefined;
  onStop(() => ledger?.stop());
  const keeping =
    ledger && createLedgerKeeping({ ledger, processes: 1, ...ambient, log: log.child({ part: 'ledger' }) });
  keeping?.start();
  onStop(() => keeping?.stop());
  const chains = createChains({ ...ambient, urlDirectory: directory.urlDirectory, timeoutMs: 10_000 });
  onStop(() => chains.stop());
  const signers = await loadSigners({
    directory: directory.signerDirectory,
    environment: config.signerEnvironment,
    log,
    metrics,
  });
  onStop(() => signers.stop());
  onStop(keepFresh(signers, log, signerReloadMs));
  const masterKeys = loadMasterKeys(directory);
  const sessionKey = loadSessionKey(directory);
  const webhookRules = { allowLoopback: config.allowLoopbackWebhooks, allowHttp: true };
  const webhooks = createWebhookCaller({
    ...webhookRules,
    masterKeys,
    ...ambient,
    log: log.child({ part: 'webhook' }),
  });
  onStop(() => webhooks.stop());

  const origin = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${config.port}`;
  const publicOrigin = config.publicUrl ?? origin;
  if (!isLoopbackHost(config.host) && config.publicUrl === undefined)
    console.warn(
      `${origin} has no TLS: anyone on the way reads keys, tokens and sessions. Put a proxy in front, and set PAYMASTER_PUBLIC_URL`,
    );
  const reports = createMemoryReports({ clock, log });
  const operator = createOperator({
    resources,
    configs,
    chains,
    signers,
    masterKeys,
    priceHeadersDirectory: directory.priceHeadersDirectory,
    connectionSecrets: createFileConnectionSecrets({ directory: directory.secretDirectory }),
    webhookRules,
    platform: config.platform,
    reports,
    onReports(handler) {
      reports.onChange(handler);
      epochMirror.onChange(handler);
    },
    usageEpochs: epochMirror,
    rpcUrlOf: ({ chainId }, apiKey) => `${publicOrigin}/api/v1/${chainId}/${apiKey}`,
    ...ambient,
    log: log.child({ part: 'operator' }),
  });
  const refusals = createRecentRefusals();
  const operatorToken = newAuthToken().authToken;
  let signIn: SignInCode | undefined;
  const server = createServer({
    roles: ['rpc', 'dashboard'],
    configs,
    usage,
    texts: usage.texts,
    recovery: usage.recovery,
    priceReferences: usage.prices,
    chains,
    signers,
    webhooks,
    reports,
    priceHeadersDirectory: directory.priceHeadersDirectory,
    dashboard: {
      resources,
      masterKeys,
      sessionKey: () => sessionKey,
      webhookUrls: webhookRules,
      quotas: config.platform.quotas,
      notify: {
        directory: config.notificationDirectory ?? directory.notificationDirectory,
        everyMs: config.notifySeconds * 1000,
      },
      ...config.callLimits,
      programmedTimeoutMs: config.programmedSeconds * 1000,
      ...(config.platformTokensFile !== undefined && {
        platformTokens: createPlatformTokens({ file: config.platformTokensFile, clock, log }),
      }),
      consoleCode: (code) => signIn?.redeem(code),
      ...given({ ledger }),
    },
    recentRefusals: refusals,
    misdirected:
      config.publicUrl === undefined
        ? createOwnHosts(config.host)
        : createPublicHost({ listened: config.host, publicUrl: config.publicUrl, proxies: config.proxies }),
    trustedProxies: config.publicUrl === undefined ? 0 : 1,
    ...given({ ledger: config.ledger.isOn ? usage.ledger : undefined, ledgerRoom: keeping?.room }),
    ...given({ names: ledger?.names }),
    refusalsPerSecond: config.ledger.refusalsPerSecond,
    handle: createStatusEndpoint({
      operatorToken,
      read: () => readStatus({ resources, configs, usage, refusals, ledger, clock }),
      log,
    }),
    ...ambient,
    log: log.child({ part: 'server' }),
  });

  const manifestsDone = console.step(`Applying ${config.manifestDirectory}`);
  const manifests = createManifestSource({
    directory: config.manifestDirectory,
    resources,
    clock,
    log: log.child({ part: 'manifests' }),
  });
  onStop(() => manifests.stop());
  const report = await manifests.start();
  manifestsDone(`${report.objects.length} objects`);
  printProblems(console, report.problems.map(formatManifestProblem));
  await warnOfOtherChain(console, devChain.chainId, resources);
  await refusePublicKeys(resources, signers);
  const authToken = await ensureAuthToken({ config, directory, resources });
  // The code works only on this machine, and behind a proxy every caller seems to be on it.
  if (authToken !== undefined && config.publicUrl === undefined)
    signIn = createSignInCode({ authToken, clock });

  const operatorDone = console.step('Starting the operator');
  await operator.start();
  onStop(() => operator.stop());
  operatorDone('reconciling');
  const serverDone = console.step('Starting the server');
  onStop(() => server.stop());
  await server.listen(config.port, config.host);
  const notReady = await waitUntilReady(server, signal);
  serverDone(origin);
  for (const { name, action } of notReady) console.warn(`${name}: ${action}`);
  signal.throwIfAborted();

  const readyDone = console.step('Checking the resources');
  const isUsageLost = notReady.some(({ name }) => name === 'usage-data');
  const states = await watchReadiness(resources, signal, {
    ...(isUsageLost && { expected: 'UsageStoreLost' }),
  });
  readyDone(countStates(states));
  const bundlerUrl = await bundler?.url();
  const connections = createConnectionFile({
    describe: () =>
      describeConnection({
        origin,
        publicOrigin,
        chainRpcUrl: devChain.url,
        ...(bundlerUrl === undefined ? {} : { bundlers: [bundlerUrl] }),
        authToken,
        operatorToken,
        masterKeys,
        resources,
        configs,
      }),
    directory,
    console,
    log,
  });
  const connection = await connections.write();
  const { isLocal: isLocalChain } = devChain;
  printBanner({
    console,
    config,
    directory,
    connection,
    states,
    isLocalChain,
    ...given({ signInCode: signIn?.code }),
  });
  onStop(reportManifestChanges(manifests, console));
  onStop(
    reportLife({ resources, console, timers: systemTimers, shown: states, onBatch: connections.refresh }),
  );
  onStop(reportOpenSponsorship(configs, console));
  return { failed: devChain.failed };
}

/** For CHAIN_RPC_URL together with the quickstart's Chain: the node then belongs to another chain than the manifests describe. */
async function warnOfOtherChain(
  console: Console,
  chainId: number,
  resources: Pick<ResourceStore, 'list'>,
): Promise<void> {
  const described = (await resources.list('Chain')).map(({ spec }) => spec.chainId);
  if (described.includes(chainId)) return;
  console.warn(
    `the node is one of chain ${chainId}, the manifests describe ${described.join(', ') || 'no chain'}: set PAYMASTER_MANIFESTS to a directory with a Chain of chainId ${chainId}, or CHAIN_RPC_URL to another node`,
  );
}

function openLog(config: StandaloneConfig, { logFile }: DataDirectory, onStop: Stops['add']): Logger {
  if (config.logTo === 'stdout') return createLogger({ level: config.logLevel });
  const destination = openLogFile(logFile);
  onStop(() => destination.close());
  return createLogger({ level: config.logLevel, destination });
}

/** Prints a problem of the manifests once when it appears and once when it is fixed. */
function reportManifestChanges(manifests: ManifestSource, console: Console): () => void {
  const texts = (): ReadonlySet<string> => new Set(manifests.report().problems.map(formatManifestProblem));
  let known = texts();
  const timer = setInterval(() => {
    const now = texts();
    for (const text of now) if (!known.has(text)) console.warn(`${text} (the last good state keeps serving)`);
    for (const text of known) if (!now.has(text)) console.line(`fixed: ${text}`);
    known = now;
  }, 250);
  return () => clearInterval(timer);
}
