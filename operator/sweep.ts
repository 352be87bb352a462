import { tenantGenerationOf, tenantOf } from '../core/config/tenant.js';
import { tombstoneMs } from '../core/config/tombstone.js';
import type { ConfigStore } from '../core/config/config-store.js';
import { listsIn } from '../core/policy/derived.js';
import { paymasterIdOf } from '../core/config/ids.js';
import { formatKey, keyOf } from '../core/meta/meta.js';
import { type EpochMs, plusMs } from '../core/units/time.js';
import type { Paymaster } from '../core/resources/paymaster.js';
import type { TenantAccess } from '../core/tenant-access.js';
import type { Cache } from './cache.js';
import type { Keys } from './reconcilers/mapping.js';
import { organisationOf } from './reconcilers/organisation.js';
import type { Logger } from '../core/log.js';
import { createRepetition } from './runtime/repeat.js';
import type { Timers } from '../adapters/timers.js';

/**
 * Compares the served configs with the resources. Deletes compiled objects whose source is gone (it may have been
 * deleted while no operator ran), deletes old tombstones and lists of addresses that no config names, and returns the sources that are not served, so that they are
 * compiled again.
 */
export async function sweep(
  cache: Cache,
  configs: Pick<
    ConfigStore,
    'listPaymasters' | 'listChains' | 'deletePaymaster' | 'deleteChain' | 'purge' | 'purgeLists'
  >,
  now: EpochMs,
): Promise<Keys> {
  await configs.purge(plusMs(now, -tombstoneMs));
  const served = new Set<string>();
  const named = new Set<string>();
  for (const { config } of await configs.listPaymasters()) {
    for (const hash of listsIn(config)) named.add(hash);
    const source = { namespace: config.namespace, name: config.objectName };
    const paymaster = cache.get('Paymaster', source);
    // Also a config for a former tenant of the namespace.
    if (paymaster === undefined || idOf(cache, paymaster) !== config.paymasterId)
      await configs.deletePaymaster(config.paymasterId);
    else served.add(config.paymasterId);
  }
  const servedChains = new Set<number>();
  for (const { config } of await configs.listChains()) {
    if (config.deniedSenders !== undefined) named.add(config.deniedSenders);
    if (cache.chainsWith(config.chainId).length === 0) await configs.deleteChain(config.chainId);
    else servedChains.add(config.chainId);
  }
  // A config that names a list is stored within seconds after it.
  await configs.purgeLists(named, plusMs(now, -listsLastMs));
  const lostPaymasters = cache.all('Paymaster').filter((paymaster) => !served.has(idOf(cache, paymaster)));
  const lostChains = cache.all('Chain').filter(({ spec }) => !servedChains.has(spec.chainId));
  return {
    paymasters: lostPaymasters.map((paymaster) => formatKey(keyOf(paymaster))),
    chains: lostChains.map(({ spec }) => String(spec.chainId)),
    organisations: [],
  };
}

const listsLastMs = 3_600_000;

function idOf(cache: Pick<Cache, 'organisationsOf'>, paymaster: Paymaster): string {
  const { namespace = '', name } = paymaster.metadata;
  const generation = tenantGenerationOf(paymaster, organisationOf(cache, namespace));
  return paymasterIdOf(tenantOf(namespace, generation), name);
}

/** Namespaces with granted access whose Organisation is gone: it may have been deleted while no operator ran. */
export async function sweepGrants(
  cache: Pick<Cache, 'organisationsOf'>,
  tenantAccess: Pick<TenantAccess, 'granted'>,
): Promise<Keys> {
  const granted = await tenantAccess.granted();
  const organisations = granted.filter((namespace) => cache.organisationsOf(namespace).length === 0);
  return { paymasters: [], chains: [], organisations };
}

/** How often the operator looks for compiled objects and grants whose source was deleted while no operator ran. */
const sweepMs = 10 * 60 * 1000;
/** After a failure: an API server that has just started answers 429 until it has read its definitions. */
const sweepAgainMs = 10_000;

/** Runs all sweeps at its start and then again and again; a sweep that fails does not stop the others. */
export function createSweeper(deps: {
  readonly sweeps: readonly (() => Promise<Keys>)[];
  /** Gets what a sweep has found. */
  readonly handle: (keys: Keys) => void;
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
  return { start: () => repetition.start(0), stop: () => repetition.stop() };
}
