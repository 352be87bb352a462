import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createSqliteUsageStore } from '../../../adapters/usage/embedded/usage.js';
import type { SqliteUsageStore } from '../../../adapters/usage/embedded/usage-epoch-guard.js';
import { silentLogger } from '../../../core/log.js';
import { exposureCounter, liveCounter, lossCounter } from '../../../core/usage/counter-names.js';
import { createMemoryEpochMirror, type EpochMirror, type UsageEpoch } from '../../../core/usage/epoch.js';
import type { Reservation, Unit } from '../../../core/usage/usage-store.js';
import type { EpochMs } from '../../../core/units/time.js';
import {
  aKey,
  aLimit,
  anAddress,
  aRequest,
  chainId,
  contract,
  hourMs,
  seconds,
  startMs,
} from '../../conformance/usage-requests.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { aClock } from './clock.js';
import { aDirectory } from './sqlite-usage.js';

type FormerReservation = {
  readonly key: { readonly paymasterId: string; readonly sender: string; readonly nonce: string };
  readonly mode: 'SPONSORED' | 'ERC20';
  readonly validUntil: number;
  readonly limits: readonly { readonly counter: string; readonly unit: Unit; readonly cost: number }[];
  readonly accounts: readonly { readonly need: number }[];
};
type FormerChain = {
  readonly reservations: readonly FormerReservation[];
  readonly accounts: readonly object[];
  readonly cursor: object;
  readonly epoch: UsageEpoch;
};
/** The rows of a file of release 644f516, and what that release showed of it. */
type Fixture = {
  readonly rows: {
    readonly meta: readonly { readonly key: string; readonly value: number }[];
    readonly image: readonly { readonly seq: number; readonly generation: number; readonly ops: string }[];
    readonly journal: readonly { readonly seq: number; readonly ops: string }[];
  };
  readonly seen: Readonly<Record<string, FormerChain>>;
};
const { rows, seen }: Fixture = JSON.parse(
  readFileSync(join(repositoryRoot, 'test/vectors/usage-journal.json'), 'utf8'),
);
const otherChain = 1;

let directory: ReturnType<typeof aDirectory>;
let clock: ReturnType<typeof aClock>;
let opened: SqliteUsageStore[];
beforeEach(() => {
  directory = aDirectory();
  clock = aClock((startMs + 60_000) as EpochMs);
  opened = [];
});
afterEach(async () => {
  for (const store of opened) await store.stop();
  directory.remove();
});

const path = () => join(directory.path, 'usage.sqlite');

/** A file as the former release left it, with rows of the test's own behind its journal. */
function writeFormer(more: readonly string[] = [], { withoutImage = false } = {}): void {
  const db = new DatabaseSync(path());
  db.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE journal (seq INTEGER PRIMARY KEY, ops TEXT NOT NULL);
    CREATE TABLE image (seq INTEGER PRIMARY KEY, generation INTEGER NOT NULL, ops TEXT NOT NULL);`);
  for (const { key, value } of rows.meta) db.prepare('INSERT INTO meta VALUES (?, ?)').run(key, value);
  if (!withoutImage)
    for (const { seq, generation, ops } of rows.image)
      db.prepare('INSERT INTO image VALUES (?, ?, ?)').run(seq, generation, ops);
  const journal = [...rows.journal, ...more.map((ops, i) => ({ seq: 1000 + i, ops }))];
  for (const { seq, ops } of journal) db.prepare('INSERT INTO journal VALUES (?, ?)').run(seq, ops);
  db.close();
}

/** The copies of the epochs as the former release wrote them: without sequence. */
async function formerMirror(): Promise<EpochMirror> {
  const mirror = createMemoryEpochMirror();
  for (const id of [chainId, otherChain])
    await mirror.put(id, { ...seen[String(id)]!.epoch, sequence: 0 }, undefined);
  return mirror;
}

function open(epochMirror: EpochMirror): SqliteUsageStore {
  const store = createSqliteUsageStore({
    path: path(),
    clock,
    log: silentLogger,
    durability: 'process',
    epochMirror,
  });
  opened.push(store);
  return store;
}

/** A reservation in the words of the former release. */
function asFormer({ key, folded, validUntil, limits, accounts }: Reservation) {
  return {
    paymasterId: key.paymasterId,
    sender: key.sender,
    nonce: key.nonce.toString(),
    mode: folded[0]?.mode,
    validUntil,
    limits: limits.map(({ counter, unit, cost }) => ({ counter, unit, cost })),
    accounts,
  };
}

const byText = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

describe('a file of the former release', () => {
  test('shows the same reservations, balances, cursors and epochs, once and after a restart', async () => {
    writeFormer();
    const mirror = await formerMirror();
    for (const time of ['converted', 'read again']) {
      const store = open(mirror);
      for (const id of [chainId, otherChain]) {
        const former = seen[String(id)]!;
        const expected = former.reservations.map(({ key, mode, validUntil, limits, accounts }) => ({
          paymasterId: key.paymasterId,
          sender: key.sender,
          nonce: key.nonce,
          mode,
          validUntil,
          // What bounded tokens is bounded by holds now.
          limits: limits.filter(({ counter }) => !counter.startsWith('token-')),
          accounts,
        }));
        const found = await store.reservations(id);
        expect({ time, found: found.map(asFormer).toSorted(byText) }).toEqual({
          time,
          found: expected.toSorted(byText),
        });
        expect((await store.accounts(id)).toSorted(byText)).toEqual(former.accounts.toSorted(byText));
        expect(await store.cursor(id)).toEqual(former.cursor);
      }
      expect(await store.messages.getFundingMessage('pm-b')).toBe('Sign "this"\nplease');
      expect(await store.messages.getFundingMessage('pm-x')).toBeUndefined();
      await store.stop();
    }
  });

  test('keeps what was used of limits, in the names that policies use now', async () => {
    writeFormer();
    const store = open(await formerMirror());
    const day = { from: startMs, until: (startMs + 24 * hourMs) as EpochMs };
    const spend = aLimit({
      counter: `pm-a-spend/${startMs}/0/`,
      unit: 'NATIVE_ASSET',
      window: day,
      threshold: 1e9,
    });
    const { limits } = await store.peek(aRequest({ limits: [spend], generation: 9e15 }));
    // Two settled at 900 and 1500; three live at 3500, 5000 and 6000.
    expect(limits).toEqual([{ used: 2400, reserved: 14_500 }]);
    const loss = lossCounter({ chainId, contract }, 0, 20454, '');
    expect(await store.counters(chainId, [{ counter: loss, unit: 'NATIVE_ASSET' }])).toEqual([
      { used: 12_345, reserved: 0 },
    ]);
  });

  test('counts live token promises against the budget, and every reservation as live', async () => {
    writeFormer();
    const store = open(await formerMirror());
    const counters = await store.counters(chainId, [
      { counter: exposureCounter(contract, 'all'), unit: 'NATIVE_ASSET' },
      { counter: liveCounter('pm-a'), unit: 'COUNT' },
    ]);
    expect(counters.map((state) => state.reserved)).toEqual([20_005 + 20_006, 5]);
    const token = (await store.reservations(chainId)).find(
      ({ key }) => key.paymasterId === 'pm-a+ERC20' && key.sender === anAddress(0xa5),
    );
    expect(token?.folded).toEqual([
      { mode: 'ERC20', contract, prefundWei: 20_005n * 10n ** 9n, validUntil: seconds(600) },
    ]);
  });

  test('remembers generations', async () => {
    writeFormer();
    const store = open(await formerMirror());
    const stale = aRequest({ key: { paymasterId: 'pm-b' }, generation: 1_767_225_600_008 });
    expect(await store.reserve(stale)).toEqual({ outcome: 'stale', id: 'pm-b' });
  });

  test('settles like any other', async () => {
    writeFormer();
    const store = open(await formerMirror());
    const key = aKey({ paymasterId: 'pm-a', sender: anAddress(0xa3), nonce: (3n << 64n) + 1n });
    const expected = await store.cursor(chainId);
    const next = { ...expected!, blockNumber: 8 };
    const nothing = { released: [], forfeited: [], charges: [], restored: [], balances: [] };
    const settled = [{ key, actualCost: 3_000 as never }];
    expect(await store.advance({ chainId, expected, next, settled, ...nothing })).toMatchObject({
      isTaken: true,
    });
    const spend = { counter: `pm-a-spend/${startMs}/0/`, unit: 'NATIVE_ASSET' as const };
    expect(await store.counters(chainId, [spend])).toEqual([{ used: 5_400, reserved: 11_000 }]);
  });

  test('is refused by the former release from then on', () => {
    writeFormer();
    opened.push(open(createMemoryEpochMirror()));
    const format = async () => {
      for (const store of opened) await store.stop();
      const db = new DatabaseSync(path());
      const row = db.prepare(`SELECT value FROM meta WHERE key = 'format'`).get();
      db.close();
      return row?.['value'];
    };
    return expect(format()).resolves.toBe(2);
  });
});

describe('a damaged file of the former release', () => {
  test.each<{ name: string; write: () => void; why: string }>([
    {
      name: 'an image without the definitions of its names',
      write: () => writeFormer([], { withoutImage: true }),
      why: 'names an unknown paymaster 4',
    },
    {
      name: 'a generation of a paymaster that was never named',
      write: () => writeFormer(['[["g",769,5]]']),
      why: 'names an unknown paymaster 769',
    },
    { name: 'a row that is cut off', write: () => writeFormer(['[["g",1']), why: 'JSON' },
    {
      name: 'an entry of another kind',
      write: () => writeFormer(['[["z",1]]']),
      why: 'unknown entry "z"',
    },
  ])('is refused with what to do, and stays as it is: $name', async ({ write, why }) => {
    write();
    const mirror = await formerMirror();
    const refused = expect.objectContaining({ code: 'UNAVAILABLE', message: expect.stringContaining(why) });
    expect(() => open(mirror)).toThrow(refused);
    expect(() => open(mirror)).toThrow(/move .*usage\.sqlite with its -wal, -shm and \.lock files away/);
  });

  test('once it is moved away, nothing is signed until every promise has expired', async () => {
    writeFormer(['[["g",769,5]]']);
    const mirror = await formerMirror();
    expect(() => open(mirror)).toThrow();
    directory.remove();
    const store = open(mirror);
    const lost = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_LOST' } };
    await expect(store.reserve(aRequest())).rejects.toMatchObject(lost);
    expect(await store.recovery.recover(chainId)).toBe('waiting');
    clock.advance(seen[String(chainId)]!.epoch.longestExpiryMs + 120_000);
    expect(await store.recovery.recover(chainId)).toBe('recovered');
    const later = aRequest({ promise: { validUntil: seconds(3000) } });
    expect(await store.reserve(later)).toEqual({ outcome: 'reserved' });
  });
});
