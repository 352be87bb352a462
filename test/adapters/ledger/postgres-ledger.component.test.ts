import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createPostgresLedger } from '../../../adapters/ledger/postgres/ledger.js';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import type { Ledger, LedgerEntry } from '../../../core/ledger/ledger.js';
import { heldMs } from '../../../core/ledger/replay-register.js';
import { usageSteps, type UsageRow } from '../../../core/ledger/query.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Hex } from '../../../core/units/hex.js';
import {
  aDecision,
  aGap,
  alone,
  anUnusedEnd,
  aRefusal,
  aReversal,
  aSample,
  aSettlement,
  at,
  hex,
  inputsOf,
  reservationOf,
} from '../../conformance/ledger-records.js';
import { ledgerConformance } from '../../conformance/ledger.js';
import { replayRegisterConformance } from '../../conformance/replay-register.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { startPostgres, type PostgresServer } from '../../support/postgres.js';
import { succeeds, until } from '../../support/until.js';
import { createCertificate } from '../webhook/certificate.js';
import { startCommitCutter } from './commit-cutter.js';

let server: PostgresServer;
const opened: Ledger[] = [];
const registers: Ledger[] = [];

beforeAll(async () => {
  server = await startPostgres({ certificate: createCertificate('localhost') });
});
afterAll(async () => {
  await Promise.all(registers.map((ledger) => ledger.stop()));
  await server.stop();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((ledger) => ledger.stop()));
});

ledgerConformance('PostgreSQL', async () =>
  createPostgresLedger({ address: parsePostgresUrl('url', await server.createDatabase()) }),
);

let registerUrl: string;
replayRegisterConformance(
  'PostgreSQL',
  async () => {
    registerUrl = await server.createDatabase();
    const ledger = createPostgresLedger({ address: parsePostgresUrl('url', registerUrl) });
    registers.push(ledger);
    return ledger.replays;
  },
  async (organisation) => {
    await server.query(
      registerUrl,
      `UPDATE ledger.replays SET reported_at = reported_at - interval '${heldMs} milliseconds'
       WHERE organisation = '${organisation}'`,
    );
  },
);

const noon = at('2026-11-22T12:00:00Z');
const later = (ms: number): EpochMs => (noon + ms) as EpochMs;

function open(url: string, options: { readonly passwordFile?: string } = {}): Ledger {
  const ledger = createPostgresLedger({ address: parsePostgresUrl('url', url), ...options });
  opened.push(ledger);
  return ledger;
}

/** `count` operations that were signed and mined, in entries of two each. */
function minedOperations(count: number): LedgerEntry[] {
  return [...Array(count).keys()].flatMap((index) => {
    const decision = aDecision('acme', later(index));
    return reservationOf(decision, aSettlement(decision, later(index + 5000)));
  });
}

async function total(ledger: Ledger): Promise<UsageRow | undefined> {
  const rows = await ledger.usage({
    organisation: 'acme',
    paymasterId: undefined,
    from: at('2026-11-01T00:00:00Z'),
    to: at('2026-12-01T00:00:00Z'),
    step: 'month',
    groupBy: undefined,
    senders: false,
    limit: 10,
  });
  return rows[0];
}

/** The same entries until they are stored, as the feed delivers them. */
async function deliver(ledger: Ledger, entries: readonly LedgerEntry[]): Promise<void> {
  for (;;) {
    try {
      return await ledger.append(entries);
    } catch (error) {
      expect(error).toMatchObject({ code: 'UNAVAILABLE' });
    }
  }
}

function halves<T>(list: readonly T[]): [T[], T[]] {
  const middle = Math.floor(list.length / 2);
  return [list.slice(0, middle), list.slice(middle)];
}

describe('the ledger in PostgreSQL', () => {
  test('several processes may create it, and store the same entries, at the same time', async () => {
    const url = await server.createDatabase();
    const entries = minedOperations(300);
    const pods = [open(url), open(url), open(url)];
    await Promise.all(pods.map((pod) => pod.append(entries)));
    for (const pod of pods)
      expect(await total(pod)).toMatchObject({ sponsored: 300, mined: 300, expired: 0, spentWei: 180_000n });
  });

  test('a settlement meets its decision when two processes store them at the same time', async () => {
    const url = await server.createDatabase();
    const [one, other] = [open(url), open(url)];
    const entries = minedOperations(200);
    const decisions = entries.filter(({ record }) => record.kind === 'decision');
    const settlements = entries.filter(({ record }) => record.kind === 'settlement');
    for (let from = 0; from < 200; from += 20)
      await Promise.all([
        one.append(decisions.slice(from, from + 20)),
        other.append(settlements.slice(from, from + 20)),
      ]);
    expect(await total(one)).toMatchObject({ sponsored: 200, mined: 200, expired: 0, spentWei: 120_000n });
    const { decisions: views } = await other.decisions({
      organisation: 'acme',
      from: noon,
      to: later(1000),
      limit: 500,
    });
    expect(views.map(({ settlement }) => settlement?.outcome)).toEqual(Array(200).fill('mined'));
  });

  test('a server that is killed while it stores loses nothing and stores nothing twice', async () => {
    const ledger = open(await server.createDatabase());
    const [before, after] = halves(minedOperations(1500));
    await ledger.append(before);
    const storing = deliver(ledger, after);
    await server.kill();
    await expect(ledger.ping()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await server.start();
    await storing;
    await ledger.append(before);
    expect(await total(ledger)).toMatchObject({ sponsored: 1500, mined: 1500, spentWei: 900_000n });
  });

  test('an answer to a commit that is lost on its way doubles nothing', async () => {
    const url = new URL(await server.createDatabase());
    const proxy = await startCommitCutter(server.port);
    try {
      url.port = String(proxy.port);
      const ledger = open(url.href);
      await ledger.ping();
      const [first, second] = halves(minedOperations(100));
      await ledger.append(first);
      proxy.cutNextCommit();
      await expect(ledger.append(second)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      expect(await total(ledger)).toMatchObject({ sponsored: 100, mined: 100 });
      await ledger.append(second);
      expect(await total(ledger)).toMatchObject({ sponsored: 100, mined: 100, spentWei: 60_000n });
    } finally {
      await proxy.stop();
    }
  });

  test('a database that may only be read answers queries and stores nothing', async () => {
    const url = await server.createDatabase();
    const name = new URL(url).pathname.slice(1);
    const elsewhere = new URL('/postgres', url).href;
    const [first, second] = halves(minedOperations(10));
    await open(url).append(first);
    await server.query(elsewhere, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const reader = open(url);
    await expect(reader.append(second)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await total(reader)).toMatchObject({ sponsored: 5 });
    await server.query(elsewhere, `ALTER DATABASE ${name} RESET ALL`);
    const writer = open(url);
    await writer.append(second);
    expect(await total(writer)).toMatchObject({ sponsored: 10 });
  });

  test('a disk that is full takes nothing of a batch, and all of it once there is room', async () => {
    const url = await server.createDatabase();
    await open(url).append(minedOperations(1));
    const operations = minedOperations(10);
    const large = operations.flatMap(({ record }) =>
      record.kind === 'decision'
        ? alone({ ...inputsOf(record, 1), body: randomBytes(500_000).toString('base64') })
        : [],
    );
    const batch = [...operations, ...large];
    server.limitFiles(2 ** 22);
    const full = open(url);
    try {
      await expect(full.append(batch)).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringContaining('File too large'),
      });
      expect(await total(full)).toMatchObject({ sponsored: 1, mined: 1 });
    } finally {
      server.limitFiles(undefined);
    }
    await full.stop();
    const roomy = open(url);
    await roomy.append(batch);
    expect(await total(roomy)).toMatchObject({ sponsored: 11, mined: 11 });
  });

  test('tables of a newer release are refused', async () => {
    const url = await server.createDatabase();
    await open(url).append(minedOperations(1));
    await server.query(url, 'INSERT INTO ledger.versions (version) VALUES (1000)');
    await expect(open(url).ping()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      details: { reason: 'NEWER_VERSION' },
    });
  });

  test('text that PostgreSQL cannot store, or not as a key, does not stop the ledger', async () => {
    const ledger = open(await server.createDatabase());
    const bad = aRefusal('acme', noon, {
      callerRequestId: 'a\0b',
      detail: `zero \0, half a pair \ud800, and a backslash \\u0000`,
      calls: [
        {
          target: hex(20, 1) as never,
          selector: '0x12345678' as Hex,
          contractId: 'c',
          name: `\0${'ü'.repeat(5000)}`,
        },
      ],
      policies: [
        { policyId: 'p\0', effect: 'refused' },
        { policyId: 'p\uFFFD', effect: 'refused' },
      ],
    });
    await ledger.append(alone(bad));
    const view = await ledger.decision('acme', bad.id);
    expect(view?.decision.detail).toBe('zero \uFFFD, half a pair \uFFFD, and a backslash \\u0000');
    expect(await total(ledger)).toMatchObject({ refused: 1 });
  });

  test('a record that cannot be stored is refused for itself, so that it can be told from an outage', async () => {
    const ledger = open(await server.createDatabase());
    const decision = aDecision('acme', noon);
    const beyond = aSettlement(decision, noon, { actualGasCostWei: 10n ** 90n });
    await expect(ledger.append(reservationOf(decision, beyond))).rejects.toMatchObject({ code: 'INTERNAL' });
    const endless = { ...aSettlement(decision, noon), at: (10 ** 15) as EpochMs };
    await expect(ledger.append(reservationOf(decision, endless))).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
    await ledger.append(reservationOf(decision));
    expect(await total(ledger)).toMatchObject({ sponsored: 1, mined: 0 });
  });

  test('a question may begin at zero and end at the largest number', async () => {
    const ledger = open(await server.createDatabase());
    const decision = aDecision('acme', noon);
    const contract = hex(20, 8) as AddressKey;
    await ledger.append([
      ...reservationOf(decision, aSettlement(decision, later(10))),
      ...alone(aSample(contract, noon), inputsOf(decision, 1)),
    ]);
    const always = { from: 0 as EpochMs, to: Number.MAX_SAFE_INTEGER as EpochMs };
    const whose = {
      organisation: 'acme',
      paymasterId: undefined,
      groupBy: undefined,
      senders: true,
      limit: 10,
    };
    for (const step of usageSteps)
      expect(await ledger.usage({ ...whose, ...always, step })).toMatchObject([{ sponsored: 1, mined: 1 }]);
    expect((await ledger.decisions({ organisation: 'acme', ...always, limit: 10 })).decisions).toHaveLength(
      1,
    );
    const account = { chainId: 31337, contract, fundingAddress: undefined };
    expect(await ledger.funds({ accounts: [account], ...always })).toMatchObject([
      { spentWei: 600n, samples: [{ at: noon }] },
    ]);
    const pages = [];
    for await (const page of ledger.inputs({ organisation: 'acme', paymasterIds: ['shop'], ...always }))
      pages.push(page);
    expect(pages).toEqual([[inputsOf(decision, 1)]]);
  });

  test('a search that has no time left answers where the next one goes on', async () => {
    const url = await server.createDatabase();
    const hurried = createPostgresLedger({ address: parsePostgresUrl('url', url), searchMs: 0 });
    opened.push(hurried);
    const old = aRefusal('acme', noon, { reason: 'FACTORY_NOT_ALLOWED' });
    const others = [...Array(20).keys()].map((n) => aRefusal('acme', later((n + 1) * 3_600_000)));
    await hurried.append(alone(old, ...others));
    const query = { organisation: 'acme', from: noon, to: later(21 * 3_600_000), limit: 3 };
    const pages: string[][] = [];
    let before: string | undefined;
    do {
      const page = await hurried.decisions({
        ...query,
        reason: 'FACTORY_NOT_ALLOWED',
        ...(before !== undefined && { before }),
      });
      pages.push(page.decisions.map(({ decision }) => decision.id));
      before = page.next;
    } while (before !== undefined);
    expect(pages.length).toBeGreaterThan(10);
    expect(pages.flat()).toEqual([old.id]);
    expect(pages.at(-1)).toEqual([old.id]);
  });

  test('a query that takes too long ends, and a later one is answered', async () => {
    const url = await server.createDatabase();
    await open(url).append(minedOperations(5));
    const impatient = createPostgresLedger({ address: parsePostgresUrl('url', url), queryTimeoutMs: 500 });
    opened.push(impatient);
    const search = () => impatient.decisions({ organisation: 'acme', from: noon, to: later(1000), limit: 5 });
    const held = server
      .query(url, `BEGIN; LOCK TABLE ledger.decisions; SELECT pg_sleep(600) AS long`)
      .catch((error: unknown) => error);
    await until('the table is locked', async () => !(await succeeds(search())));
    await expect(search()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await server.query(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%AS long' AND pid <> pg_backend_pid()`,
    );
    await held;
    await until('the query is answered', () => succeeds(search()));
  });

  test('a wrong password is refused without being shown, and a rotated one is read again', async () => {
    const url = new URL(await server.createDatabase());
    await server.query(
      url.href,
      `CREATE ROLE app LOGIN PASSWORD 'first-secret'; GRANT CREATE ON DATABASE ${url.pathname.slice(1)} TO app`,
    );
    url.username = 'app';
    const passwordFile = join(server.directory, 'password');
    writeFileSync(passwordFile, 'wrong-secret\n');
    const ledger = open(url.href, { passwordFile });
    const refused = await ledger.ping().catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'UNAVAILABLE' });
    expect(String(refused)).not.toContain('wrong-secret');
    writeFileSync(passwordFile, 'first-secret\n');
    await ledger.append(minedOperations(1));
    url.username = 'postgres';
    await server.query(
      url.href,
      `ALTER ROLE app PASSWORD 'second-secret'; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'`,
    );
    writeFileSync(passwordFile, 'second-secret\n');
    await deliver(ledger, minedOperations(1));
    expect(await total(ledger)).toMatchObject({ sponsored: 2 });
  });

  test('the certificate of the server is checked, and its name too', async () => {
    const url = new URL(await server.createDatabase());
    url.searchParams.set('sslmode', 'verify-full');
    await expect(open(url.href).ping()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    url.searchParams.set('sslrootcert', server.certificateFile);
    await expect(open(url.href).ping()).rejects.toThrow(/127\.0\.0\.1/);
    url.searchParams.set('sslmode', 'verify-ca');
    await open(url.href).ping();
    url.searchParams.set('sslmode', 'verify-full');
    url.hostname = 'localhost';
    await open(url.href).ping();
  });

  test('the statements of docs/ledger.md run, and its queries find what they ask for', async () => {
    const url = await server.createDatabase();
    const name = new URL(url).pathname.slice(1);
    const ledger = open(url);
    const decision = aDecision('acme', noon);
    await ledger.append(reservationOf(decision, aSettlement(decision, later(10))));
    const text = readFileSync(join(repositoryRoot, 'docs/ledger.md'), 'utf8');
    const blocks = [...text.matchAll(/```sql\n([^`]+)```/g)].map(([, sql = '']) => sql);
    const [rights, analyst, ...queries] = blocks;
    expect(queries).toHaveLength(3);
    await server.query(url, `${rights?.replace('DATABASE ledger', `DATABASE ${name}`)} ${analyst}`);
    for (const query of queries) await server.query(url, `SET ROLE analyst; ${query}`);
    const [spent] = await server.query(
      url,
      (queries[0] ?? '').replaceAll('2026-11', '2026-12').replaceAll('2026-10', '2026-11'),
    );
    expect(spent).toMatchObject({ paymaster_id: 'shop', operations: '1' });
  });

  test('the tables say the same as the answers', async () => {
    const url = await server.createDatabase();
    const ledger = open(url);
    const [paid, lapsed] = [aDecision('acme', noon), aDecision('acme', later(1))];
    await ledger.append([
      ...reservationOf(
        paid,
        aSettlement(paid, later(10)),
        aReversal(paid, later(20)),
        aSettlement(paid, later(30)),
      ),
      ...reservationOf(lapsed, anUnusedEnd(lapsed, later(40))),
      ...alone(aGap('acme', noon)),
    ]);
    const rows = await server.query(
      url,
      `SELECT outcomes.outcome, taken_back, actual_gas_cost_wei FROM ledger.decisions
       LEFT JOIN ledger.outcomes ON decision = decisions.id
       LEFT JOIN ledger.settlements ON settlements.id = settlement ORDER BY decisions.id`,
    );
    expect(rows).toEqual([
      { outcome: 'mined', taken_back: 1, actual_gas_cost_wei: '600' },
      { outcome: 'expired', taken_back: 0, actual_gas_cost_wei: null },
    ]);
    const days = await server.query(
      url,
      `SELECT sponsored, refused, mined, expired, spent_wei FROM ledger.usage_day WHERE dimension = 'paymaster'`,
    );
    expect(days).toEqual([{ sponsored: '2', refused: '5', mined: '1', expired: '1', spent_wei: '600' }]);
  });
});
