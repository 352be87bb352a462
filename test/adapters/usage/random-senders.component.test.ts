import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { createPostgresLedger, type StoredLedger } from '../../../adapters/store/ledger/postgres-ledger.js';
import { createSqliteLedger } from '../../../adapters/store/ledger/sqlite-ledger.js';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import type { LedgerWriter } from '../../../core/ledger/ledger.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { toAddressKey, type AddressKey } from '../../../core/units/address.js';
import { systemClock, toSeconds, type EpochSeconds } from '../../../core/units/time.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { always } from '../../../core/usage/window.js';
import { createRecording } from '../../../server/ledger/recording.js';
import { createLedgerRoom } from '../../../server/ledger/room.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { aRefusal } from '../../conformance/ledger-records.js';
import { aBar, aHold, aLimit, aRequest, aSpend, chainId } from '../../conformance/usage-requests.js';
import { sharedPostgres, type SharedPostgres } from '../../support/postgres.js';
import { isSoak } from '../../support/soak-seconds.js';
import { openStore } from './postgres-usage.js';
import { aDirectory } from './sqlite-usage.js';

// Anybody with a public key can be refused as often as he likes, from senders that he makes up, with the longest operations that are
// recorded. That must not make the tables of limits and promises longer, and the ledger not larger than its budget.

const refusals = isSoak ? 1_000_000 : 4_000;
const perRound = 500;
/** As many callers together fill the ledger: one organisation alone gets a fifth of it. */
const organisations = 20;
const budget = isSoak ? 40_000_000 : 1_500_000;
/** What the refusals of a round take with their sums, beyond what they count as. */
const perMeasurement = 500_000;

type Flooded = {
  readonly usage: Pick<UsageStore, 'reserve' | 'accounts' | 'now'>;
  readonly writer: LedgerWriter;
  readonly ledger: StoredLedger;
  /** Of each table of limits and promises. */
  rows(): Promise<unknown>;
};

async function flood({ usage, writer, ledger, rows }: Flooded): Promise<void> {
  const room = createLedgerRoom({ clock: systemClock, processes: 1 });
  const recording = createRecording({
    ledger: writer,
    ledgerRoom: room,
    usage,
    clock: systemClock,
    log: silentLogger,
    instruments: createInstruments(noMetrics),
    usdPerNative: () => undefined,
    // As many as a machine of any speed can send.
    refusalsPerSecond: refusals,
  });
  recording.start();
  open(recording);
  const capacity = (await ledger.size()).used + budget;
  const measured = async (): Promise<number> => {
    const { used } = await room.measured(ledger.size().then((size) => ({ ...size, capacity })));
    return used;
  };
  await measured();
  expect(await ask(usage, aSender(), 1)).toBe('reserved');
  const before = await rows();

  let most = 0;
  let kept = 0;
  for (let asked = 0; asked < refusals; asked += perRound) {
    const outcomes = await Promise.all(
      Array.from({ length: perRound }, async (_, i) => {
        const sender = aSender();
        const outcome = await ask(usage, sender, 0);
        const organisation = `org-${i % organisations}`;
        const of = { organisation, paymasterId: organisation, chainId };
        const record = recording.refusals.add(of, 'LIMIT_REACHED', () =>
          aRefusal(organisation, systemClock.now(), { ...of, ...recording.ids.next(), sender }),
        );
        if (record !== undefined) kept += 1;
        return outcome;
      }),
    );
    expect(new Set(outcomes)).toEqual(new Set(['limit']));
    while (await ledger.rollUp());
    most = Math.max(most, await measured());
  }
  await recording.stop();
  most = Math.max(most, await measured());

  expect(await rows()).toEqual(before);
  // The budget did bind.
  expect(kept).toBeLessThan(refusals);
  expect(kept).toBeGreaterThan(0);
  expect(most).toBeLessThan(capacity * 1.1 + perMeasurement);
}

/** With what a request in tokens names, too: an amount held by its sender, and one that is lost to him. */
async function ask(usage: Flooded['usage'], sender: AddressKey, threshold: number): Promise<string> {
  const result = await usage.reserve(
    aRequest({
      key: { sender, nonce: BigInt(`0x${randomBytes(8).toString('hex')}`) },
      limits: [
        aLimit({ window: always, counter: `each/${sender}` }),
        aSpend(1, { window: always, counter: `own/${sender}` }),
        aLimit({ window: always, counter: 'all', threshold }),
      ],
      holds: [aHold(1, { counter: `tokens/${sender}` })],
      bars: [aBar({ counter: `loss/${sender}` })],
      promise: { validUntil: (toSeconds(systemClock.now()) + 3_600) as EpochSeconds },
    }),
  );
  return result.outcome;
}

function aSender(): AddressKey {
  return toAddressKey(`0x${randomBytes(20).toString('hex')}`);
}

let server: SharedPostgres;
beforeAll(async () => {
  server = await sharedPostgres();
});
afterAll(() => server.stop());

const opened: { stop(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.stop();
});
function open<T extends { stop(): unknown }>(one: T): T {
  opened.push(one);
  return one;
}

test(
  'refusals with random senders leave the tables of PostgreSQL no larger, and the ledger within its budget',
  async () => {
    const url = await server.createDatabase();
    const usage = open(await openStore(url));
    const ledger = open(createPostgresLedger({ address: parsePostgresUrl('url', url), clock: systemClock }));
    const names = ['database', 'chain', 'writer', 'lock', 'counter', 'account', 'fence', 'reservation'];
    await flood({
      usage,
      writer: usage.ledger,
      ledger,
      rows: () =>
        server.query(
          url,
          names
            .map((name) => `SELECT '${name}' AS name, count(*) AS rows FROM usage.${name}`)
            .join(' UNION ALL '),
        ),
    });
  },
  isSoak ? 1_800_000 : 300_000,
);

test(
  'refusals with random senders leave the tables of SQLite no larger, and the ledger within its budget',
  async () => {
    const directory = aDirectory();
    open({ stop: () => directory.remove() });
    const path = join(directory.path, 'usage.sqlite');
    const usage = open(
      createSqliteUsageStore({
        path,
        clock: systemClock,
        log: silentLogger,
        durability: 'process',
      }),
    );
    const ledger = open(await createSqliteLedger({ path }));
    const db = new DatabaseSync(path, { readOnly: true });
    open({ stop: () => db.close() });
    const names = db
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'usage\\_%' ESCAPE '\\'`)
      .all()
      .map(({ name }) => String(name));
    expect(names).toContain('usage_counters');
    await flood({
      usage,
      writer: usage.ledger,
      ledger,
      rows: async () =>
        names.map((name) => [name, db.prepare(`SELECT count(*) AS rows FROM ${name}`).get()?.['rows']]),
    });
  },
  isSoak ? 1_800_000 : 300_000,
);
