import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { createSqliteLedger, ledgerOf } from '../../../adapters/ledger/sqlite/ledger.js';
import { startWorker } from '../../../adapters/ledger/sqlite/worker-client.js';
import { monthTables } from '../../../adapters/ledger/sqlite/month-tables.js';
import { openDatabase } from '../../../adapters/sqlite/database.js';
import { migrate } from '../../../adapters/sqlite/migrate.js';
import { defaultRetention, type Ledger } from '../../../core/ledger/ledger.js';
import { packContext, packDecision, packOwn } from '../../../core/ledger/packed-decision.js';
import { formatRecord } from '../../../core/ledger/record-text.js';
import type { UsageRow } from '../../../core/ledger/query.js';
import type { Decision } from '../../../core/ledger/record.js';
import type { EpochMs } from '../../../core/units/time.js';
import { ledgerConformance } from '../../conformance/ledger.js';
import {
  aDecision,
  aGap,
  alone,
  aRefusal,
  aSettlement,
  at,
  inputsOf,
  reservationOf,
} from '../../conformance/ledger-records.js';

const directories: string[] = [];
const open: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const ledger of open.splice(0)) await ledger.stop();
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

function aDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'ledger-'));
  directories.push(directory);
  return directory;
}

async function openIn(directory: string): Promise<Ledger> {
  const ledger = await createSqliteLedger({ directory, durability: 'process' });
  open.push(ledger);
  return ledger;
}

const root = mkdtempSync(join(tmpdir(), 'ledger-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

ledgerConformance('SQLite', () =>
  createSqliteLedger({ directory: mkdtempSync(join(root, 'ledger-')), durability: 'process' }),
);

/** The form before contexts were apart. */
function packedAsBefore(decision: Decision): string {
  const [id, ...own] = JSON.parse(packOwn(decision)) as unknown[];
  const context = JSON.parse(packContext(decision)) as unknown[];
  own[6] ??= context[10];
  return JSON.stringify([2, id, ...context.slice(0, 10), ...own]);
}

describe('the files of the SQLite ledger', () => {
  const january = at('2026-01-31T23:59:00Z');
  const february = at('2026-02-01T00:01:00Z');
  const usage = (ledger: Ledger): Promise<readonly UsageRow[]> =>
    ledger.usage({
      organisation: 'acme',
      paymasterId: undefined,
      from: at('2026-01-01T00:00:00Z'),
      to: at('2026-03-01T00:00:00Z'),
      step: 'month',
      groupBy: undefined,
      senders: false,
      limit: 10,
    });

  test.each([
    ['ledger-2026-01.sqlite', 'a month', 0],
    ['ledger-inputs-2026-01-31.sqlite', 'a day of inputs', 0],
    ['ledger-funds.sqlite', 'the funds', 0],
    ['ledger-2026-01.sqlite', 'a month whose header is whole', 100],
    ['ledger-inputs-2026-01-31.sqlite', 'a day of inputs whose header is whole', 100],
    ['ledger-funds.sqlite', 'the funds, whose header is whole', 100],
  ])('a damaged file (%s, %s) is set aside, and the others answer', async (name, _, from) => {
    const directory = aDirectory();
    const first = await openIn(directory);
    const decision = aDecision('acme', january);
    const newer = aDecision('acme', february);
    await first.append(alone(decision, inputsOf(decision, 1), newer));
    await first.stop();
    const file = join(directory, name);
    const damaged = readFileSync(file).fill(0xa5, from);
    writeFileSync(file, damaged);

    for (const movedTo of [`${file}.damaged`, `${file}.damaged-2`]) {
      const told: unknown[] = [];
      const again = await createSqliteLedger({
        directory,
        durability: 'process',
        onSetAside: (what) => told.push(what),
      });
      open.push(again);
      expect(told).toEqual([{ file, movedTo }]);
      expect(readFileSync(movedTo)).toEqual(damaged);
      expect(await again.decision('acme', newer.id)).toBeDefined();
      await again.append(alone(aDecision('acme', january), inputsOf(decision, 2)));
      await again.stop();
      writeFileSync(file, damaged);
    }
  });

  test('stored records are there after the ledger is opened again', async () => {
    const directory = aDirectory();
    const decision = aDecision('acme', january);
    const first = await openIn(directory);
    await first.append(reservationOf(decision, aSettlement(decision, february)));
    const stored = [await first.decision('acme', decision.id), await usage(first)];
    await first.stop();
    const second = await openIn(directory);
    expect([await second.decision('acme', decision.id), await usage(second)]).toEqual(stored);
  });

  test('a search looks at a bounded number of decisions, and says where the next one goes on', async () => {
    const ledger = await openIn(aDirectory());
    const rare = aRefusal('acme', january, { reason: 'FACTORY_NOT_ALLOWED' });
    const others = [...Array(5_100).keys()].map((n) => aRefusal('acme', (january + n + 1) as EpochMs));
    await ledger.append(alone(rare, ...others));
    const query = { organisation: 'acme', from: january, to: february, reason: 'FACTORY_NOT_ALLOWED' };
    const first = await ledger.decisions({ ...query, limit: 10 });
    expect(first.decisions).toEqual([]);
    const second = await ledger.decisions({ ...query, limit: 10, before: first.next! });
    expect(second.decisions.map(({ decision }) => decision.id)).toEqual([rare.id]);
    expect(second.next).toBeUndefined();
  });

  test('texts are stored as their records would be, and those that it cannot read are not', async () => {
    const [decision, other] = [aDecision('acme', january), aDecision('acme', february)];
    const gap = aGap('acme', january);
    const entries = [
      ...reservationOf(decision, aSettlement(decision, february)),
      ...reservationOf(other),
      { record: gap, reservation: undefined },
    ];
    const [byText, byRecord] = [await openIn(aDirectory()), await openIn(aDirectory())];
    await byRecord.append(entries);
    const texts = entries.map(({ record, reservation }) => ({
      text: formatRecord(record),
      ...(reservation === undefined ? {} : { reservation }),
    }));
    const newer = { text: JSON.stringify({ v: 99, kind: 'gap' }) };
    expect(await byText.appendTexts?.([newer, ...texts, { text: '[1' }])).toEqual([
      [undefined],
      ['decision'],
      ['settlement'],
      ['decision'],
      [gap],
      [undefined],
    ]);
    expect(await usage(byText)).toEqual(await usage(byRecord));
    expect(await byText.decision('acme', decision.id)).toEqual(await byRecord.decision('acme', decision.id));
  });

  test('a reservation that goes on in the next month is found and counted there', async () => {
    const ledger = await openIn(aDirectory());
    const [first, later] = [aDecision('acme', january), aDecision('acme', february)];
    const other = aDecision('acme', (february + 1) as typeof february);
    await ledger.append([...reservationOf(first, later), ...reservationOf(other)]);
    expect((await ledger.decision('acme', later.id))?.decision).toEqual(later);
    expect((await usage(ledger)).map(({ sponsored }) => sponsored)).toEqual([1, 2]);
    const page = await ledger.decisions({
      organisation: 'acme',
      from: january,
      to: at('2026-02-02T00:00:00Z'),
      limit: 9,
    });
    expect(page.decisions.map(({ decision }) => decision.id)).toEqual([other.id, later.id, first.id]);
  });

  test('a batch of which one file fails is UNAVAILABLE, and stored exactly once when it is repeated', async () => {
    const directory = aDirectory();
    const ledger = await openIn(directory);
    const obstacle = join(directory, 'ledger-2026-02.sqlite');
    const [first, second] = [aDecision('acme', january), aDecision('acme', february)];
    const batch = [...reservationOf(first, aSettlement(first, february)), ...reservationOf(second)];
    mkdirSync(obstacle);
    await expect(ledger.append(batch)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining(obstacle),
    });
    rmdirSync(obstacle);
    await ledger.append(batch);
    expect(await usage(ledger)).toMatchObject([
      { sponsored: 1, mined: 0 },
      { sponsored: 1, mined: 1, spentWei: 600n },
    ]);
  });

  test('decisions in the table of former releases are found, counted by their settlements, and stored once', async () => {
    const directory = aDirectory();
    const path = join(directory, 'ledger-2026-01.sqlite');
    const [first, second] = [aDecision('acme', january), aDecision('acme', (january + 1) as EpochMs)];
    const refusal = aRefusal('acme', (january + 2) as EpochMs);
    const former = openDatabase(path, { durability: 'process' });
    migrate(former, 'ledger', monthTables.slice(0, 3));
    const put = former.sql.prepare('INSERT INTO decisions VALUES (?, 1, ?, ?, ?, ?, ?, ?)');
    former.sql.exec(
      `INSERT INTO organisations VALUES (1, 'acme'); INSERT INTO bounds VALUES (1, ${january}, ${january + 2})`,
    );
    put.run(1, first.id, first.id, 1, first.digest!, null, formatRecord(first));
    put.run(2, second.id, first.id, 1, second.digest!, null, packedAsBefore(second));
    put.run(3, refusal.id, null, 0, null, null, packDecision(refusal));
    former.close();
    const ledger = await openIn(directory);
    const all = { organisation: 'acme', from: january, to: february, limit: 9 };
    const found = async () => (await ledger.decisions(all)).decisions;
    expect((await found()).map(({ decision }) => decision)).toEqual([refusal, second, first]);
    await ledger.append([
      ...reservationOf(first, second, aSettlement(second, february)),
      { record: refusal, reservation: undefined },
    ]);
    expect(await found()).toMatchObject([
      { settlement: undefined },
      { settlement: { outcome: 'mined' } },
      { settlement: { outcome: 'spent-elsewhere' } },
    ]);
    expect(await usage(ledger)).toMatchObject([{ sponsored: 0, mined: 1, expired: 1 }]);
  });

  test('senders in the form of former releases are counted where they were seen', async () => {
    const directory = aDirectory();
    const former = openDatabase(join(directory, 'ledger-2026-01.sqlite'), { durability: 'process' });
    migrate(former, 'ledger', monthTables.slice(0, 3));
    const [day, minute] = [at('2026-01-31T00:00:00Z'), january].map((time) => time / 60_000);
    former.sql.exec(`
      INSERT INTO organisations VALUES (1, 'acme');
      INSERT INTO bounds VALUES (1, ${january}, ${january});
      INSERT INTO series VALUES (1, 1, 'paymaster', 'shop', 'shop'), (2, 1, 'operation', 'shop', '1');
      INSERT INTO rollups VALUES (60, ${day}, 2, ${minute! - 59}, 2, 0, 0, 0, 0, '9', '0', NULL);
      INSERT INTO sender_days VALUES
        (${day}, 1, '0xa', 1, 0, 0, 0, 0, '5', '0', NULL, '[[1,${minute! - 70},${minute}],[2,${minute},${minute}]]'),
        (${day}, 1, '0xb', 1, 0, 0, 0, 0, '4', '0', NULL, '[[2,${minute! - 9},${minute! - 9}]]'),
        (${day}, 1, '0xc', 0, 1, 0, 0, 0, '0', '0', NULL, '[]')`);
    former.close();
    const ledger = await openIn(directory);
    const rows = await ledger.usage({
      organisation: 'acme',
      paymasterId: undefined,
      from: at('2026-01-31T23:00:00Z'),
      to: february,
      step: 'hour',
      groupBy: undefined,
      senders: true,
      limit: 10,
    });
    expect(rows).toMatchObject([{ sponsored: 2, senders: 2 }]);
  });

  test('decisions in any order, many at a time, again and again: each is stored once and found in its order', async () => {
    const ledger = await openIn(aDirectory());
    const count = 300;
    const made = Array.from({ length: count }, (_, n) => {
      // Moments of many decisions, and pauses.
      const time = (january - 50_000 + Math.floor(n / 3) * (n % 50 === 0 ? 40 : 9)) as EpochMs;
      return n % 7 === 0 ? aRefusal(n % 2 === 0 ? 'acme' : 'other', time) : aDecision('acme', time);
    });
    const order = (n: number): number => (n * 7_919) % count;
    for (let from = 0; from < 2 * count; from += 37) {
      const batch = Array.from({ length: 41 }, (_, i) => made[order(from + i)]!);
      await ledger.append(
        batch.map((record) => ({
          record,
          reservation: record.verdict === 'sponsored' ? record.id : undefined,
        })),
      );
    }
    for (const organisation of ['acme', 'other']) {
      const own = made.filter((one) => one.organisation === organisation);
      const ids = own.map(({ id }) => id).sort();
      const found: string[] = [];
      for (let before: string | undefined; ;) {
        const query = { organisation, from: (january - 50_000) as EpochMs, to: february, limit: 13 };
        const page = await ledger.decisions(before === undefined ? query : { ...query, before });
        found.push(...page.decisions.map(({ decision }) => decision.id));
        before = page.next;
        if (before === undefined) break;
      }
      expect(found).toEqual(ids.toReversed());
      for (const one of own) expect((await ledger.decision(organisation, one.id))?.decision).toEqual(one);
    }
    const sponsored = made.filter(({ verdict }) => verdict === 'sponsored');
    expect(await usage(ledger)).toMatchObject([{ sponsored: sponsored.length }]);
  });

  test('the view of decisions for people says what was recorded', async () => {
    const directory = aDirectory();
    const ledger = await openIn(directory);
    const decision = aDecision('acme', january);
    const refusal = aRefusal('acme', (january + 1) as EpochMs);
    await ledger.append([...reservationOf(decision), ...alone(refusal)]);
    await ledger.stop();
    const database = openDatabase(join(directory, 'ledger-2026-01.sqlite'), { durability: 'process' });
    const rows = database.sql.prepare('SELECT * FROM decisions ORDER BY id').all();
    database.close();
    expect(rows).toMatchObject(
      [decision, refusal].map((one) => ({
        id: one.id,
        organisation: 'acme',
        reservation: one === decision ? one.id : null,
        paymaster_id: one.paymasterId,
        chain_id: one.chainId,
        entry_point: one.entryPoint,
        contract: one.contract ?? null,
        mode: one.mode,
        method: one.method,
        verdict: one.verdict,
        request_id: one.requestId,
        sender: one.sender,
        nonce: String(one.nonce),
        digest: one.digest ?? null,
        calls: JSON.stringify(
          one.calls.flatMap(({ target, selector, contractId, name }) => [
            target,
            selector,
            contractId ?? null,
            name ?? null,
          ]),
        ),
        reason: one.reason ?? null,
        max_cost_wei: one.maxCostWei === undefined ? null : String(one.maxCostWei),
        valid_until: one.validUntil ?? null,
      })),
    );
  });

  test('a record that does not fit is INVALID_INPUT, so that it is not tried for ever', async () => {
    const ledger = await openIn(aDirectory());
    const broken = { ...inputsOf(aDecision('acme', january), 1), paymasterId: null as unknown as string };
    const beyond = aDecision('acme', Date.UTC(10_000, 0) as typeof january);
    for (const record of [broken, beyond])
      await expect(ledger.append(alone(record))).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('calls that wait for a thread that ends are UNAVAILABLE, and later ones start another', async () => {
    const directory = aDirectory();
    const options = {
      directory,
      durability: 'process',
      retention: defaultRetention,
      maxBytes: 1e9,
    } as const;
    const worker = await startWorker(options, 60_000);
    open.push(worker);
    const ledger = ledgerOf(worker);
    const decision = aDecision('acme', january);
    await ledger.append(reservationOf(decision));
    const ended = worker.terminate();
    await expect(ledger.append(reservationOf(decision))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await ended;
    const obstacle = join(directory, 'ledger-2026-05.sqlite');
    mkdirSync(obstacle);
    await expect(ledger.ping()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    rmdirSync(obstacle);
    await ledger.append(reservationOf(decision));
    expect(await usage(ledger)).toMatchObject([{ sponsored: 1 }]);
  });

  test('a second process is refused', async () => {
    const directory = aDirectory();
    await openIn(directory);
    await expect(openIn(directory)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      details: { reason: 'DATABASE_LOCKED' },
    });
  });

  test('a month of a newer release is refused by its name', async () => {
    const directory = aDirectory();
    const ledger = await openIn(directory);
    await ledger.append(reservationOf(aDecision('acme', january)));
    await ledger.stop();
    const path = join(directory, 'ledger-2026-01.sqlite');
    const database = openDatabase(path, { durability: 'process' });
    database.run(() => database.sql.exec("UPDATE components SET version = 99 WHERE component = 'ledger'"));
    database.close();
    await expect(openIn(directory)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(
        /ledger-2026-01\.sqlite was written by a newer release .*: use that release/,
      ),
    });
  });

  test('retention removes whole files', async () => {
    const directory = aDirectory();
    const ledger = await openIn(directory);
    const decision = aDecision('acme', january);
    await ledger.append([...reservationOf(decision), ...alone(inputsOf(decision, 1))]);
    const files = () => readdirSync(directory).filter((name) => /\d/.test(name) && name.endsWith('.sqlite'));
    expect(files()).toEqual(['ledger-2026-01.sqlite', 'ledger-inputs-2026-01-31.sqlite']);
    await ledger.prune(at('2026-02-08T00:00:00Z'));
    expect(files()).toEqual(['ledger-2026-01.sqlite']);
    await ledger.prune(at('2027-03-08T00:00:00Z'));
    expect(readdirSync(directory).filter((name) => /\d/.test(name))).toEqual([]);
    expect(await usage(ledger)).toEqual([]);
  });
});
