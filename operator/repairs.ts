import type { Ambient } from '../core/ambient.js';
import type { ConfigStore } from '../core/config/config-store.js';
import type { ForeignChange } from '../core/resources/foreign-change.js';
import type { TenantAccess } from '../core/tenant-access.js';
import type { Timers } from '../adapters/timers.js';
import type { Cache } from './cache.js';
import type { Keys } from './reconcilers/mapping.js';
import { createSweeper, sweep, sweepGrants } from './sweep.js';

/** Puts back what others delete or change of what the operator has written: soon after it is told, and all of it every ten minutes. */
export function createRepairs(
  deps: Ambient & {
    readonly cache: Cache;
    readonly configs: ConfigStore;
    /** Undefined: the dashboard needs no grants. */
    readonly tenantAccess: TenantAccess | undefined;
    readonly timers: Timers;
    /** Looks at these roots again. */
    readonly handle: (keys: Keys) => void;
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
      if (cache.organisationsOf(namespace).length > 0)
        handle({ paymasters: [], chains: [], organisations: [namespace] });
    },
  };
}
