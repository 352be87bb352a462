import { describe, expect, test } from '@jest/globals';
import type { ChainConfig } from '../../../core/config/chain-config.js';
import type { ConfigEvent } from '../../../core/config/config-store.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { DomainError, isDomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import type { EpochMs } from '../../../core/units/time.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { createConfigView } from '../../../server/view/config-view.js';
import { chainFence } from '../../../core/usage/reserve-request.js';
import type { SeenConfig } from '../../../server/view/config-view.js';
import { aChainConfig, aPaymasterConfig, sha256, someNow } from '../../build/configs.js';

/** A view over a store whose answers the test sets. */
async function aView() {
  let now: number = someNow;
  let confirmedAt: number = someNow;
  let deliver: (event: ConfigEvent) => void = () => {};
  const stored = new Map<string, PaymasterConfig>();
  const storedChains = new Map<number, ChainConfig>();
  let asked = 0;
  const seen: SeenConfig[] = [];
  let answerAfter: Promise<void> = Promise.resolve();
  const view = createConfigView({
    configs: {
      watch(handler) {
        deliver = handler;
        return { synced: Promise.resolve(), confirmedAt: () => confirmedAt, stop: () => {} };
      },
      async findByKey(key) {
        asked += 1;
        const found = [...stored.values()].find(({ keys }) => keys.some((each) => each.sha256 === key));
        await answerAfter;
        return found;
      },
      getPaymaster: (id) => {
        const config = stored.get(id);
        return Promise.resolve(config === undefined ? undefined : { config, hash: '' });
      },
      getChain: (chainId) => {
        const config = storedChains.get(chainId);
        return Promise.resolve(config === undefined ? undefined : { config, hash: '' });
      },
    },
    signers: { get: () => undefined, recover: () => undefined },
    clock: { now: () => now as EpochMs },
    log: silentLogger,
    instruments: createInstruments(noMetrics),
    onSeen: (each) => seen.push(each),
  });
  await view.start();
  return {
    view,
    seen,
    stored,
    storedChains,
    deliver: (event: ConfigEvent) => deliver(event),
    put: (overrides: Partial<PaymasterConfig> = {}) =>
      deliver({ type: 'put-paymaster', config: aPaymasterConfig(overrides) }),
    advance: (ms: number) => (now += ms),
    confirm: () => (confirmedAt = now),
    asked: () => asked,
    hold: () => {
      let release: () => void = () => {};
      answerAfter = new Promise((resolve) => (release = resolve));
      return release;
    },
  };
}

const key = sha256('some key');

describe('The generation of every config that this replica sees', () => {
  const id = aPaymasterConfig().paymasterId;
  const chainId = 31337;

  test('is reported, whether the config serves, suspends or deletes', async () => {
    const { seen, put, deliver } = await aView();
    put({ configGeneration: 1 });
    put({ configGeneration: 2, suspended: true });
    deliver({ type: 'delete-paymaster', paymasterId: id, deletion: { chainId, configGeneration: 3 } });
    deliver({ type: 'put-chain', config: aChainConfig({ configGeneration: 4 }) });
    deliver({ type: 'delete-chain', chainId, deletion: { chainId, configGeneration: 5 } });
    expect(seen).toEqual([
      { chainId, id, generation: 1, state: 'active' },
      { chainId, id, generation: 2, state: 'suspended' },
      { chainId, id, generation: 3, state: 'deleted' },
      { chainId, id: 'chain', generation: 4, state: 'active' },
      { chainId, id: 'chain', generation: 5, state: 'deleted' },
    ]);
  });

  test('is reported for a config that a look-up reads before the watch', async () => {
    const { view, seen, stored } = await aView();
    stored.set(id, aPaymasterConfig({ keys: [{ sha256: key }], configGeneration: 7 }));
    await view.load(key, 'client');
    expect(seen).toEqual([{ chainId, id, generation: 7, state: 'active' }]);
  });

  test('is not reported when it is more than a minute ahead of the clock; the config is still served', async () => {
    const { view, seen, put, deliver } = await aView();
    put({ keys: [{ sha256: key }], configGeneration: someNow + 60_001 });
    deliver({ type: 'put-chain', config: aChainConfig({ configGeneration: someNow + 60_001 }) });
    const deletion = { chainId, configGeneration: someNow + 60_001 };
    deliver({ type: 'delete-chain', chainId: 1, deletion });
    expect(seen).toEqual([]);
    expect(view.find(key)).toBeDefined();
    put({ keys: [{ sha256: key }], configGeneration: someNow + 60_000 });
    expect(seen).toHaveLength(1);
  });

  test('is not reported for a config that cannot be served: the last good one must stay in force', async () => {
    const { seen, put } = await aView();
    put({ configGeneration: 2, gas: { maxFeePerGas: 'cheap' } });
    expect(seen).toEqual([]);
  });
});

describe('A config that the watch delivers', () => {
  test('is found by each of its keys until it changes or is deleted', async () => {
    const { view, put, deliver } = await aView();
    const [a, b] = [sha256('a'), sha256('b')];
    put({ keys: [{ sha256: a }, { sha256: b }] });
    expect(view.find(a)?.paymasterId).toBe(aPaymasterConfig().paymasterId);
    expect(view.find(b)).toBe(view.find(a));
    put({ keys: [{ sha256: b }] });
    expect(view.find(a)).toBeUndefined();
    expect(view.find(b)).toBeDefined();
    deliver({ type: 'delete-paymaster', paymasterId: aPaymasterConfig().paymasterId });
    expect(view.find(b)).toBeUndefined();
  });

  test('is current until it or its chain changes or is deleted', async () => {
    const { view, put, deliver } = await aView();
    deliver({ type: 'put-chain', config: aChainConfig() });
    put({ keys: [{ sha256: key }], configGeneration: 1 });
    const [first, chain] = [view.find(key)!, view.chain(31337)!];
    expect(view.isCurrent(first, chain)).toBe(true);
    put({ keys: [{ sha256: key }], configGeneration: 2 });
    const second = view.find(key)!;
    expect([view.isCurrent(first, chain), view.isCurrent(second, chain)]).toEqual([false, true]);
    deliver({ type: 'put-chain', config: aChainConfig() });
    expect(view.isCurrent(second, chain)).toBe(false);
    expect(view.isCurrent(second, view.chain(31337)!)).toBe(true);
    deliver({ type: 'delete-paymaster', paymasterId: second.paymasterId });
    expect(view.isCurrent(second, view.chain(31337)!)).toBe(false);
  });

  test('a key that moved to another paymaster stays with it when the first one is deleted', async () => {
    const { view, put, deliver } = await aView();
    put({ paymasterId: 'first', keys: [{ sha256: key }] });
    put({ paymasterId: 'second', keys: [{ sha256: key }] });
    deliver({ type: 'delete-paymaster', paymasterId: 'first' });
    expect(view.find(key)?.paymasterId).toBe('second');
  });

  test('a change of a chain is seen by every paymaster, and its records stay the same objects', async () => {
    const { view, put, deliver } = await aView();
    deliver({ type: 'put-chain', config: aChainConfig() });
    put({ keys: [{ sha256: key }] });
    const before = view.find(key);
    deliver({ type: 'put-chain', config: aChainConfig({ suspended: true }) });
    expect(view.find(key)).toBe(before);
    expect(view.chain(31337)?.suspended).toBe(true);
    deliver({ type: 'delete-chain', chainId: 31337 });
    expect(view.chain(31337)).toBeUndefined();
  });

  test('a config that cannot be served leaves the last good one', async () => {
    const { view, put } = await aView();
    const limit = {
      policyId: 'l',
      name: 'l',
      scope: 'PAYMASTER',
      thresholdType: 'COUNT',
      startMs: someNow,
      durationMs: 1,
    } as const;
    put({ keys: [{ sha256: key }], configGeneration: 1 });
    put({ keys: [{ sha256: key }], configGeneration: 2, limits: [{ ...limit, threshold: 'many' }] });
    put({ keys: [{ sha256: key }], configGeneration: 3, gas: { maxFeePerGas: 'cheap' } });
    expect(view.find(key)?.configGeneration).toBe(1);
  });

  test('a chain config that cannot be served leaves the last good one', async () => {
    const { view, deliver } = await aView();
    deliver({ type: 'put-chain', config: aChainConfig({ suspended: true }) });
    deliver({ type: 'put-chain', config: aChainConfig({ gas: { maxFeePerGas: 'cheap' } }) });
    expect(view.chain(31337)?.suspended).toBe(true);
  });

  test('records are frozen', async () => {
    const { view, put } = await aView();
    put({ keys: [{ sha256: key }] });
    expect(Object.isFrozen(view.find(key))).toBe(true);
  });

  test('staleness is the time since the store last confirmed it', async () => {
    const { view, advance, confirm } = await aView();
    advance(5_000);
    expect(view.staleness()).toBe(5_000);
    confirm();
    expect(view.staleness()).toBe(0);
  });
});

const client = '203.0.113.7';

function outcomeOf(lookup: Promise<unknown>): Promise<string> {
  return lookup.then(
    (found) => (found === undefined ? 'unknown' : 'found'),
    (error: unknown) => (isDomainError(error) ? error.code : 'bug'),
  );
}

describe('A key that the watch has not delivered', () => {
  test('is looked up once for all callers, and remembered until the watch delivers its paymaster', async () => {
    const { view, stored, asked, deliver } = await aView();
    stored.set('new', aPaymasterConfig({ paymasterId: 'new', keys: [{ sha256: key }] }));
    const found = await Promise.all([view.load(key, client), view.load(key, client), view.load(key, client)]);
    expect(found.map((paymaster) => paymaster?.paymasterId)).toEqual(['new', 'new', 'new']);
    expect(asked()).toBe(1);
    stored.delete('new');
    deliver({ type: 'delete-paymaster', paymasterId: 'new' });
    expect(await view.load(key, client)).toBeUndefined();
  });

  test('is not looked up again for ten seconds when it is unknown', async () => {
    const { view, asked, advance } = await aView();
    expect(await view.load(key, client)).toBeUndefined();
    advance(9_999);
    expect(await view.load(key, client)).toBeUndefined();
    expect(asked()).toBe(1);
    advance(1);
    await view.load(key, client);
    expect(asked()).toBe(2);
  });

  test('a paymaster that is deleted while it is looked up is not served', async () => {
    const { view, stored, deliver, hold } = await aView();
    stored.set('gone', aPaymasterConfig({ paymasterId: 'gone', keys: [{ sha256: key }] }));
    const release = hold();
    const lookup = view.load(key, client);
    deliver({ type: 'delete-paymaster', paymasterId: 'gone' });
    release();
    expect(await lookup).toBeUndefined();
  });

  test.each([
    { name: 'with the store', isStored: true },
    { name: 'before the store', isStored: false },
  ])('a paymaster that the watch delivers during its look-up is found, $name', async ({ isStored }) => {
    const { view, stored, put, hold } = await aView();
    const config = aPaymasterConfig({ paymasterId: 'new', keys: [{ sha256: key }] });
    if (isStored) stored.set('new', config);
    const release = hold();
    const lookup = view.load(key, client);
    put(config);
    release();
    expect((await lookup)?.paymasterId).toBe('new');
  });

  test('beyond 20 look-ups a second the answer is RATE_LIMITED, and a known key still works', async () => {
    const { view, put, advance } = await aView();
    put({ keys: [{ sha256: key }] });
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, n) => outcomeOf(view.load(sha256(`wrong ${n}`), `client ${n}`))),
    );
    expect(outcomes.filter((outcome) => outcome === 'unknown')).toHaveLength(20);
    expect(outcomes.filter((outcome) => outcome === 'RATE_LIMITED')).toHaveLength(10);
    expect(view.find(key)).toBeDefined();
    advance(50);
    await expect(view.load(sha256('one more'), client)).resolves.toBeUndefined();
    await expect(view.load(sha256('and another'), client)).rejects.toBeInstanceOf(DomainError);
  });

  test('one client has at most four of them, so that another client finds its new paymaster', async () => {
    const { view, stored } = await aView();
    stored.set('new', aPaymasterConfig({ paymasterId: 'new', keys: [{ sha256: key }] }));
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, n) => outcomeOf(view.load(sha256(`wrong ${n}`), 'a stranger'))),
    );
    expect(outcomes.filter((outcome) => outcome === 'unknown')).toHaveLength(4);
    expect(outcomes.filter((outcome) => outcome === 'RATE_LIMITED')).toHaveLength(26);
    expect((await view.load(key, client))?.paymasterId).toBe('new');
  });

  test('at most ten requests of a client wait for a look-up, also for the same key', async () => {
    const { view, hold } = await aView();
    const release = hold();
    const waiting = Array.from({ length: 15 }, () => outcomeOf(view.load(key, 'a stranger')));
    release();
    const outcomes = await Promise.all(waiting);
    expect(outcomes.filter((outcome) => outcome === 'unknown')).toHaveLength(10);
    expect(outcomes.filter((outcome) => outcome === 'RATE_LIMITED')).toHaveLength(5);
  });
});

describe('Generations', () => {
  const ofPaymaster = { chainId: 31337, id: aPaymasterConfig().paymasterId };
  const ofChain = { chainId: 31337, id: chainFence };

  test('are reported as the watch delivers them: of paymasters and chains, and the next one for a deleted config', async () => {
    const { put, deliver, seen } = await aView();
    put({ configGeneration: 7, suspended: true });
    deliver({ type: 'put-chain', config: aChainConfig({ configGeneration: 9 }) });
    deliver({ type: 'delete-paymaster', paymasterId: aPaymasterConfig().paymasterId });
    deliver({ type: 'delete-chain', chainId: 31337 });
    expect(seen).toEqual([
      { ...ofPaymaster, generation: 7, state: 'suspended' },
      { ...ofChain, generation: 9, state: 'active' },
      { ...ofPaymaster, generation: 8, state: 'deleted' },
      { ...ofChain, generation: 10, state: 'deleted' },
    ]);
  });

  test('of a paymaster that moved are also reported on the chain that it left', async () => {
    const { put, seen } = await aView();
    put({ configGeneration: 1 });
    put({ configGeneration: 2, chainId: 5 });
    expect(seen).toContainEqual({ ...ofPaymaster, generation: 2, state: 'deleted' });
    expect(seen).toContainEqual({ ...ofPaymaster, chainId: 5, generation: 2, state: 'active' });
  });

  test('of a chain config that is older than the stored one are read again with the paymaster', async () => {
    const { view, put, deliver, stored, storedChains } = await aView();
    deliver({ type: 'put-chain', config: aChainConfig({ configGeneration: 1 }) });
    put({ configGeneration: 1 });
    stored.set(aPaymasterConfig().paymasterId, aPaymasterConfig({ configGeneration: 1 }));
    storedChains.set(31337, aChainConfig({ configGeneration: 2, suspended: true }));
    await view.refresh(aPaymasterConfig().paymasterId);
    expect(view.chain(31337)?.suspended).toBe(true);
  });
});
