import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createSqliteConfigStore } from '../../../adapters/configs/sqlite/configs.js';
import { withSnapshot } from '../../../adapters/configs/snapshot/with-snapshot.js';
import type { ConfigEvent, ConfigStore, ConfigWatch } from '../../../core/config/config-store.js';
import { silentLogger, type Logger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { systemClock as clock } from '../../../core/units/time.js';
import { aChainConfig, aPaymasterConfig, sha256 } from '../../build/configs.js';
import { configStoreConformance } from '../../conformance/config-store.js';
import { until } from '../../support/until.js';
import { aDatabase } from './sqlite-harness.js';

const timing = { patienceMs: 20, debounceMs: 1, confirmMs: 5 };
const log = silentLogger;
const metrics = noMetrics;

configStoreConformance('SQLite with a snapshot', async () => {
  const database = aDatabase();
  const directory = mkdtempSync(join(tmpdir(), 'snapshot-'));
  const over = (configs: ConfigStore) => withSnapshot({ configs, directory, clock, log, metrics, timing });
  return {
    store: over(createSqliteConfigStore({ db: database.open(), clock })),
    reopen: async () => over(createSqliteConfigStore({ db: database.reopen(), clock })),
    async stop() {
      await database.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
});

describe('a snapshot on disk', () => {
  let database: ReturnType<typeof aDatabase>;
  let store: ConfigStore;
  let directory: string;
  const watches: ConfigWatch[] = [];
  beforeEach(() => {
    database = aDatabase();
    store = createSqliteConfigStore({ db: database.open(), clock });
    directory = mkdtempSync(join(tmpdir(), 'snapshot-'));
  });
  afterEach(async () => {
    for (const watch of watches.splice(0)) watch.stop();
    await database.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const file = () => join(directory, 'configs.snapshot');
  const text = () => (existsSync(file()) ? readFileSync(file(), 'utf8') : '');
  const idOf = (n: number) => `00000000-0000-5000-8000-${String(n).padStart(12, '0')}`;
  const config = (n: number, suspended = false) =>
    aPaymasterConfig({
      paymasterId: idOf(n),
      objectName: `shop-${n}`,
      keys: [{ sha256: sha256(`${n}`) }],
      suspended,
    });

  function watch(configs: ConfigStore, said: Logger = log) {
    const events: ConfigEvent[] = [];
    const started = withSnapshot({ configs, directory, clock, log: said, metrics, timing }).watch((event) =>
      events.push(event),
    );
    watches.push(started);
    return { watch: started, events, served: () => servedBy(events) };
  }

  /** A store that nobody can reach until `come` is called. */
  function away(): { readonly configs: ConfigStore; come(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    return {
      come: resolve,
      configs: {
        ...store,
        watch(handler) {
          let inner: ConfigWatch | undefined;
          const synced = promise.then(() => {
            inner = store.watch(handler);
            return inner.synced;
          });
          return { synced, confirmedAt: () => inner?.confirmedAt() ?? 0, stop: () => inner?.stop() };
        },
      },
    };
  }

  async function keep(): Promise<void> {
    const { watch: first } = watch(store);
    await first.synced;
    await until('it is on disk, with the time', () => text().includes('"confirmed"'));
    first.stop();
  }

  test('is private, and follows every change', async () => {
    await store.putChain(aChainConfig());
    await store.putPaymaster(config(1));
    const { watch: first } = watch(store);
    await first.synced;
    await until('it is on disk', () => text().includes(idOf(1)));
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    await store.putPaymaster(config(2));
    await store.deletePaymaster(idOf(1));
    await until('the changes are on disk', () => text().includes('delete-paymaster'));
    first.stop();
    const { watch: second, served, events } = watch(away().configs);
    await second.synced;
    expect(served()).toEqual([`chain ${aChainConfig().chainId}`, idOf(2)]);
    // Its generation stays known while the store is away.
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'delete-paymaster',
        deletion: expect.objectContaining({ configGeneration: expect.any(Number) }),
      }),
    );
  });

  test('is served when the store does not answer, with the time when it was current', async () => {
    await store.putPaymaster(config(1));
    const before = clock.now();
    await keep();
    const after = clock.now();
    const { watch: second, served } = watch(away().configs);
    await second.synced;
    expect(served()).toEqual([idOf(1)]);
    expect(second.confirmedAt()).toBeGreaterThanOrEqual(before);
    expect(second.confirmedAt()).toBeLessThanOrEqual(after);
  });

  test('gives way to the store as soon as it answers: what changed meanwhile follows, deletions too', async () => {
    await store.putPaymaster(config(1));
    await store.putPaymaster(config(2));
    await keep();
    const late = away();
    const { watch: second, served, events } = watch(late.configs);
    await second.synced;
    await store.deletePaymaster(idOf(1));
    await store.putPaymaster(config(2, true));
    await store.putPaymaster(config(3));
    const stale = second.confirmedAt();
    late.come();
    await until('the store was believed', () => second.confirmedAt() > stale);
    expect(served()).toEqual([idOf(2), idOf(3)]);
    const { chainId } = config(1);
    expect(events).toContainEqual({
      type: 'delete-paymaster',
      paymasterId: idOf(1),
      deletion: { chainId, configGeneration: expect.any(Number) },
    });
  });

  test('is not served when a line is damaged: a state with a hole might sponsor what was forbidden', async () => {
    await store.putPaymaster(config(1));
    await keep();
    writeFileSync(file(), text().replace('"suspended":false', '"suspended":true').replace(idOf(1), idOf(9)));
    const late = away();
    const faults: string[] = [];
    const { watch: second, events } = watch(late.configs, {
      ...log,
      error: (message) => faults.push(message),
    });
    await until('it was found damaged', () => faults.includes('config snapshot not usable'));
    expect(events).toEqual([]);
    late.come();
    await second.synced;
    expect(events.map(({ type }) => type)).toEqual(['put-paymaster']);
  });

  test('loses only a last line that was being written when the process was killed', async () => {
    await store.putPaymaster(config(1));
    await keep();
    appendFileSync(file(), '0123456789abcdef {"type":"delete-pay');
    const { watch: second, served } = watch(away().configs);
    await second.synced;
    expect(served()).toEqual([idOf(1)]);
  });

  test('is written whole again when its changes outgrow it', async () => {
    await store.putPaymaster(config(1));
    const { watch: first } = watch(store);
    await first.synced;
    for (let n = 0; n < 1_100; n++) await store.putPaymaster(config(1, n % 2 === 0));
    await store.putPaymaster(config(2));
    await until('it is small again', () => text().includes(idOf(2)) && text().split('\n').length < 500);
    first.stop();
    const { watch: second, served } = watch(away().configs);
    await second.synced;
    expect(served()).toEqual([idOf(1), idOf(2)]);
  });

  test('costs nothing but itself when the disk refuses', async () => {
    rmSync(directory, { recursive: true });
    writeFileSync(directory, 'a file where the directory should be');
    await store.putPaymaster(config(1));
    const { watch: first, served } = watch(store);
    await first.synced;
    await store.putPaymaster(config(2));
    await until('the change arrived', () => served().length === 2);
  });
});

/** The state of a watcher that got these events. */
function servedBy(events: readonly ConfigEvent[]): readonly string[] {
  const served = new Set<string>();
  for (const event of events)
    switch (event.type) {
      case 'put-chain':
        served.add(`chain ${event.config.chainId}`);
        break;
      case 'put-paymaster':
        served.add(event.config.paymasterId);
        break;
      case 'delete-chain':
        served.delete(`chain ${event.chainId}`);
        break;
      case 'delete-paymaster':
        served.delete(event.paymasterId);
        break;
      case 'put-list':
        served.add(`list ${event.list.hash}`);
        break;
      case 'delete-list':
        served.delete(`list ${event.hash}`);
    }
  return [...served].toSorted((a, b) =>
    a.startsWith('chain') ? -1 : b.startsWith('chain') ? 1 : a < b ? -1 : 1,
  );
}
