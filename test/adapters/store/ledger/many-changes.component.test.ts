import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { v7 as recordId } from 'uuid';
import { columns, columnNames } from '../../../../adapters/store/ledger/columns.js';
import { readChanges, recordChange } from '../../../../adapters/store/ledger/changes.js';
import { postgresDialect, sqliteDialect, type Dialect } from '../../../../adapters/store/ledger/dialect.js';
import { makeParts } from '../../../../adapters/store/ledger/partitions.js';
import { dayOfTime } from '../../../../adapters/store/ledger/record-rows.js';
import type { ChangeQuery, ChangeWrite } from '../../../../core/ledger/change.js';
import { rollupUnits } from '../../../../core/ledger/steps.js';
import type { EpochMs } from '../../../../core/units/time.js';
import { at } from '../../../conformance/ledger-records.js';
import { sharedPostgres, type SharedPostgres } from '../../../support/postgres.js';
import { openPostgresLedger, openSqliteLedger, type WrittenLedger } from './written.js';

// The record of changes of an organisation that is edited all day, for as long as it is kept, in both stores.

const now = at('2026-11-20T12:00:00Z');
const edits = 100_000;
const days = 399;
const ago = (time: number): EpochMs => (now - time * rollupUnits.day) as EpochMs;

let server: SharedPostgres;
beforeAll(async () => {
  server = await sharedPostgres();
});
afterAll(() => server.stop());

/** A ledger, with SQL of one's own. `plan`: how the store would do it. */
type Opened = {
  readonly ledger: WrittenLedger;
  readonly dialect: Dialect;
  run(text: string, values?: readonly unknown[]): Promise<readonly unknown[]>;
  plan(text: string, values: readonly unknown[]): Promise<string>;
  partsFor(times: readonly EpochMs[]): Promise<void>;
};

const stores = {
  PostgreSQL: async (): Promise<Opened> => {
    const ledger = openPostgresLedger(await server.createDatabase(), { clock: { now: () => now } });
    await ledger.ping();
    const run: Opened['run'] = (text, values = []) =>
      ledger.postgres.transaction({ mode: 'write', timeoutMs: 60_000 }, (session) =>
        session.query(text, values),
      );
    return {
      ledger,
      dialect: postgresDialect,
      run,
      plan: async (text, values) => {
        await run('ANALYZE ledger.change');
        return JSON.stringify(await run(`EXPLAIN ${text}`, values));
      },
      partsFor: (times) => makeParts(ledger.postgres, ['change'], times),
    };
  },
  SQLite: async (): Promise<Opened> => {
    const ledger = await openSqliteLedger();
    const run: Opened['run'] = async (text, values = []) =>
      ledger.db.sql
        .prepare(text)
        .all(Object.fromEntries(values.map((value, i) => [`$${i + 1}`, value as string | number | null])));
    return {
      ledger,
      dialect: sqliteDialect,
      run,
      plan: async (text, values) => JSON.stringify(await run(`EXPLAIN QUERY PLAN ${text}`, values)),
      partsFor: async () => undefined,
    };
  },
};

/** Written as the store writes them, many at once. */
async function insert(
  { run, dialect, partsFor }: Opened,
  rows: readonly Readonly<Record<string, unknown>>[],
) {
  await partsFor(rows.map(({ at: time }) => time as EpochMs));
  const names = columnNames('change');
  const cells = names.map((name) => (name === 'fields' ? dialect.json(name) : name));
  for (let from = 0; from < rows.length; from += 10_000)
    await run(
      `INSERT INTO ${dialect.table('change')} (${names.join(', ')})
       SELECT ${cells.join(', ')} FROM ${dialect.rows('$1', 'added', columns.change)}`,
      [JSON.stringify(rows.slice(from, from + 10_000))],
    );
}

function aRow(organisation: string, time: EpochMs, index: number) {
  const [before, after] = [`"${index}"`, `"${index + 1}"`];
  return {
    day: dayOfTime(time),
    id: recordId({ msecs: time, seq: index }),
    at: time,
    organisation,
    action: 'changed',
    kind: 'PaymasterPolicy',
    namespace: organisation,
    name: `limit-${index % 100}`,
    uid: `u-${index % 100}`,
    generation: index,
    author: 'ci',
    request_id: `r${index}`,
    fields: JSON.stringify([{ field: 'spec.spendingLimit.threshold', before, after }]),
    left_out: 0,
  };
}

function aWrite(generation: number, time: EpochMs, organisation = 'busy'): ChangeWrite {
  return {
    at: time,
    organisation,
    action: 'changed',
    object: { kind: 'Paymaster', namespace: organisation, name: 'shop', uid: 'u-shop', generation },
    fields: [{ field: 'spec.keyGeneration', before: String(generation - 1), after: String(generation) }],
    author: { name: 'ci', requestId: `r${generation}` },
  };
}

describe.each(Object.entries(stores))('100,000 changes in %s', (store, open) => {
  let opened: Opened;
  let ids: readonly string[];
  beforeAll(async () => {
    opened = await open();
    const rows = [...Array(edits).keys()].map((index) =>
      aRow('busy', (ago(days) + Math.floor((index * days * rollupUnits.day) / edits)) as EpochMs, index),
    );
    ids = rows.map(({ id }) => id).toReversed();
    const few = [300, 200, 100].map((time) => aRow('quiet', ago(time), time));
    await insert(opened, [...rows, ...few]);
  });
  afterAll(() => opened.ledger.stop());

  const query = (change: Partial<ChangeQuery> = {}): ChangeQuery => ({
    organisation: 'busy',
    from: ago(days + 1),
    to: (now + rollupUnits.minute) as EpochMs,
    limit: 500,
    ...change,
  });

  /** How the store does what `work` asks of it, a plan for each statement on the changes. */
  async function plansOf(
    work: (reader: Parameters<typeof readChanges>[0]) => Promise<unknown>,
  ): Promise<string> {
    const { dialect, run, plan } = opened;
    const plans: string[] = [];
    await work({
      dialect,
      query: async (text, values = []) => {
        if (text.includes(dialect.table('change'))) plans.push(await plan(text, values));
        return (await run(text, values)) as Readonly<Record<string, never>>[];
      },
    });
    return plans.join('\n');
  }
  const readsAll = /Seq Scan|SCAN ledger_change/;
  const sorts = /"Sort|TEMP B-TREE/;

  test.each([
    { name: 'the first page', change: {} },
    { name: 'a page in the middle', change: { isMiddle: true } },
    { name: 'a page of an organisation with few among many', change: { organisation: 'quiet' } },
  ])(
    '$name is read from its begin to its end, and nothing is sorted',
    async ({ change: { isMiddle, ...change } }) => {
      const before = isMiddle ? { before: ids[50_000]! } : {};
      const plan = await plansOf((reader) => readChanges(reader, query({ ...change, ...before })));
      expect(plan).toContain('organisation');
      expect(plan).not.toMatch(readsAll);
      expect(plan).not.toMatch(sorts);
    },
  );

  test('a change is recorded without reading those of other organisations', async () => {
    const write = aWrite(1, now, 'late');
    expect(await plansOf((reader) => recordChange(reader, write))).not.toMatch(readsAll);
    const page = await opened.ledger.changes!.list(query({ organisation: 'late' }));
    expect(page.changes.map(({ author }) => author)).toEqual([write.author]);
  });

  test('pages have each of them once and in order, while others write', async () => {
    const { changes } = opened.ledger;
    const seen: string[] = [];
    let generation = 0;
    for (let before: string | undefined; ;) {
      const page = await changes!.list(query(before === undefined ? {} : { before }));
      expect(page.changes.length).toBeLessThanOrEqual(500);
      seen.push(...page.changes.map(({ id }) => id));
      before = page.next;
      if (before === undefined) break;
      if (seen.length % 10_000 === 0) await changes!.record(aWrite(++generation, now));
    }
    expect(generation).toBe(9);
    expect(seen).toEqual(ids);
    expect((await changes!.list(query({ limit: 9 }))).changes.map(({ object }) => object.generation)).toEqual(
      [9, 8, 7, 6, 5, 4, 3, 2, 1],
    );
  });

  test('when all are too old they go, call by call, and the next change still says what it was', async () => {
    const { ledger, partsFor } = opened;
    const later = (now + 500 * rollupUnits.day) as EpochMs;
    let calls = 1;
    for (; await ledger.prune(later); calls++) expect(calls).toBeLessThan(1_000);
    await partsFor([later]);
    await ledger.changes!.record(aWrite(10, later));
    const { changes } = await ledger.changes!.list(query({ to: (later + 1) as EpochMs }));
    expect(changes[0]).toMatchObject({
      fields: [{ field: 'spec.keyGeneration', before: '9', after: '10' }],
    });
    // SQLite keeps the newest of all, whose number the next one follows.
    expect(changes.length).toBeLessThanOrEqual(store === 'SQLite' ? 2 : 1);
  });
});

describe.each(Object.entries(stores))('retention of changes in %s', (_, open) => {
  test('those of 399 days stay, those of two months more go, and nobody else goes with them', async () => {
    const opened = await open();
    const { ledger, partsFor } = opened;
    try {
      const times = [ago(399 + 62), ago(399 + 61), ago(399), ago(1)];
      await partsFor(times);
      for (const [index, time] of times.entries())
        for (const organisation of ['one', 'two'])
          await ledger.changes!.record(aWrite(index + 1, time, organisation));
      while (await ledger.prune(now));
      for (const organisation of ['one', 'two']) {
        const { changes } = await ledger.changes!.list({
          organisation,
          from: ago(1_000),
          to: now,
          limit: 10,
        });
        expect(changes.map(({ object }) => object.generation)).toEqual([4, 3]);
        expect(changes[1]!.fields).toEqual([{ field: 'spec.keyGeneration', before: '2', after: '3' }]);
      }
    } finally {
      await ledger.stop();
    }
  });
});
