import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Author, Change, ChangeLog, ChangeQuery } from '../../../../core/ledger/change.js';
import { toChangeWrite, type Versions } from '../../../../core/resources/object-change.js';
import type { AnyResource, Resources } from '../../../../core/resources/kinds.js';
import type { EpochMs } from '../../../../core/units/time.js';
import { aPaymaster, aPolicy, anOrganisation } from '../../../build/resources.js';
import { sharedPostgres, type SharedPostgres } from '../../../support/postgres.js';
import { openPostgresLedger, openSqliteLedger, type WrittenLedger } from './written.js';

// Who changed what, in both stores.

const now = Date.now() as EpochMs;
const byToken = (name: string, requestId = 'r1'): Author => ({ name, requestId });

let server: SharedPostgres;
beforeAll(async () => {
  server = await sharedPostgres();
});
afterAll(() => server.stop());

const stores = {
  PostgreSQL: async (): Promise<WrittenLedger> => openPostgresLedger(await server.createDatabase('tables')),
  SQLite: async (): Promise<WrittenLedger> => openSqliteLedger(),
};

/** `apiKey` generation `spec.keyGeneration`, which is the field that most tests change. */
function paymaster(generation: number, spec: Partial<Resources['Paymaster']['spec']> = {}): AnyResource {
  const made = aPaymaster();
  return {
    ...made,
    spec: { ...made.spec, keyGeneration: generation, ...spec },
    metadata: {
      ...made.metadata,
      generation,
    },
  };
}

describe.each(Object.entries(stores))('%s', (_, open) => {
  let ledger: WrittenLedger;
  let changes: ChangeLog;
  let organisation = '';
  beforeAll(async () => {
    ledger = await open();
    await ledger.ping();
    changes = ledger.changes!;
  });
  afterAll(() => ledger.stop());

  /** Undefined: the object is new. Each test has one, and another of the same name. */
  let before: AnyResource | undefined;
  const write = (versions: Versions, author: Author): Promise<void> =>
    changes.record(toChangeWrite(versions, { at: now, organisation, author }));
  async function record(object: AnyResource, author: Author): Promise<void> {
    const metadata = { ...object.metadata, namespace: organisation, uid: `u-${organisation}` };
    const after = { ...object, metadata } as AnyResource;
    await write({ before: before?.kind === after.kind ? before : undefined, after }, author);
    before = after;
  }
  const list = async (query: Partial<ChangeQuery> = {}): Promise<readonly Change[]> =>
    (
      await changes.list({
        organisation,
        from: (now - 60_000) as EpochMs,
        to: (now + 60_000) as EpochMs,
        limit: 100,
        ...query,
      })
    ).changes;
  const anew = (name: string): void => {
    organisation = name;
    before = undefined;
  };

  test('a change names its field, what it was and is, and who made it in which request', async () => {
    anew('names');
    await record(paymaster(1), byToken('ci'));
    await record(paymaster(2), byToken('on call', 'r2'));
    const [second, first] = await list();
    expect(first).toMatchObject({ action: 'created', author: byToken('ci') });
    expect(first!.fields).toContainEqual({ field: 'spec.chainId', before: null, after: '31337' });
    expect(second).toMatchObject({
      action: 'changed',
      object: { kind: 'Paymaster', namespace: 'names', name: 'shop', generation: 2 },
      author: byToken('on call', 'r2'),
      fields: [{ field: 'spec.keyGeneration', before: '1', after: '2' }],
      leftOut: 0,
    });
  });

  test('a deletion says what was there', async () => {
    anew('gone');
    await record(paymaster(1), byToken('ci'));
    await write({ before: before!, after: undefined }, byToken('on call', 'r3'));
    const [deleted] = await list();
    expect(deleted).toMatchObject({ action: 'deleted', author: byToken('on call', 'r3') });
    expect(deleted!.fields).toContainEqual({ field: 'spec.chainId', before: '31337', after: null });
  });

  test('a write that changes no field of the spec is not recorded', async () => {
    anew('same');
    await record(paymaster(1), byToken('ci'));
    await record(paymaster(1), byToken('thief'));
    expect((await list()).map(({ author }) => author)).toEqual([byToken('ci')]);
  });

  test('secrets, hashes and what customers hide in URLs are never stored, and their change is', async () => {
    anew('secrets');
    const owner = anOrganisation();
    const token = (sha256: string): AnyResource => ({
      ...owner,
      metadata: { ...owner.metadata, generation: sha256 === 'a'.repeat(64) ? 1 : 2 },
      spec: { ...owner.spec, tokens: [{ name: 'ci', sha256 }] },
    });
    await record(token('a'.repeat(64)), byToken('ci'));
    await record(token('b'.repeat(64)), byToken('ci'));
    const funding = (signature: string) => ({
      address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
      message: 'm',
      signature,
    });
    await record(paymaster(1, { funding: funding('0xdeadbeef01') }), byToken('ci'));
    await record(
      paymaster(2, { funding: funding('0xdeadbeef02'), name: 'https://user:hunter2@host/path?key=hunter2' }),
      byToken('ci'),
    );
    const all = await list();
    const text = JSON.stringify(all);
    for (const secret of ['aaaaaaaa', 'bbbbbbbb', 'deadbeef', 'hunter2']) expect(text).not.toContain(secret);
    expect(all.flatMap(({ fields }) => fields.map(({ field }) => field))).toEqual(
      expect.arrayContaining(['spec.tokens', 'spec.funding.signature', 'spec.name']),
    );
    expect(text).toContain('https://…@host/path');
    expect(text).not.toContain('"mark"');
  });

  test.each([
    ['SQL', `x'); DROP TABLE ledger.change; --`],
    ['HTML', '<script>alert(1)</script>'],
    ['a formula', '=HYPERLINK("https://evil","x")'],
    ['characters that a database cannot hold', 'a\0b\ud800c'],
  ])('%s in a name is text', async (what, name) => {
    anew(`hostile ${what}`);
    await record(paymaster(1), byToken('ci'));
    await record(paymaster(2, { name, keyGeneration: 1 }), byToken(name));
    const [change] = await list();
    const stored = name.toWellFormed().replaceAll('\0', '\ufffd');
    expect(change!.author.name).toBe(stored);
    const shown = JSON.parse(change!.fields[0]!.after!) as string;
    expect(shown.toWellFormed().replaceAll('\0', '\ufffd')).toBe(stored);
  });

  test('an organisation has a bounded number of records a day, counts the others, and takes nothing from another', async () => {
    anew('flood');
    const edits = 2_100;
    for (let generation = 1; generation <= edits; generation++)
      await record(paymaster(generation), byToken('ci'));
    let stored = 0;
    let leftOut = 0;
    for (let before: string | undefined; ;) {
      const page = await changes.list({
        organisation,
        from: (now - 60_000) as EpochMs,
        to: (now + 60_000) as EpochMs,
        limit: 500,
        ...(before === undefined ? {} : { before }),
      });
      stored += page.changes.length;
      leftOut += page.changes.reduce((sum, change) => sum + change.leftOut, 0);
      before = page.next;
      if (before === undefined) break;
    }
    expect([stored, leftOut]).toEqual([2_000, edits - 2_000]);
    anew('neighbour');
    await record(paymaster(1), byToken('ci'));
    expect(await list()).toHaveLength(1);
  });

  test('a row is small, however large the object', async () => {
    anew('large');
    const icon = (letter: string): Partial<Resources['Paymaster']['spec']> => ({
      sponsor: { name: 'x', icon: letter.repeat(16_000) },
    });
    await record(paymaster(1, icon('a')), byToken('ci'));
    await record(paymaster(2, icon('b')), byToken('ci'));
    await record(paymaster(3, icon('b')), byToken('ci'));
    const [third, second] = await list();
    expect(JSON.stringify(second).length).toBeLessThan(5_000);
    expect(second!.fields.map(({ field }) => field)).toContain('spec.sponsor.icon');
    expect(third!.fields.map(({ field }) => field)).not.toContain('spec.sponsor.icon');
  });

  test('a list is of one organisation, by kind, name and actor, page by page', async () => {
    anew('pages');
    for (let generation = 1; generation <= 7; generation++)
      await record(paymaster(generation), byToken(`t${generation % 2}`));
    await record(aPolicy(), byToken('t0'));
    expect(await list({ author: 't1' })).toHaveLength(4);
    expect(await list({ kind: 'PaymasterPolicy' })).toHaveLength(1);
    expect(await list({ name: 'shop' })).toHaveLength(7);
    expect(await list({ organisation: 'nobody' })).toEqual([]);
    const query = { organisation, from: (now - 60_000) as EpochMs, to: (now + 60_000) as EpochMs, limit: 3 };
    const seen: string[] = [];
    let page = await changes.list(query);
    for (; page.next !== undefined; page = await changes.list({ ...query, before: page.next }))
      seen.push(...page.changes.map(({ id }) => id));
    seen.push(...page.changes.map(({ id }) => id));
    expect(new Set(seen).size).toBe(8);
    expect(seen).toEqual(seen.toSorted().toReversed());
  });
});
