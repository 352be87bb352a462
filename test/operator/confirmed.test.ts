import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createSqliteConfigStore } from '../../adapters/configs/sqlite/configs.js';
import { openDatabase } from '../../adapters/sqlite/database.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import type { Reports } from '../../core/reports/reports.js';
import { servedLeaseMs, servedReports, type ServedReport } from '../../core/reports/config-revisions.js';
import type { EpochMs } from '../../core/units/time.js';
import { aChain, anOrganisation, aPaymaster } from '../build/resources.js';
import { conditionOf, isReady, startWorld, type World } from './world.js';

// Ready is what `kubectl wait` waits for: it must mean that somebody signs. Stores count their writes; replicas report how far they are.

let world: World;
/** What replicas have reported. */
let reported: Map<string, ServedReport>;
let writes: number;
let changed: (() => void) | undefined;

const until = Number.MAX_SAFE_INTEGER as EpochMs;
const reports = {
  all: async (subject: string) => (subject === 'served' ? new Map(reported) : new Map()),
} as Pick<Reports, 'all'>;

/** A store whose writes have revisions, as those of an API server have. */
function counted(configs: ConfigStore): ConfigStore {
  const revisions = new Map<string, number>();
  const revised = async <T extends { readonly changed: boolean }>(name: string, put: Promise<T>) => {
    const result = await put;
    if (result.changed) revisions.set(name, (writes += 1));
    return { ...result, revision: revisions.get(name) ?? 0 };
  };
  return {
    ...configs,
    putPaymaster: (config, read) => revised(config.paymasterId, configs.putPaymaster(config, read)),
    putChain: (config) => revised(String(config.chainId), configs.putChain(config)),
  };
}

beforeEach(async () => {
  reported = new Map();
  writes = 100;
  const time = { now: () => world.time.clock.now() };
  const configs = createSqliteConfigStore({
    db: openDatabase(':memory:', { durability: 'process' }),
    clock: time,
  });
  world = await startWorld({
    isEmpty: true,
    deps: { reports, configs: counted(configs), onReports: (handler) => (changed = handler) },
  });
  await world.apply(anOrganisation(), aChain(), aPaymaster());
});
afterEach(() => world.close());

const ready = async () => conditionOf(await world.get('Paymaster', 'shop'), 'Ready');
const serving = async () => conditionOf(await world.get('Paymaster', 'shop'), 'Serving');
const waits = () =>
  world.until('it waits for a replica', async () => (await ready()) === 'Unknown/NotServed');

function report(replica: string, paymasters: number, chains = paymasters): void {
  reported.set(replica, { paymasters, chains, until });
  changed?.();
}

test('a Paymaster that no replica serves is not Ready, and says why', async () => {
  await waits();
  await world.settle();
  expect([await ready(), await serving()]).toEqual(['Unknown/NotServed', 'Unknown/Unknown']);
  report('behind', 100);
  await world.settle();
  expect(await ready()).toBe('Unknown/NotServed');
});

test('it is Ready as soon as one replica serves it, whatever the others say', async () => {
  await waits();
  report('dead', 100);
  report('alive', writes);
  await world.until('it is ready', isReady(world));
  expect(await serving()).toBe('True/Serving');
});

test('a replica that has not got the Chain does not serve it', async () => {
  await waits();
  report('early', writes, 100);
  await world.settle();
  expect(await ready()).toBe('Unknown/NotServed');
  report('early', writes);
  await world.until('it is ready', isReady(world));
});

test('a change does not take Ready away: the config of before is served meanwhile', async () => {
  await waits();
  report('alive', writes);
  await world.until('it is ready', isReady(world));
  const before = writes;
  await world.apply(aPaymaster({ keyGeneration: 2 }));
  await world.until('the change is compiled', () => writes > before);
  await world.settle();
  expect(await ready()).toBe('True/Ready');
});

test('one whose config is made again waits again', async () => {
  await waits();
  report('alive', writes);
  await world.until('it is ready', isReady(world));
  await world.remove('Paymaster', 'shop');
  await world.settle();
  await world.apply(aPaymaster());
  await waits();
});

test('it waits on after a restart of the operator', async () => {
  await waits();
  await world.restart();
  await world.settle();
  expect(await ready()).toBe('Unknown/NotServed');
  report('alive', writes);
  await world.until('it is ready', isReady(world));
});

test('of replicas that have come as far one writes, and who has ended is forgotten', () => {
  const now = 1_760_000_000_000 as EpochMs;
  const at = (paymasters: number, leftMs = servedLeaseMs): ServedReport => ({
    paymasters,
    chains: 7,
    until: (now + leftMs) as EpochMs,
  });
  const merged = (present: object, added: object) =>
    Object.fromEntries(
      servedReports.merge(new Map(Object.entries(present)), new Map(Object.entries(added)), now),
    );
  expect(merged({ a: at(9) }, { b: at(9) })).toEqual({ a: at(9) });
  expect(merged({ a: at(9) }, { b: at(10) })).toEqual({ a: at(9), b: at(10) });
  expect(merged({ a: at(9, servedLeaseMs / 3) }, { b: at(9) })).toEqual({
    a: at(9, servedLeaseMs / 3),
    b: at(9),
  });
  expect(merged({ a: at(9, -1) }, {})).toEqual({});
  // Nobody writes such a time: otherwise one wrong report would speak for ever.
  expect(merged({ a: at(9, 100 * servedLeaseMs) }, { b: at(9) })).toEqual({ b: at(9) });
});

test('a report is read as it is written, and any other text is not one', () => {
  const report: ServedReport = { paymasters: 4711, chains: 4690, until };
  expect(servedReports.parse(servedReports.format(report))).toEqual(report);
  for (const text of ['', '1 2', '1 2 3 4', '1 2 x', '-1 2 3', '1 2.5 3'])
    expect(servedReports.parse(text)).toBeUndefined();
});
