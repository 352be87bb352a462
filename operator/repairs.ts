import type { Timers } from '../adapters/timers.js';
import type { Ambient } from '../core/ambient.js';
import type { ConfigStore } from '../core/config/config-store.js';
import { derivePaymasterId } from '../core/config/ids.js';
import { findTenantGeneration, toTenant } from '../core/config/tenant.js';
import { tombstoneMs } from '../core/config/tombstone.js';
import type { Logger } from '../core/log.js';
import { formatKey, objectKey } from '../core/meta/meta.js';
import { listsIn } from '../core/policy/derived.js';
import type { ForeignChange } from '../core/resources/foreign-change.js';
import type { Paymaster } from '../core/resources/paymaster.js';
import type { TenantAccess } from '../core/tenant-access.js';
import { plusMs, type EpochMs } from '../core/units/time.js';
import type { Cache } from './cache.js';
import type { Keys } from './reconcilers/mapping.js';
import { findOrganisation } from './reconcilers/organisation.js';
import { createRepetition } from './runtime/repeat.js';

/** Restores objects of the operator that others delete or change: soon after the watch reports it, and all of them every ten minutes. */
export function createRepairs(
  deps: Ambient & {
    readonly cache: Cache;
    readonly configs: ConfigStore;
    /** Undefined: the dashboard needs no grants. */
    readonly tenantAccess: TenantAccess | undefined;
    readonly timers: Timers;
    /** Reconciles these roots again. */
    readonly handle: (keys: Partial<Keys>) => void;
  },
) {
  const { cache, configs, tenantAccess, clock, handle } = deps;
  /** Names of compiled objects that others have changed since the last sweep. */
  const changedConfigs = new Set<string>();
  const sweeper = createSweeper({
    ...deps,
    sweeps: [
      async () => {
        const changed = new Set(changedConfigs);
        const keys = await sweep(cache, configs, clock.now(), changed);
        for (const each of changed) changedConfigs.delete(each);
        return keys;
      },
      ...(tenantAccess === undefined ? [] : [() => sweepGrants(cache, tenantAccess)]),
    ],
  });

  return {
    ...sweeper,
    saw({ kind, namespace, name }: ForeignChange): void {
      if (kind !== 'RoleBinding') {
        changedConfigs.add(name);
        return sweeper.soon();
      }
      // A binding in any other namespace belongs to another installation, or was revoked.
      if (cache.organisationsOf(namespace).length > 0) handle({ organisations: [namespace] });
    },
  };
}

/**
 * Compares the served configs with the resources. Deletes compiled objects whose source is gone (it may have been
 * deleted while no operator ran), deletes old tombstones and lists of addresses that no config names, and returns the sources that
 * are not served, whose list of addresses is not there, or whose config is among `changed`, so that they are compiled again.
 */
export async function sweep(
  cache: Cache,
  configs: Pick<
    ConfigStore,
    'listPaymasters' | 'listChains' | 'deletePaymaster' | 'deleteChain' | 'purge' | 'purgeLists'
  >,
  now: EpochMs,
  changed: ReadonlySet<string> = new Set(),
): Promise<Keys> {
  await configs.purge(plusMs(now, -tombstoneMs));
  const served = new Map<string, readonly string[]>();
  for (const { config } of await configs.listPaymasters()) {
    const source = { namespace: config.namespace, name: config.objectName };
    const paymaster = cache.get('Paymaster', source);
    // Also a config for a former tenant of the namespace.
    if (paymaster === undefined || findPaymasterId(cache, paymaster) !== config.paymasterId)
      await configs.deletePaymaster(config.paymasterId);
    else served.set(config.paymasterId, listsIn(config));
  }
  const servedChains = new Map<number, readonly string[]>();
  for (const { config } of await configs.listChains()) {
    if (cache.chainsWith(config.chainId).length === 0) await configs.deleteChain(config.chainId);
    else servedChains.set(config.chainId, config.deniedSenders === undefined ? [] : [config.deniedSenders]);
  }
  const named = new Set([...served.values(), ...servedChains.values()].flat());
  // A config that names a list is stored within seconds after it.
  const gone = await configs.purgeLists(named, plusMs(now, -listsLastMs));
  const isWhole = (lists: readonly string[] | undefined): boolean =>
    lists !== undefined && !lists.some((hash) => gone.has(hash));
  const lostPaymasters = cache.all('Paymaster').filter((paymaster) => {
    const id = findPaymasterId(cache, paymaster);
    return changed.has(id) || !isWhole(served.get(id));
  });
  const lostChains = cache
    .all('Chain')
    .filter(
      ({ spec: { chainId } }) => changed.has(`chain-${chainId}`) || !isWhole(servedChains.get(chainId)),
    );
  return {
    paymasters: lostPaymasters.map((paymaster) => formatKey(objectKey(paymaster))),
    chains: lostChains.map(({ spec }) => String(spec.chainId)),
    organisations: [],
  };
}

const listsLastMs = 3_600_000;

function findPaymasterId(cache: Pick<Cache, 'organisationsOf'>, paymaster: Paymaster): string {
  const { namespace = '', name } = paymaster.metadata;
  const generation = findTenantGeneration(paymaster, findOrganisation(cache, namespace));
  return derivePaymasterId(toTenant(namespace, generation), name);
}

/**
 * Namespaces with granted access whose Organisation is gone, which may have been deleted while no operator ran; and those of all
 * Organisations, because nothing says that a namespace was deleted, or has lost its label.
 */
async function sweepGrants(
  cache: Pick<Cache, 'all'>,
  tenantAccess: Pick<TenantAccess, 'granted'>,
): Promise<Partial<Keys>> {
  const granted = await tenantAccess.granted();
  const wanted = cache.all('Organisation').map(({ spec }) => spec.namespace);
  return { organisations: [...new Set([...granted, ...wanted])] };
}

/** How often the operator compares all that it has made with what it would make. */
const sweepMs = 10 * 60 * 1000;
/** After somebody else has changed a compiled object; with thousands of them a sweep takes seconds. */
const sweepSoonMs = 5_000;
/** After a failure: an API server that has just started answers 429 until it has read its definitions. */
const sweepAgainMs = 10_000;

/** Runs all sweeps at its start and then again and again; a sweep that fails does not stop the others. */
function createSweeper(deps: {
  readonly sweeps: readonly (() => Promise<Partial<Keys>>)[];
  /** Gets what a sweep has found. */
  readonly handle: (keys: Partial<Keys>) => void;
  readonly timers: Timers;
  readonly log: Logger;
}) {
  const { sweeps, handle, timers, log } = deps;
  const repetition = createRepetition(timers, async () => {
    let nextMs = sweepMs;
    for (const each of sweeps)
      await each().then(handle, (error: unknown) => {
        nextMs = sweepAgainMs;
        log.warn('sweep failed', { error });
      });
    return nextMs;
  });
  return {
    start: () => repetition.start(0),
    /** Sweeps within seconds. */
    soon: () => repetition.soon(sweepSoonMs),
    stop: () => repetition.stop(),
  };
}
