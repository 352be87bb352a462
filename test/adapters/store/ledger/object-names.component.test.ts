import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { maxNames, type ObjectName, type ObjectNames } from '../../../../core/ledger/object-names.js';
import { startPostgres, type PostgresServer } from '../../../support/postgres.js';
import { openPostgresLedger, openSqliteLedger, type WrittenLedger } from './written.js';

// What objects were called, in both stores.

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

const stores = {
  PostgreSQL: async (): Promise<WrittenLedger> => openPostgresLedger(await server.createDatabase('tables')),
  SQLite: async (): Promise<WrittenLedger> => openSqliteLedger(),
};

const aName = (id: string, shown: string, organisation: string): ObjectName => ({
  organisation,
  kind: 'Paymaster',
  id,
  shown,
});

describe.each(Object.entries(stores))('%s', (_, open) => {
  let ledger: WrittenLedger;
  let names: ObjectNames;
  beforeAll(async () => {
    ledger = await open();
    await ledger.ping();
    names = ledger.names!;
  });
  afterAll(() => ledger.stop());

  test('the last name of an id counts, of one organisation and kind', async () => {
    await names.keep([
      aName('1', 'First', 'acme'),
      aName('1', 'Second', 'acme'),
      aName('2', 'Other', 'acme'),
    ]);
    await names.keep([
      aName('1', 'Theirs', 'globex'),
      { ...aName('1', 'Limit', 'acme'), kind: 'PaymasterPolicy' },
    ]);
    await names.keep([aName('2', 'Renamed', 'acme')]);
    expect(await names.list('acme', 'Paymaster')).toEqual(
      expect.arrayContaining([
        { id: '1', shown: 'Second' },
        { id: '2', shown: 'Renamed' },
      ]),
    );
    expect(await names.list('acme', 'PaymasterPolicy')).toEqual([{ id: '1', shown: 'Limit' }]);
    expect(await names.list('globex', 'Paymaster')).toEqual([{ id: '1', shown: 'Theirs' }]);
    expect(await names.list('nobody', 'Paymaster')).toEqual([]);
  });

  test.each([
    ['SQL', `x'); DROP TABLE ledger.name; --`],
    ['characters that a database cannot hold', 'a\0b\ud800c'],
  ])('%s in a name is text, and costs one write', async (what, shown) => {
    const organisation = `hostile ${what}`;
    await names.keep([aName('1', shown, organisation)]);
    await names.keep([aName('1', shown, organisation)]);
    const stored = shown.toWellFormed().replaceAll('\0', '\ufffd');
    expect(await names.list(organisation, 'Paymaster')).toEqual([{ id: '1', shown: stored }]);
  });

  test('processes that keep the same names at once end with one of each', async () => {
    const many = Array.from({ length: 600 }, (_unused, index) => aName(`${index}`, `n${index}`, 'together'));
    await Promise.all([names.keep(many), names.keep(many.toReversed()), names.keep(many)]);
    expect(await names.list('together', 'Paymaster')).toHaveLength(many.length);
  });

  test('an organisation has a bounded number of them, can rename those, and takes nothing from another', async () => {
    const made = (from: number, count: number) =>
      Array.from({ length: count }, (_unused, index) => aName(`${from + index}`, 'x', 'flood'));
    await names.keep(made(0, maxNames - 1));
    await names.keep([...made(maxNames, 3), aName('0', 'renamed', 'flood')]);
    const kept = await names.list('flood', 'Paymaster');
    expect(kept).toHaveLength(maxNames);
    expect(kept).toContainEqual({ id: '0', shown: 'renamed' });
    await names.keep([aName('1', 'neighbour', 'beside')]);
    expect(await names.list('beside', 'Paymaster')).toHaveLength(1);
  });
});
