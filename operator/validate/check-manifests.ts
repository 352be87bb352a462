import { createSqliteConfigStore } from '../../adapters/configs/sqlite/configs.js';
import { applyManifests } from '../../adapters/manifests/apply-manifests.js';
import { createPace } from '../../adapters/pace.js';
import { createSqliteResourceStore } from '../../adapters/resources/sqlite/resources.js';
import { openDatabase } from '../../adapters/sqlite/database.js';
import type { ManifestObject } from '../../adapters/manifests/parse-manifest.js';
import type { PlatformDefaults } from '../../core/config/platform.js';
import { isDomainError } from '../../core/errors.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { layouts } from '../../core/paymaster/layouts.js';
import type { Signers } from '../../core/paymaster/signer.js';
import type { WebhookUrlRules } from '../../core/policy/webhook/webhook-url.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { ConnectionSecrets, MasterKeys } from '../../core/secrets.js';
import { parseAddress } from '../../core/units/address.js';
import { given } from '../../core/units/given.js';
import { plusMs, systemClock, type Clock } from '../../core/units/time.js';
import { createCache } from '../cache.js';
import { createConfirmations } from '../confirmations.js';
import type { ChainFacts } from '../facts/chain-facts.js';
import type { DataFeeFacts } from '../facts/data-fee-facts.js';
import { unknownProfile } from '../facts/facts.js';
import type { PriceFacts } from '../facts/price-facts.js';
import { createMethodReader } from '../method-reader.js';
import { createChainReconciler } from '../reconcilers/chain.js';
import { createConnectionSecretWriter } from '../reconcilers/connection-secret.js';
import { allKeys } from '../reconcilers/mapping.js';
import { createOfferedChains } from '../reconcilers/offered-chains.js';
import { createOrganisationReconciler } from '../reconcilers/organisation.js';
import { createPaymasterReconciler } from '../reconcilers/paymaster.js';
import { createStatusWriter } from '../reconcilers/status.js';
import type { Reconcile } from '../runtime/controller.js';

export type CheckRules = {
  readonly webhookRules: WebhookUrlRules;
  readonly platform: PlatformDefaults;
};

export type CheckResult = Awaited<ReturnType<typeof checkManifests>>;

/**
 * Lets the operator's own reconcilers work on manifests, over stores in memory and without chains, and returns the
 * statuses that they write. `context` is stored first, so it is older: when two objects claim a name, the context keeps
 * it.
 */
export async function checkManifests(
  {
    objects,
    context,
  }: { readonly objects: readonly ManifestObject[]; readonly context: readonly ManifestObject[] },
  rules: CheckRules,
) {
  const db = openDatabase(':memory:', { durability: 'process' });
  try {
    const time = createStillClock();
    const resources = createSqliteResourceStore({ db, clock: time.clock });
    const known = new Map<string, string>();
    const inherited = await applyManifests(resources, [{ objects: context }], known);
    const work = await startReconcilers(
      resources,
      createSqliteConfigStore({ db, clock: time.clock }),
      time.clock,
      rules,
    );
    await work();
    time.advance();
    const before = new Map((await stored(resources, objects)).map((each) => [each.manifest, each.object]));
    const { problems } = await applyManifests(resources, [{ objects }], known);
    await work();
    const after = await stored(resources, objects);
    return {
      /** For which the store refuses objects, as an API server would. */
      problems: [...inherited.problems, ...problems],
      /** Each object that was stored, with the status that the operator gives it. `before`: as the context has it. */
      objects: after.map((each) => ({ ...each, ...given({ before: before.get(each.manifest) }) })),
    };
  } finally {
    db.close();
  }
}

async function stored(resources: ResourceStore, manifests: readonly ManifestObject[]) {
  const found = await Promise.all(
    manifests.map(async (manifest) => ({
      manifest,
      object: await resources.get(manifest.kind, manifest.key),
    })),
  );
  return found.flatMap(({ manifest, object }) => (object === undefined ? [] : [{ manifest, object }]));
}

/** Passes until none changes a status: each may show the next one something, such as a name that became free. */
const maxPasses = 10;

/** Resolves with a function that reconciles everything until nothing moves. */
async function startReconcilers(
  resources: ResourceStore,
  configs: ReturnType<typeof createSqliteConfigStore>,
  clock: Clock,
  { webhookRules, platform }: CheckRules,
): Promise<() => Promise<void>> {
  const cache = createCache({ resources, log: silentLogger });
  let changes = 0;
  await cache.start(() => (changes += 1));
  const offeredChains = createOfferedChains({ cache, layouts });
  const statuses = createStatusWriter({ resources, cache, announcer: { announce: () => undefined }, clock });
  const shared = {
    cache,
    configs,
    statuses,
    facts: noChainFacts,
    confirmations: createConfirmations(() => undefined),
    signers: anySigner,
    layouts,
    clock,
  };
  const paymasters = createPaymasterReconciler({
    ...shared,
    view: { profile: noChainFacts.profile, blocker: () => undefined, unpriced: () => '' },
    serving: undefined,
    usage: undefined,
    offeredChains,
    connectionSecrets: createConnectionSecretWriter({
      secrets: noSecrets,
      masterKeys: throwawayKeys,
      rpcUrlOf: () => '',
      log: silentLogger,
    }),
    masterKeys: throwawayKeys,
    areKeysKnown: () => true,
    readMethods: createMethodReader(),
    pace: createPace(),
    reported: new WeakMap(),
    webhookRules,
    platform,
  });
  const chains = createChainReconciler({
    ...shared,
    prices: noPriceFacts,
    dataFees: noDataFeeFacts,
    losses: undefined,
    serving: undefined,
    usage: undefined,
    urlPlace: undefined,
    masterKeys: undefined,
    log: silentLogger,
    stopped: noMetrics.gauge({ name: 'stopped', help: '', labels: ['chain'] }),
  });
  const organisations = createOrganisationReconciler({
    cache,
    statuses,
    clock,
    offeredChains,
    serving: undefined,
  });

  return async () => {
    for (let pass = 0; pass < maxPasses; pass += 1) {
      changes = 0;
      const keys = allKeys(cache);
      await reconcileAll(organisations, keys.organisations);
      await reconcileAll(chains, keys.chains);
      await reconcileAll(paymasters, keys.paymasters);
      // Watches deliver in a separate turn.
      await new Promise((resolve) => setImmediate(resolve));
      if (changes === 0) return;
    }
  };
}

async function reconcileAll(reconcile: Reconcile, keys: readonly string[]): Promise<void> {
  for (const key of keys)
    await reconcile(key).catch((error: unknown) => {
      // The cache lagged behind a write of this pass: the next pass sees it.
      if (!isDomainError(error, 'WRITE_CONFLICT')) throw error;
    });
}

/**
 * Everything in one folder has the same age, so that names decide between rivals and every run gives the same result.
 */
function createStillClock(): { readonly clock: Clock; advance(): void } {
  let now = systemClock.now();
  return {
    clock: { now: () => now },
    advance: () => {
      now = plusMs(now, 1000);
    },
  };
}

// What the operator has besides the manifests, for a check that contacts nobody: chains, prices, keys and Secrets.

/** Nobody is asked, so every condition about a chain stays Unknown and says nothing for or against a manifest. */
const noChainFacts: ChainFacts = {
  setChain: () => undefined,
  removeChain: () => undefined,
  setPaymaster: () => undefined,
  removePaymaster: () => undefined,
  reachability: () => 'Unknown',
  clock: () => 'Unknown',
  profile: () => unknownProfile,
  funding: () => 'Unknown',
  usability: () => undefined,
  code: () => 'Unknown',
  stop: async () => undefined,
};

const noDataFeeFacts: DataFeeFacts = {
  setChain: () => {},
  removeChain: () => {},
  level: () => 'none',
  stop: () => Promise.resolve(),
};

const noPriceFacts: PriceFacts = {
  setChain: () => undefined,
  removeChain: () => undefined,
  answer: () => undefined,
  stop: async () => undefined,
};

/** Manifests do not say which keys are mounted: each file that a profile names counts as present. */
const anySigner: Pick<Signers, 'get'> = {
  get: () => ({
    address: parseAddress('0x0000000000000000000000000000000000000001'),
    implementation: 'none',
    sign: () => {
      throw new Error('a validation signs nothing');
    },
  }),
};

/** Keys are derived and thrown away with the store. */
const throwawayKeys: MasterKeys = { current: new Uint8Array(32), webhook: new Uint8Array(32) };

const noSecrets: ConnectionSecrets = { write: async () => 'unchanged' };
