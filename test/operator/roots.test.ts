import { expect, test } from '@jest/globals';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { createRoots } from '../../operator/roots.js';
import type { Roots } from '../../operator/roots.js';
import { createVirtualTime, turn } from './virtual-time.js';

const none = { paymasters: [], chains: [], organisations: [] };
const all = Array.from({ length: 200 }, (_, index) => `shops/shop-${index}`);

/** Roots whose paymasters are reconciled as fast as the event loop turns; `worked` grows with each. */
function someRoots(): { readonly roots: Roots; readonly worked: string[] } {
  const { clock, timers } = createVirtualTime();
  const worked: string[] = [];
  const nothing = async () => ({});
  const roots = createRoots({
    reconcilers: {
      async paymasters(key) {
        worked.push(key);
        await turn();
        return {};
      },
      chains: nothing,
      organisations: nothing,
    },
    clock,
    timers,
    log: silentLogger,
    metrics: noMetrics,
  });
  return { roots, worked };
}

test.each<{ readonly name: string; readonly begin: (roots: Roots) => void }>([
  {
    name: 'everything that is looked at at the start',
    begin: (roots) => roots.start({ ...none, paymasters: all }),
  },
  {
    name: 'all paymasters of a chain that was edited',
    begin(roots) {
      roots.start(none);
      roots.add({ ...none, paymasters: all });
    },
  },
])('a change of one paymaster does not wait for $name', async ({ begin }) => {
  const { roots, worked } = someRoots();
  begin(roots);
  await turn();
  const before = worked.length;
  expect(before).toBeLessThan(all.length / 2);
  roots.add({ ...none, paymasters: ['shops/changed'] });
  while (worked.length <= all.length) await turn();
  // Running reconciles finish first, and one of the others may run before it.
  expect(worked.indexOf('shops/changed') - before).toBeLessThan(2 * 8);
  expect(new Set(worked)).toEqual(new Set([...all, 'shops/changed']));
  await roots.stop();
});
