import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createSqliteConfigStore } from '../../adapters/configs/sqlite/configs.js';
import { openDatabase } from '../../adapters/sqlite/database.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import type { AnyResource } from '../../core/resources/kinds.js';
import { aChain, aLimit, aPaymaster, aPolicy, aSmartContract, anOrganisation } from '../build/resources.js';
import { runs } from '../support/property.js';
import { startWorld } from './world.js';
import type { World } from './world.js';
import { turn } from './virtual-time.js';

/** Versions of each object that a history may write. They never conflict, so history must not matter. */
const versions: Readonly<Record<string, readonly AnyResource[]>> = {
  organisation: [anOrganisation(), anOrganisation({ tokens: [{ name: 't', sha256: 'a'.repeat(64) }] })],
  chain: [aChain(), aChain({ suspended: true }), aChain({ confirmations: 1 })],
  shop: [aPaymaster(), aPaymaster({ suspended: true }), aPaymaster({ maxExpirySeconds: 60 })],
  other: [aPaymaster({ meta: { name: 'other' }, name: 'Other' })],
  nft: [aSmartContract(), aSmartContract({ active: false }), aSmartContract({ abi: '[]' })],
  art: [
    aSmartContract({
      meta: { name: 'art' },
      name: 'Art',
      address: `0x${'2'.repeat(40)}`,
      whitelistedMethods: ['mint'],
    }),
  ],
  limit: [aPolicy(), aPolicy({ active: false }), aPolicy({ spendingLimit: { ...aLimit, threshold: '99' } })],
  deploy: [
    aPolicy({ meta: { name: 'deploy' }, name: 'D', policyType: 'WALLET_DEPLOYMENT', walletDeployment: {} }),
  ],
};
const names = Object.keys(versions);

type Step = {
  readonly object: string;
  readonly version: number;
  readonly do: 'apply' | 'remove' | 'restart' | 'wait';
};
const history = fc.array(
  fc.record<Step>({
    object: fc.constantFrom(...names),
    version: fc.nat(5),
    do: fc.constantFrom('apply', 'apply', 'apply', 'remove', 'restart', 'wait'),
  }),
  { maxLength: 25 },
);

async function play(world: World, { object, version, do: what }: Step): Promise<void> {
  const written = versions[object]?.[version % versions[object].length];
  if (written === undefined) return;
  const present = await world.resources.get(written.kind, {
    name: written.metadata.name,
    ...(written.metadata.namespace === undefined ? {} : { namespace: written.metadata.namespace }),
  });
  if (what === 'apply') await world.apply(written);
  if (what === 'remove' && present !== undefined) await world.remove(written.kind, written.metadata.name);
  if (what === 'restart') await world.restart();
  if (what === 'wait') {
    await turn();
    world.time.advance(700);
  }
}

/**
 * The served configs, without what depends on history: how often they changed, when a cycle began, and what a name
 * remembers of limits that were deleted.
 */
function timeless(configs: readonly { readonly config: PaymasterConfig }[]): unknown {
  return configs
    .map(({ config: { memory: _memory, ...config } }) => ({
      ...config,
      configGeneration: 0,
      limits: config.limits.map((limit) => ({ ...limit, startMs: 0 })),
    }))
    .sort((a, b) => (a.paymasterId < b.paymasterId ? -1 : 1));
}

/** Its cycle is remembered for a limit of the same name, so that deleting it does not restart it. */
const limitThatIsDeleted: readonly Step[] = [
  ...['organisation', 'chain', 'shop', 'limit'].flatMap((object): readonly Step[] => [
    { object, version: 0, do: 'apply' },
    { object, version: 0, do: 'wait' },
  ]),
  { object: 'limit', version: 0, do: 'remove' },
];

test('for every history, the served configs depend only on the current resources', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const world = await startWorld();
      const db = openDatabase(':memory:', { durability: 'process' });
      try {
        for (const step of steps) await play(world, step);
        await world.settle();
        const { configs } = world;
        const served = timeless(await configs.listPaymasters());
        const chains = await configs.listChains();

        // An operator that never saw the history, over an empty store.
        const fresh = createSqliteConfigStore({ db, clock: world.time.clock });
        await world.restart({ configs: fresh });
        await world.settle();
        expect(served).toEqual(timeless(await fresh.listPaymasters()));
        expect(chains.map(({ hash }) => hash)).toEqual((await fresh.listChains()).map(({ hash }) => hash));
      } finally {
        await world.close();
        db.close();
      }
    }),
    { ...runs(25), examples: [[limitThatIsDeleted]] },
  );
});
