import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ConfigEvent, ConfigStore } from '../../core/config/config-store.js';
import { maxContracts, type PaymasterConfig } from '../../core/config/paymaster-config.js';
import { compileAddressList } from '../../core/policy/address-list.js';
import { isDomainError } from '../../core/errors.js';
import type { EpochMs } from '../../core/units/time.js';
import { aChainConfig, addressOf, aPaymasterConfig, sha256 } from '../build/configs.js';
import { until } from '../support/until.js';

export type ConfigStoreHarness = {
  readonly store: ConfigStore;
  /** Opens the same data again after an orderly stop. */
  reopen(): Promise<ConfigStore>;
  stop(): Promise<void>;
};

/** Guarantees of every config store; see the port. */
export function configStoreConformance(
  implementation: string,
  create: () => Promise<ConfigStoreHarness>,
): void {
  describe(`config store on ${implementation}`, () => {
    let harness: ConfigStoreHarness;
    let store: ConfigStore;

    beforeEach(async () => {
      harness = await create();
      store = harness.store;
    });
    afterEach(() => harness.stop());

    const idOf = (n: number) => `00000000-0000-5000-8000-${String(n).padStart(12, '0')}`;
    const config = (n: number, overrides: Partial<PaymasterConfig> = {}) =>
      aPaymasterConfig({
        paymasterId: idOf(n),
        objectName: `shop-${n}`,
        keys: [{ sha256: sha256(`key ${n}`) }],
        ...overrides,
      });

    describe('a put', () => {
      test('stores the whole config with its own generation', async () => {
        const result = await store.putPaymaster(config(1));
        expect(result.changed).toBe(true);
        expect(Number.isSafeInteger(result.configGeneration) && result.configGeneration > 0).toBe(true);
        expect(await store.getPaymaster(idOf(1))).toEqual({
          config: { ...config(1), configGeneration: result.configGeneration },
          hash: result.hash,
        });
      });

      test('of the same content writes nothing, whatever generation and order of members it has', async () => {
        const first = await store.putPaymaster(config(1));
        const turned = Object.fromEntries(Object.entries(config(1)).reverse());
        const again = await store.putPaymaster({ ...config(1), ...turned, configGeneration: 77 });
        expect(again).toEqual({ ...first, changed: false });
      });

      test('of other content raises the generation', async () => {
        const first = await store.putPaymaster(config(1));
        const second = await store.putPaymaster(config(1, { suspended: true }));
        expect(second.changed).toBe(true);
        expect(second.configGeneration).toBeGreaterThan(first.configGeneration);
        expect(second.hash).not.toBe(first.hash);
        expect((await store.getPaymaster(idOf(1)))?.config.suspended).toBe(true);
      });

      test('with an earlier read replaces the stored config, also one that was written meanwhile', async () => {
        const absent = { stored: await store.getPaymaster(idOf(1)) };
        const first = await store.putPaymaster(config(1), absent);
        const read = { stored: await store.getPaymaster(idOf(1)) };
        expect(await store.putPaymaster(config(1), read)).toEqual({ ...first, changed: false });
        const second = await store.putPaymaster(config(1, { suspended: true }), read);
        expect(second.configGeneration).toBeGreaterThan(first.configGeneration);
        for (const outdated of [absent, read]) {
          const named = config(1, { name: `after ${outdated.stored?.hash ?? 'nothing'}` });
          const result = await store.putPaymaster(named, outdated);
          expect(result.changed).toBe(true);
          expect(result.configGeneration).toBeGreaterThan(second.configGeneration);
          expect((await store.getPaymaster(idOf(1)))?.config.name).toBe(named.name);
        }
        await store.deletePaymaster(idOf(1));
        await store.putPaymaster(config(1), read);
        expect((await store.getPaymaster(idOf(1)))?.config.name).toBe(config(1).name);
      });

      test('after a delete goes on counting, since usage stores refuse a generation they have seen', async () => {
        await store.putPaymaster(config(1));
        const last = await store.putPaymaster(config(1, { suspended: true }));
        await store.deletePaymaster(idOf(1));
        const again = await store.putPaymaster(config(1));
        expect(again.changed).toBe(true);
        expect(again.configGeneration).toBeGreaterThan(last.configGeneration);
      });

      test('after a delete gets a generation above that of the deletion, which the tombstone has', async () => {
        const first = await store.putPaymaster(config(1));
        await store.deletePaymaster(idOf(1));
        const tombstone = (await store.getLatest(idOf(1)))?.config;
        expect(tombstone?.deletedAt).toBeDefined();
        expect(tombstone?.configGeneration).toBeGreaterThan(first.configGeneration);
        await store.deletePaymaster(idOf(1));
        expect((await store.getLatest(idOf(1)))?.config).toEqual(tombstone);
        const again = await store.putPaymaster(config(1), { stored: await store.getLatest(idOf(1)) });
        expect(again.configGeneration).toBeGreaterThan(tombstone?.configGeneration ?? 0);
        expect((await store.getLatest(idOf(1)))?.config.deletedAt).toBeUndefined();
      });

      test('that is too large is refused and leaves the stored config', async () => {
        const { configGeneration } = await store.putPaymaster(config(1));
        const contract = (n: number) => ({ name: `c${n}`, address: addressOf(n), selectors: [] });
        const tooMany = Array.from({ length: maxContracts + 1 }, (_, n) => contract(n));
        const tooLong = [{ ...contract(1), name: 'x'.repeat(600 * 1024) }];
        for (const contracts of [tooMany, tooLong]) {
          const error = await store.putPaymaster(config(1, { contracts })).catch((reason: unknown) => reason);
          expect(isDomainError(error, 'INVALID_INPUT')).toBe(true);
        }
        expect((await store.getPaymaster(idOf(1)))?.config).toEqual({ ...config(1), configGeneration });
      });

      test('does not change its argument', async () => {
        const mine = config(1);
        await store.putPaymaster(mine);
        expect(mine).toEqual(config(1));
      });
    });

    test('chains are kept by chain id, apart from paymasters', async () => {
      await store.putChain(aChainConfig({ chainId: 1 }));
      const result = await store.putChain(aChainConfig({ chainId: 10, suspended: true }));
      expect((await store.getChain(10))?.config).toEqual(
        aChainConfig({ chainId: 10, suspended: true, configGeneration: result.configGeneration }),
      );
      expect(
        (await store.listChains()).map(({ config: { chainId } }) => chainId).toSorted((a, b) => a - b),
      ).toEqual([1, 10]);
      expect(await store.listPaymasters()).toEqual([]);
      await store.deleteChain(10);
      expect(await store.getChain(10)).toBeUndefined();
    });

    test('a list holds every config', async () => {
      for (let n = 1; n <= 3; n++) await store.putPaymaster(config(n));
      await store.deletePaymaster(idOf(2));
      expect(
        (await store.listPaymasters()).map(({ config: { paymasterId } }) => paymasterId).toSorted(),
      ).toEqual([idOf(1), idOf(3)]);
    });

    describe('a tombstone', () => {
      test('keeps the memory of its name and nothing that could be served', async () => {
        await store.putPaymaster(config(1, { memory: { keyGeneration: 3 } }));
        await store.deletePaymaster(idOf(1));
        expect((await store.getLatest(idOf(1)))?.config).toMatchObject({
          memory: { keyGeneration: 3 },
          suspended: true,
          keys: [],
          contracts: [],
          contractsRegistered: true,
        });
        expect(await store.getPaymaster(idOf(1))).toBeUndefined();
        expect(await store.listPaymasters()).toEqual([]);
      });

      test('lasts until it is purged; configs that were not deleted stay', async () => {
        await store.putPaymaster(config(1));
        await store.putPaymaster(config(2));
        await store.putChain(aChainConfig({ chainId: 1 }));
        await store.deletePaymaster(idOf(1));
        await store.deleteChain(1);
        const deletedAt = (await store.getLatest(idOf(1)))?.config.deletedAt ?? 0;
        await store.purge(deletedAt as EpochMs);
        expect(await store.getLatest(idOf(1))).toBeDefined();
        await store.purge((deletedAt + 60_000) as EpochMs);
        expect(await store.getLatest(idOf(1))).toBeUndefined();
        expect(await store.getPaymaster(idOf(2))).toBeDefined();
        expect((await store.putPaymaster(config(1))).configGeneration).toBeGreaterThan(0);
      });

      test('is delivered to a watch that begins later, with its generation', async () => {
        await store.putPaymaster(config(1));
        const { chainId } = config(1);
        await store.putChain(aChainConfig({ chainId: 1 }));
        await store.deletePaymaster(idOf(1));
        await store.deleteChain(1);
        const events: ConfigEvent[] = [];
        const watch = store.watch((event) => events.push(event));
        await watch.synced;
        const configGeneration = (await store.getLatest(idOf(1)))?.config.configGeneration;
        expect(events).toHaveLength(2);
        expect(events).toContainEqual({
          type: 'delete-paymaster',
          paymasterId: idOf(1),
          deletion: { chainId, configGeneration },
        });
        expect(events).toContainEqual({
          type: 'delete-chain',
          chainId: 1,
          deletion: { chainId: 1, configGeneration: expect.any(Number) },
        });
        watch.stop();
      });
    });

    describe('a look-up by key', () => {
      test('finds the config that accepts it, by each of its keys', async () => {
        const [old, current] = [sha256('old'), sha256('current')];
        await store.putPaymaster(config(1, { keys: [{ sha256: current }, { sha256: old }] }));
        await store.putPaymaster(config(2));
        expect((await store.findByKey(old))?.paymasterId).toBe(idOf(1));
        expect((await store.findByKey(current))?.paymasterId).toBe(idOf(1));
      });

      test('finds nothing by a key that was replaced or never was', async () => {
        await store.putPaymaster(config(1, { keys: [{ sha256: sha256('old') }] }));
        await store.putPaymaster(config(1, { keys: [{ sha256: sha256('new') }] }));
        expect(await store.findByKey(sha256('old'))).toBeUndefined();
        expect(await store.findByKey(sha256('none'))).toBeUndefined();
      });

      test('finds nothing of a deleted config', async () => {
        await store.putPaymaster(config(1));
        await store.deletePaymaster(idOf(1));
        expect(await store.findByKey(sha256('key 1'))).toBeUndefined();
      });
    });

    describe('a watch', () => {
      function recording() {
        const events: ConfigEvent[] = [];
        const watch = store.watch((event) => events.push(event));
        return { events, watch, told: () => events.map(tell) };
      }

      test('delivers everything present, then each change', async () => {
        const chain = await store.putChain(aChainConfig({ chainId: 1 }));
        const first = await store.putPaymaster(config(1));
        const { watch, told, events } = recording();
        await watch.synced;
        expect(told().toSorted()).toEqual([
          `put-chain 1 #${chain.configGeneration}`,
          `put-paymaster ${idOf(1)} #${first.configGeneration}`,
        ]);
        const second = await store.putPaymaster(config(1, { suspended: true }));
        await store.putPaymaster(config(1, { suspended: true }));
        await store.deletePaymaster(idOf(1));
        await store.deletePaymaster(idOf(1));
        await store.deleteChain(1);
        await until('the deletes came', () => events.length >= 5);
        // In order per object; changes of a paymaster and of a chain may come in any order.
        expect(told().slice(2).toSorted()).toEqual([
          'delete-chain 1',
          `delete-paymaster ${idOf(1)}`,
          `put-paymaster ${idOf(1)} #${second.configGeneration}`,
        ]);
        expect(
          told()
            .filter((text) => text.includes('paymaster '))
            .slice(1),
        ).toEqual([`put-paymaster ${idOf(1)} #${second.configGeneration}`, `delete-paymaster ${idOf(1)}`]);
        watch.stop();
      });

      test('loses no change that is made while the current state is read', async () => {
        const count = 1200;
        for (let n = 0; n < count; n++) await store.putPaymaster(config(n));
        const { watch, events } = recording();
        for (let n = 0; n < count; n += 50) {
          if (n % 100 === 0) await store.putPaymaster(config(n, { suspended: true }));
          else await store.deletePaymaster(idOf(n));
          // Some changes before, some between and some after the parts in which the state is read.
          if (n % 200 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        await watch.synced;
        const seen = () => {
          const view = new Map<string, PaymasterConfig>();
          for (const event of events)
            if (event.type === 'put-paymaster') view.set(event.config.paymasterId, event.config);
            else if (event.type === 'delete-paymaster') view.delete(event.paymasterId);
          return view;
        };
        const wanted = new Map(
          (await store.listPaymasters()).map(({ config: stored }) => [stored.paymasterId, stored]),
        );
        const generations = (view: ReadonlyMap<string, PaymasterConfig>) =>
          [...view].map(([id, { configGeneration }]) => `${id} ${configGeneration}`).toSorted();
        await until(
          'the watcher sees what the store holds',
          () => generations(seen()).join() === generations(wanted).join(),
        );
        expect(seen()).toEqual(wanted);
        watch.stop();
      });

      test('says how far it has come, if the store counts its writes', async () => {
        const { revision: before } = await store.putPaymaster(config(1));
        const { watch, events } = recording();
        await watch.synced;
        const isReached = (kind: 'paymasters' | 'chains', revision: number | undefined): boolean =>
          (watch.reached?.()?.[kind] ?? -1) >= (revision ?? -1);
        expect(isReached('paymasters', before)).toBe(true);
        const { revision: chain } = await store.putChain(aChainConfig());
        const { revision: paymaster } = await store.putPaymaster(config(2));
        await until(
          'the watch has both',
          () => isReached('chains', chain) && isReached('paymasters', paymaster),
        );
        // What it has reached it has delivered.
        if (paymaster !== undefined)
          expect(events.map(({ type }) => type)).toEqual(
            expect.arrayContaining(['put-chain', 'put-paymaster']),
          );
        expect((await store.putPaymaster(config(2))).revision).toBe(paymaster);
        watch.stop();
      });

      test('is silent after stop, and confirms its state until then', async () => {
        const { watch, events } = recording();
        await watch.synced;
        expect(watch.confirmedAt()).toBeGreaterThan(0);
        watch.stop();
        watch.stop();
        const control = recording();
        await control.watch.synced;
        await store.putPaymaster(config(1));
        await until('another watcher heard of it', () => control.events.length === 1);
        expect(events).toEqual([]);
        control.watch.stop();
      });
    });

    test('stored configs are there after a restart', async () => {
      const { configGeneration } = await store.putPaymaster(config(1));
      await store.putChain(aChainConfig());
      const before = [await store.listPaymasters(), await store.listChains()];
      store = await harness.reopen();
      expect([await store.listPaymasters(), await store.listChains()]).toEqual(before);
      expect(await store.putPaymaster(config(1))).toMatchObject({ changed: false, configGeneration });
    });

    describe('a list of addresses', () => {
      const some = compileAddressList([addressOf(2), addressOf(1)]).list;
      const others = compileAddressList([addressOf(3)]).list;
      const empty = compileAddressList([]).list;

      test('is there under its hash, also after a reopening', async () => {
        expect(await store.getList(some.hash)).toBeUndefined();
        for (const list of [some, empty, some]) await store.putList(list);
        store = await harness.reopen();
        for (const list of [some, empty]) expect(await store.getList(list.hash)).toEqual(list);
        expect(await store.getList(others.hash)).toBeUndefined();
      });

      test('may be as large as a policy and a Chain can make it', async () => {
        const large = compileAddressList(
          Array.from({ length: 5_000 }, (_, n) => addressOf(n + 2 ** 40)),
        ).list;
        await store.putList(large);
        expect(await store.getList(large.hash)).toEqual(large);
      });

      test('that is put before a watch comes before the configs, a later one as an event, once', async () => {
        await store.putList(some);
        await store.putChain(aChainConfig());
        await store.putPaymaster(config(1));
        const told: string[] = [];
        const watch = store.watch((event) => told.push(tell(event)));
        await watch.synced;
        expect(told[0]).toBe(`put-list ${some.hash}`);
        await store.putList(others);
        await store.putList(others);
        await store.putList(some);
        await until('the list arrived', () => told.includes(`put-list ${others.hash}`));
        expect(told.filter((each) => each.startsWith('put-list'))).toHaveLength(2);
        watch.stop();
      });

      test('goes when nothing has named it for long, and others stay', async () => {
        const told: string[] = [];
        const watch = store.watch((event) => told.push(tell(event)));
        await watch.synced;
        for (const list of [some, others]) await store.putList(list);
        const future = (Date.now() + 10 ** 12) as EpochMs;
        expect(await store.purgeLists(new Set(), 0 as EpochMs)).toEqual(new Set());
        const lost = await store.purgeLists(new Set([some.hash, 'never put']), 0 as EpochMs);
        expect(lost).toEqual(new Set(['never put']));
        for (const list of [some, others]) expect(await store.getList(list.hash)).toEqual(list);
        for (const _ of [1, 2]) await store.purgeLists(new Set([others.hash]), future);
        expect(await store.getList(some.hash)).toBeUndefined();
        expect(await store.getList(others.hash)).toEqual(others);
        await until('the watch heard of it', () => told.includes(`delete-list ${some.hash}`));
        watch.stop();
      });
    });
  });
}

function tell(event: ConfigEvent): string {
  switch (event.type) {
    case 'put-paymaster':
      return `${event.type} ${event.config.paymasterId} #${event.config.configGeneration}`;
    case 'put-chain':
      return `${event.type} ${event.config.chainId} #${event.config.configGeneration}`;
    case 'delete-paymaster':
      return `${event.type} ${event.paymasterId}`;
    case 'delete-chain':
      return `${event.type} ${event.chainId}`;
    case 'put-list':
      return `${event.type} ${event.list.hash}`;
    case 'delete-list':
      return `${event.type} ${event.hash}`;
  }
}
