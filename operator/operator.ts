import { createPace } from '../adapters/pace.js';
import { systemTimers } from '../adapters/timers.js';
import { openPlatform } from '../core/config/platform.js';
import { formatKey, objectKey } from '../core/meta/meta.js';
import { layouts } from '../core/paymaster/layouts.js';
import { noEvents } from '../core/resources/kubernetes-events.js';
import { given } from '../core/units/given.js';
import { createCache } from './cache.js';
import { createConfirmations } from './confirmations.js';
import { createChainFacts } from './facts/chain-facts.js';
import { createDataFeeFacts } from './facts/data-fee-facts.js';
import { createPlatformView } from './facts/platform-view.js';
import { createPriceFacts, withReportedJumps } from './facts/price-facts.js';
import {
  createLossFacts,
  createServedFacts,
  createServingFacts,
  createUsageFacts,
} from './facts/reported-facts.js';
import { createKeyBatches } from './key-batches.js';
import { createForeignStatuses } from './foreign-statuses.js';
import { createKeyRotation } from './key-rotation.js';
import { createMethodReader } from './method-reader.js';
import type { OperatorDeps } from './operator-deps.js';
import { createAnnouncer } from './reconcilers/announcer.js';
import { createChainReconciler, inOrder } from './reconcilers/chain.js';
import { createConnectionSecretWriter } from './reconcilers/connection-secret.js';
import { allKeys, listKeys, groupRoots, createReportLook } from './reconcilers/mapping.js';
import { createOfferedChains } from './reconcilers/offered-chains.js';
import { createOrganisationReconciler } from './reconcilers/organisation.js';
import { createPaymasterReconciler } from './reconcilers/paymaster.js';
import { withLeaving, createStatusWriter } from './reconcilers/status.js';
import { createRepairs } from './repairs.js';
import { createRoots } from './roots.js';
import { alwaysLeader, whileLeading } from './runtime/leader.js';

export type Operator = ReturnType<typeof createOperator>;

/**
 * The control plane: watches the resources, compiles them into the config store and writes their status. It owns the
 * compiled objects and the statuses and never writes anything else.
 */
export function createOperator(deps: OperatorDeps) {
  const { clock, log, metrics, signers } = deps;
  const timers = deps.timers ?? systemTimers;
  const ambient = { clock, timers, log, metrics };
  const asking = { clock, timers, log, chains: deps.chains };
  const leader = deps.leader ?? alwaysLeader();
  const webhookRules = deps.webhookRules ?? {};
  const configs = whileLeading(leader, deps.configs);
  const resources = whileLeading(leader, { applyStatus: deps.resources.applyStatus.bind(deps.resources) });
  const secrets = whileLeading(leader, deps.connectionSecrets);
  const tenantAccess = deps.tenantAccess && whileLeading(leader, deps.tenantAccess);

  const cache = createCache({ resources: deps.resources, log });
  const announcer = createAnnouncer({ events: deps.events ?? noEvents, cache, timers });
  const foreignStatuses = createForeignStatuses({
    timers,
    handle: (objects) => {
      if (isLeading) roots.add(groupRoots(objects));
    },
  });
  const statuses = createStatusWriter({
    resources,
    cache: {
      note(kind, object) {
        cache.note(kind, object);
        foreignStatuses.wrote(object);
      },
    },
    announcer,
    clock,
  });
  const readMethods = createMethodReader();
  const pace = deps.pace ?? createPace();
  const offeredChains = createOfferedChains({ cache, layouts });
  const rotation =
    'read' in deps.masterKeys
      ? createKeyRotation({
          source: { ...deps.masterKeys, announcements: whileLeading(leader, deps.masterKeys.announcements) },
          ...ambient,
          compileAll: () => roots.pass(allKeys(cache).paymasters),
          onChange: () => roots.add({ chains: allKeys(cache).chains }),
        })
      : undefined;
  const masterKeys = 'read' in deps.masterKeys ? rotation!.keys : deps.masterKeys;
  const connectionSecrets = createConnectionSecretWriter({ ...deps, masterKeys, secrets });
  const keysOn = (chainId: number): readonly string[] =>
    cache.paymastersOn(chainId).map((each) => formatKey(objectKey(each)));
  const addChain = (chainId: number): void => roots.add({ chains: [String(chainId)] });
  const lookAt = (chainId: number): void => {
    platform.look(chainId);
    addChain(chainId);
  };
  const facts = createChainFacts({
    ...asking,
    layouts,
    signers,
    onChange({ chainId, isChainChanged, paymasters }) {
      platform.look(chainId);
      // There may be thousands, when a fleet is asked about for the first time: the statuses follow at a bounded rate.
      batches.add(paymasters);
      if (isChainChanged) addChain(chainId);
    },
  });
  const prices = createPriceFacts({
    ...asking,
    headersDirectory: deps.priceHeadersDirectory,
    onChange: lookAt,
  });
  const dataFees = createDataFeeFacts({ ...asking, onChange: addChain });
  const losses =
    deps.reports &&
    createLossFacts({
      ...ambient,
      reports: deps.reports,
      onChange: (chainIds) => chainIds.forEach(addChain),
    });
  const usage =
    deps.usageEpochs &&
    createUsageFacts({
      ...ambient,
      epochs: deps.usageEpochs,
      onChange: (chainIds) =>
        chainIds.forEach((chainId) => {
          lookAt(chainId);
          if (usage?.of(chainId)?.since !== 0) batches.add(keysOn(chainId));
        }),
    });
  const serving =
    deps.reports &&
    createServingFacts({
      ...ambient,
      reports: deps.reports,
      onChange: (subjects) => reportLook.at(subjects),
      onKnown: () => reportLook.atKept(),
    });
  const served =
    deps.reports &&
    createServedFacts({
      ...ambient,
      reports: deps.reports,
      onChange: () => batches.add(confirmations.served()),
    });
  const confirmations = createConfirmations(() => served);
  deps.onReports?.(() => {
    for (const each of [losses, usage, serving, served]) each?.soon();
  });
  const judgedPrices = withReportedJumps(prices, serving);
  const reportLook = createReportLook({
    cache,
    addChain,
    addOrganisations: (organisations) => roots.add({ organisations }),
    addPaymasters: (paymasters) => batches.add(paymasters),
  });
  const batches = createKeyBatches({ timers, handle: (paymasters) => roots.add({ paymasters }) });
  const platform = createPlatformView({
    facts,
    usage,
    unpriced: (chainId) =>
      cache
        .feeTokensOn(chainId)
        .filter(({ spec }) => judgedPrices.answer(spec)?.ok === false)
        .map(({ metadata }) => metadata.name)
        .toSorted()
        .join(', '),
    conditions: (chainId) => inOrder(cache.chainsWith(chainId))[0]?.status?.conditions,
    ...ambient,
    onChange: (chainId) => batches.add(keysOn(chainId)),
  });
  const common = { cache, configs, statuses, facts, signers, layouts, clock, confirmations };
  const reconcilers = {
    paymasters: createPaymasterReconciler({
      ...common,
      view: platform,
      serving,
      usage,
      offeredChains,
      connectionSecrets,
      masterKeys,
      areKeysKnown: rotation?.isUsable ?? (() => true),
      readMethods,
      pace,
      reported: new WeakMap(),
      webhookRules,
      platform: deps.platform ?? openPlatform,
    }),
    chains: createChainReconciler({
      ...common,
      prices: { ...prices, ...judgedPrices },
      dataFees,
      losses,
      usage,
      serving,
      urlPlace: deps.urlPlace,
      masterKeys: rotation?.finding,
      log,
      stopped: metrics.gauge<'chain'>({
        name: 'paymaster_operator_stopped_profiles',
        help: 'Profiles of a chain that nothing is signed for, because the chain has said twice that it could not be mined.',
        labels: ['chain'],
      }),
    }),
    organisations: createOrganisationReconciler({
      ...common,
      offeredChains,
      serving,
      ...given({ tenantAccess }),
    }),
  };
  const roots = createRoots({
    reconcilers: {
      paymasters: withLeaving('Paymaster', reconcilers.paymasters, common),
      chains: withLeaving('Chain', reconcilers.chains, common),
      organisations: withLeaving('Organisation', reconcilers.organisations, common),
    },
    ...ambient,
  });

  const repairs = createRepairs({
    ...ambient,
    cache,
    configs,
    tenantAccess,
    handle: (keys) => roots.add(keys),
  });

  const stopping = Promise.withResolvers<void>();
  let watching: { stop(): Promise<void> } | undefined;
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  let isSynced = false;
  let isLeading = false;

  async function run(): Promise<void> {
    // Changes before the first pass are part of it; before the election another operator handles them.
    const synced = cache.start((change) => {
      if (!isLeading) return;
      roots.add(listKeys(change, cache));
      foreignStatuses.saw(change);
    });
    watching = deps.foreignChanges?.((change) => {
      if (isLeading) repairs.saw(change);
    });
    // A store that never answers must not keep a stopped operator waiting.
    await Promise.race([synced, stopping.promise]);
    if (stopped !== undefined) return;
    isSynced = true;
    leader.start();
    void leader.elected.then(lead);
    void leader.lost.then(abdicate);
  }

  function lead(): void {
    if (stopped !== undefined) return;
    isLeading = true;
    log.info('leading');
    if (rotation === undefined) begin();
    else void rotation.start().then(begin);
  }

  function begin(): void {
    if (stopped !== undefined) return;
    roots.start(allKeys(cache));
    losses?.start();
    serving?.start();
    served?.start();
    usage?.start();
    repairs.start();
  }

  function abdicate(): void {
    if (stopped !== undefined) return;
    log.error('operator lost leadership and stops');
    deps.onLost?.();
    void stop();
  }

  function stop(): Promise<void> {
    stopped ??= (async () => {
      isLeading = false;
      stopping.resolve();
      platform.stop();
      batches.stop();
      foreignStatuses.stop();
      cache.stop();
      await Promise.all([
        watching?.stop(),
        facts.stop(),
        prices.stop(),
        dataFees.stop(),
        losses?.stop(),
        usage?.stop(),
        serving?.stop(),
        served?.stop(),
        roots.stop(),
        rotation?.stop(),
        repairs.stop(),
      ]);
      announcer.stop();
      await leader.stop();
    })();
    return stopped;
  }

  return {
    /** Resolves when every present object is known; a standby waits here until it is elected. */
    start: (): Promise<void> => (started ??= run()),
    /** Finishes the present work and hands leadership over; may be called twice, and before `start` is done. */
    stop,
    /** True when all resources are known and, while this process leads, each has been reconciled once. */
    ready: (): boolean => stopped === undefined && isSynced && (!isLeading || roots.isFirstPassDone()),
  };
}
