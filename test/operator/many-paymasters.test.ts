import { expect, test } from '@jest/globals';
import { createCache } from '../../operator/cache.js';
import { listKeys } from '../../operator/reconcilers/mapping.js';
import { finding, setConditions } from '../../core/meta/conditions.js';
import { silentLogger } from '../../core/log.js';
import { aPaymaster } from '../build/resources.js';
import { compilePaymaster } from '../../core/config/compile.js';
import type { AnyResource } from '../../core/resources/kinds.js';
import type { WatchEvent } from '../../core/resources/resource-store.js';
import { someNow, someSources } from '../build/sources.js';
import { anOrganisation } from '../build/resources.js';
import { growthOf, mostGrowth } from '../support/work.js';

const over = (index: number) => {
  const refused = setConditions([], [finding('Accepted', 'QuotaExceeded')], 1, someNow);
  return aPaymaster({
    meta: { name: `p${index}` },
    name: `P${index}`,
    status: { conditions: refused },
  });
};

/** A cache that holds these objects. */
async function holding(objects: readonly AnyResource[]) {
  const cache = createCache({
    resources: {
      watch: (kind, handler) => {
        for (const object of objects)
          if (object.kind === kind) handler({ type: 'ADDED', object } as WatchEvent<typeof kind>);
        return { synced: Promise.resolve(), stop: () => {} };
      },
    },
    log: silentLogger,
  });
  await cache.start(() => {});
  return cache;
}

test('a paymaster over the quota wakes none of the others over it, and a deletion wakes them all', async () => {
  const waiting = Array.from({ length: 50 }, (_, index) => over(index));
  const cache = await holding(waiting);
  const added = aPaymaster({ meta: { name: 'late' }, name: 'Late' });
  expect(listKeys({ after: added }, cache).paymasters).toEqual(['acme/late']);
  expect(listKeys({ before: added }, cache).paymasters).toHaveLength(51);
  const replaced = { ...added, metadata: { ...added.metadata, uid: 'another' } };
  expect(listKeys({ before: added, after: replaced }, cache).paymasters).toHaveLength(51);
});

test('validating one of many takes time linear in their number', () => {
  const growth = growthOf((size) => {
    const siblings = Array.from({ length: size }, (_, index) => over(index));
    const paymaster = siblings[size - 1] ?? over(0);
    const organisation = anOrganisation({ quotas: { paymasters: 1 } });
    return () => compilePaymaster(someSources({ paymaster, siblings, organisation }));
  }, 1000);
  expect(growth).toBeLessThan(mostGrowth);
});
