import { mkdirSync, mkdtempSync, readdirSync, rmSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { createSqliteLedger, ledgerOf } from '../../../adapters/ledger/sqlite/ledger.js';
import { startWorker } from '../../../adapters/ledger/sqlite/worker-client.js';
import { openDatabase } from '../../../adapters/sqlite/database.js';
import { defaultRetention, type Ledger } from '../../../core/ledger/ledger.js';
import { formatRecord } from '../../../core/ledger/record-text.js';
import type { UsageRow } from '../../../core/ledger/query.js';
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
      undefined,
      'decision',
      'settlement',
      'decision',
      gap,
      undefined,
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

  test('a record that does not fit is INVALID_INPUT, so that it is not tried for ever', async () => {
    const ledger = await openIn(aDirectory());
    const broken = { ...inputsOf(aDecision('acme', january), 1), paymasterId: null as unknown as string };
    const beyond = aDecision('acme', Date.UTC(10_000, 0) as typeof january);
    for (const record of [broken, beyond])
      await expect(ledger.append(alone(record))).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('calls that wait for a thread that ends are UNAVAILABLE, and later ones start another', async () => {
    const directory = aDirectory();
    const options = { directory, durability: 'process', retention: defaultRetention } as const;
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
