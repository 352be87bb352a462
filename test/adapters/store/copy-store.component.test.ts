import { cpSync, existsSync, readdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { copyStore } from '../../../adapters/store/copy/copy-store.js';
import { createSqliteLedger } from '../../../adapters/store/ledger/sqlite-ledger.js';
import { createSqliteLedgerWriter } from '../../../adapters/store/ledger/write.js';
import { createSqliteUsageStore, openUsageDatabase } from '../../../adapters/store/sqlite/usage.js';
import type { Ledger, LedgerEntry } from '../../../core/ledger/ledger.js';
import { usageGroups, usageSteps, type UsageGroup } from '../../../core/ledger/query.js';
import { silentLogger } from '../../../core/log.js';
import type { ChangeWrite } from '../../../core/ledger/change.js';
import type { EpochMs } from '../../../core/units/time.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import { aMovement, aStep } from '../../conformance/ledger-movements.js';
import {
  aDecision,
  address,
  aGap,
  alone,
  anUnusedEnd,
  aRefusal,
  aReversal,
  aSample,
  aSettlement,
  at,
  reservationOf,
} from '../../conformance/ledger-records.js';
import { aRequest, chainId } from '../../conformance/usage-requests.js';
import { paymaster } from '../../support/paymaster.js';
import { sharedPostgres, type SharedPostgres } from '../../support/postgres.js';
import { runs } from '../../support/property.js';
import { isSoak } from '../../support/soak-seconds.js';
import { openStore } from '../usage/postgres-usage.js';
import { aClock, aDirectory } from '../usage/sqlite-usage.js';
import { checkAgainstModel, type Subject } from '../usage/usage-difference.js';
import { manySteps } from '../usage/usage-steps.js';
import { newRecords, recordsInFile, recordsInPostgres } from '../usage/written-records.js';
import { openPostgresLedger, writtenLedger } from './ledger/written.js';

let server: SharedPostgres;
beforeAll(async () => {
  server = await sharedPostgres();
});
afterAll(() => server.stop());

const directories: ReturnType<typeof aDirectory>[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) directory.remove();
});

function newFile(): string {
  const directory = aDirectory();
  directories.push(directory);
  return join(directory.path, 'usage.db');
}

function copy(path: string, url: string, now = Date.now() as EpochMs) {
  const said: string[] = [];
  const client = { address: parsePostgresUrl('url', url) };
  return copyStore({ path, client, now, onProgress: (done) => said.push(done) }).then((copied) => ({
    ...copied,
    said,
  }));
}

let copies = 0;

/** Begins embedded. Its first restart or kill moves it to PostgreSQL. */
async function aSubject(): Promise<Subject> {
  const clock = aClock();
  const path = newFile();
  const embedded = { path, clock, log: silentLogger, durability: 'process' } as const;
  const shared = { clock, epochMirror: createMemoryEpochMirror() };
  let store: Awaited<ReturnType<typeof openStore>> | ReturnType<typeof createSqliteUsageStore> =
    createSqliteUsageStore(embedded);
  let url: string | undefined;
  const restart = async () => {
    await store.stop();
    if (url === undefined) {
      url = await server.createDatabase();
      await copy(path, url, clock.now());
      copies += 1;
    }
    store = await openStore(url, shared);
    return store;
  };
  return {
    store,
    clock,
    takeRecords: newRecords(() => (url === undefined ? recordsInFile(path) : recordsInPostgres(server, url))),
    restart,
    crash: restart,
    stop: () => store.stop(),
  };
}

test('a store that is copied in the middle of anything goes on as the model does, and counts nothing twice', async () => {
  const histories = isSoak ? 40 : 4;
  await fc.assert(
    fc.asyncProperty(manySteps, async (steps) => checkAgainstModel(steps, await aSubject())),
    runs(histories),
  );
  expect(copies).toBeGreaterThan(histories / 2);
}, 600_000);

const noon = at('2026-11-22T12:00:00Z');
const later = (minutes: number): EpochMs => (noon + minutes * 60_000) as EpochMs;
const largest = 2n ** 256n - 1n;

/** Of several organisations, days and outcomes, and with texts and amounts of every kind. */
function someEntries(): LedgerEntry[] {
  const entries: LedgerEntry[] = [];
  for (let n = 0; n < 1_500; n++) {
    const organisation = n % 3 === 0 ? 'other' : 'acme';
    const decision = aDecision(organisation, later(3 * n), {
      paymasterId: `shop-${n % 2}`,
      sender: address(n % 50),
      nonce: n % 7 === 0 ? largest : BigInt(n),
      maxCostWei: n % 11 === 0 ? largest : 1_000n,
      callerRequestId: n % 5 === 0 ? `mine "quoted" \\ and ünusual ${n}` : undefined,
      policies: [{ policyId: `p${n % 4}`, effect: 'counted' }],
    });
    const ends = [
      [aSettlement(decision, later(3 * n + 1))],
      [anUnusedEnd(decision, later(3 * n + 1))],
      [aSettlement(decision, later(3 * n + 1)), aReversal(decision, later(3 * n + 2))],
      [],
    ][n % 4]!;
    entries.push(...reservationOf(decision, ...ends));
    if (n % 10 === 0)
      entries.push(
        ...alone(aRefusal(organisation, later(3 * n)), aGap(organisation, later(3 * n))),
        ...alone(aSample(address(8), later(3 * n), { balanceWei: largest - BigInt(n) })),
        ...alone(aStep(31337, [n + 1, n + 10], [aMovement(n + 1, { at: later(3 * n), amountWei: largest })])),
      );
  }
  return entries;
}

async function everythingIn(ledger: Ledger) {
  const range = { from: at('2026-11-01T00:00:00Z'), to: at('2026-12-01T00:00:00Z') };
  const groups = [undefined, ...(Object.keys(usageGroups) as UsageGroup[])];
  const usage: unknown[] = [];
  for (const organisation of ['acme', 'other'])
    for (const groupBy of groups)
      for (const step of usageSteps) {
        if (groupBy === 'sender' && step === 'hour') continue;
        // A row for each minute and group is most of the work.
        if (!isSoak && groupBy !== undefined && step === 'minute') continue;
        const query = { organisation, paymasterId: undefined, ...range, step, groupBy };
        usage.push(await ledger.usage({ ...query, limit: 10_000 }));
      }
  const decisions: unknown[] = [];
  for (let before: string | undefined, isLast = false; !isLast;) {
    const page = await ledger.decisions({
      organisation: 'acme',
      ...range,
      limit: 500,
      ...(before === undefined ? {} : { before }),
    });
    decisions.push(...page.decisions);
    before = page.next;
    isLast = before === undefined;
  }
  const accounts = [{ chainId: 31337, contract: address(8), fundingAddress: undefined }];
  const statement = await ledger.statement({ accounts, ...range });
  expect(statement[0]?.covered).not.toHaveLength(0);
  return { usage, decisions, statement };
}

test('a copied ledger answers what the embedded one does, also after more is written and when all sums are made anew', async () => {
  const path = newFile();
  const entries = someEntries();
  const db = openUsageDatabase({ path, durability: 'process' });
  for (let from = 0; from < entries.length; from += 500)
    db.transaction(() => createSqliteLedgerWriter(db).write(entries.slice(from, from + 500)));
  db.close();
  const twin = newFile();
  cpSync(path, twin);
  const url = await server.createDatabase();
  const { movedTo, said } = await copy(path, url);
  expect(readdirSync(join(path, '..')).filter((name) => !name.includes('.lock'))).toEqual([
    'usage.db.copied',
  ]);
  expect(existsSync(movedTo)).toBe(true);
  expect(said).toContain('1650 rows of decision are copied');

  await using embedded = disposable(await embeddedLedger(twin));
  await using copied = disposable(openPostgresLedger(url));
  while (await embedded.rollUp());
  const before = await everythingIn(embedded);
  expect(before.decisions.length).toBeGreaterThan(1_000);
  expect(await everythingIn(copied)).toEqual(before);

  const more = entries.flatMap(({ record, reservation }, n) =>
    record.kind === 'decision' && record.verdict === 'sponsored' && n % 3 === 0
      ? [{ record: aReversal(record, later(6_000)), reservation }]
      : [],
  );
  for (const ledger of [embedded, copied]) await ledger.append(more);
  const after = await everythingIn(embedded);
  expect(after).not.toEqual(before);
  expect(await everythingIn(copied)).toEqual(after);

  await server.query(url, `UPDATE ledger.mark SET system_identifier = 'another'`);
  while (await copied.rollUp());
  expect(await everythingIn(copied)).toEqual(after);
}, 600_000);

test('changes, and names of what was deleted, are copied', async () => {
  const path = newFile();
  const write: ChangeWrite = {
    at: noon,
    organisation: 'acme',
    action: 'deleted',
    object: { kind: 'Paymaster', namespace: 'acme', name: 'shop', uid: 'one', generation: 1 },
    author: { name: 'ci', requestId: 'r1' },
    fields: [{ field: 'spec.name', before: '"Shop"', after: null }],
  };
  const embedded = await createSqliteLedger({ path });
  await embedded.changes?.record(write);
  await embedded.names?.keep([{ organisation: 'acme', kind: 'Paymaster', id: 'p1', shown: 'Shop' }]);
  await embedded.stop();
  const url = await server.createDatabase();
  expect((await copy(path, url)).said).toContain('1 rows of name are copied');

  await using copied = disposable(openPostgresLedger(url));
  expect(await copied.names?.list('acme', 'Paymaster')).toEqual([{ id: 'p1', shown: 'Shop' }]);
  const query = { organisation: 'acme', from: noon, to: later(60), limit: 10 };
  expect((await copied.changes?.list(query))?.changes).toEqual([expect.objectContaining(write)]);
});

async function embeddedLedger(path: string) {
  const db = openUsageDatabase({ path, durability: 'process' });
  const writer = createSqliteLedgerWriter(db);
  const ledger = await createSqliteLedger({ path });
  const stop = async () => {
    await ledger.stop();
    db.close();
  };
  return writtenLedger({ ...ledger, stop }, async (entries) => db.transaction(() => writer.write(entries)));
}

function disposable<T extends { stop(): Promise<void> }>(one: T): T & AsyncDisposable {
  return { ...one, [Symbol.asyncDispose]: () => one.stop() };
}

test('what cannot be copied whole is not copied: no file, a running process, a database in use, a failure in the middle', async () => {
  const url = await server.createDatabase();
  const path = newFile();
  await expect(copy(path, url)).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringContaining(path),
  });
  expect(existsSync(path)).toBe(false);

  const clock = aClock();
  const store = createSqliteUsageStore({ path, clock, log: silentLogger, durability: 'process' });
  await store.setSuspended(chainId, 'pm-1', true);
  await expect(copy(path, url)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringMatching(/in use by another process \(\d+\): stop that one first/),
  });
  await store.stop();

  const used = await server.createDatabase();
  const other = await openStore(used);
  await other.setSuspended(chainId, 'pm-2', true);
  await expect(copy(path, used)).rejects.toMatchObject({
    code: 'ALREADY_EXISTS',
    message: expect.stringContaining('is in use already'),
  });
  expect(await other.suspended(chainId)).toEqual(['pm-2']);
  await other.stop();

  await (await openStore(url)).stop();
  await server.query(url, `ALTER TABLE ledger.mark ADD CHECK (era = 0)`);
  await expect(copy(path, url)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await server.query(url, 'SELECT 1 FROM usage.chain')).toEqual([]);
  expect(existsSync(path)).toBe(true);
  await server.query(url, `ALTER TABLE ledger.mark DROP CONSTRAINT mark_era_check`);
  await copy(path, url);
  const copied = await openStore(url);
  expect(await copied.suspended(chainId)).toEqual(['pm-1']);
  await copied.stop();
}, 600_000);

test('an embedded store signs nothing after a copy, nor after one whose commit failed, until somebody puts its file back', async () => {
  const url = await server.createDatabase();
  const path = newFile();
  const clock = aClock();
  const embedded = { path, clock, log: silentLogger, durability: 'process' } as const;
  const epochMirror = createMemoryEpochMirror();
  const store = createSqliteUsageStore({ ...embedded, epochMirror });
  expect(await store.reserve(aRequest({ fences: [] }))).toEqual({ outcome: 'reserved' });
  await store.stop();
  await (await openStore(url)).stop();
  await server.query(
    url,
    `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''cut off''; END';
     CREATE CONSTRAINT TRIGGER cut_off AFTER UPDATE ON ledger.mark DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()`,
  );
  const back = `rename ${path}.copied to ${path} and copy again`;
  await expect(copy(path, url)).rejects.toMatchObject({ message: expect.stringContaining(back) });
  await expect(copy(path, url)).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringContaining(back),
  });
  expect(await server.query(url, 'SELECT 1 FROM usage.chain')).toEqual([]);
  const again = createSqliteUsageStore({ ...embedded, epochMirror });
  await expect(again.reserve(aRequest({ fences: [], key: { nonce: 2n } }))).rejects.toMatchObject({
    details: { reason: 'USAGE_STORE_LOST' },
  });
  await again.stop();

  await server.query(url, 'DROP TRIGGER cut_off ON ledger.mark');
  renameSync(`${path}.copied`, path);
  await copy(path, url);
  const copied = await openStore(url, { clock });
  expect(await copied.liveCount(chainId)).toBe(1);
  await copied.stop();
});

test('the command copies a data directory, says what it does, and ends with 2 for wrong usage and 3 for a store in use', async () => {
  const directory = dirname(newFile());
  const path = join(directory, 'usage.sqlite');
  const store = createSqliteUsageStore({ path, clock: aClock(), log: silentLogger, durability: 'process' });
  await store.setSuspended(chainId, 'pm-1', true);
  const url = await server.createDatabase();
  expect(await command([directory], url)).toMatchObject({
    status: 3,
    error: expect.stringContaining('is in use by another process'),
  });
  await store.stop();
  expect(await command([], url)).toMatchObject({
    status: 2,
    error: expect.stringContaining("missing required argument 'path'"),
  });
  expect(await command([directory], `file:${path}`)).toMatchObject({
    status: 2,
    error: expect.stringContaining('PAYMASTER_DATABASE_URL must be a PostgreSQL'),
  });
  expect(await command([`${directory}/none`], url)).toMatchObject({
    status: 1,
    error: `error: no embedded store is at ${directory}/none\n`,
  });
  const { out, error, status } = await command([directory], url);
  expect({ status, out }).toEqual({ status: 0, out: expect.stringContaining(`${path}.copied`) });
  expect(error).toContain('limits, deposits and reservations are copied');
  expect(await command([directory], url)).toMatchObject({ status: 1 });
});

const command = (args: readonly string[], url: string) =>
  paymaster(['store', 'copy', ...args], { PAYMASTER_DATABASE_URL: url });
