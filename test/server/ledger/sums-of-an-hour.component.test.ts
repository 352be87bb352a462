import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { createStops, type Stops } from '../../../adapters/process/stops.js';
import { createPostgresLedger, type StoredLedger } from '../../../adapters/store/ledger/postgres-ledger.js';
import { createSqliteLedger } from '../../../adapters/store/ledger/sqlite-ledger.js';
import type { DecisionView, UsageRow } from '../../../core/ledger/query.js';
import type { RecordId } from '../../../core/ledger/record.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import type { Clock, EpochMs } from '../../../core/units/time.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import { openStore } from '../../adapters/usage/postgres-usage.js';
import { dice } from '../../adapters/usage/turmoil.js';
import { aDecision } from '../../conformance/ledger-records.js';
import {
  anAddress,
  chainId,
  contract,
  entryPoint,
  funding,
  seconds,
  startMs,
} from '../../conformance/usage-requests.js';
import { depositOf, walletOf, type FakeOperation } from '../../fakes/chain.js';
import { sharedPostgres, type SharedPostgres } from '../../support/postgres.js';
import { isSoak } from '../../support/soak-seconds.js';
import { seedOfRun } from '../../support/property.js';
import {
  aChainConfig,
  aFollowed,
  anOperation,
  aPromise,
  gweiInWei,
  openSqlite,
} from '../follower/followed.js';

// An hour of blocks: what was decided, what the chain took and what usage says agree to the wei, however often the chain changes its
// mind and the job of the sums is killed.

const blocks = 300;
const confirmations = 2;
const kills = isSoak ? 12 : 4;
/** Longer than a test may take, on a machine of any speed. */
const aHangMs = 600_000;
const child = fileURLToPath(new URL('./sums-child.js', import.meta.url));

let server: SharedPostgres;
let stops: Stops;
beforeAll(async () => {
  server = await sharedPostgres();
});
afterAll(() => server.stop());
afterEach(() => stops.run());

/** An operation that was promised. `validUntil`: seconds after the start. */
type Promised = {
  readonly sender: number;
  readonly paymaster: number;
  readonly nonce: bigint;
  readonly prefund: number;
  readonly validUntil: number;
};
const all = { organisation: 'acme', from: startMs, to: (startMs + 2 * 86_400_000) as EpochMs };
type Sums = Pick<UsageRow, 'sponsored' | 'mined' | 'reverted' | 'expired' | 'spentWei'>;

test.each(['SQLite', 'PostgreSQL'] as const)(
  'in %s decisions, settlements and usage of an hour agree with each other and with the chain to the wei',
  async (store) => {
    stops = createStops();
    const { it, ledger, place, rawSums } = await open(store);
    const roll = dice(seedOfRun());
    const ids = createRecordIds(it.clock);
    const follower = () => it.create(undefined, { ids, organisationOf: () => 'acme' });
    let following = follower();
    const begin = it.chain.height;
    const promised: Promised[] = [];
    /** Not mined, or no longer. */
    let unmined: Promised[] = [];
    /** What the chain has mined, by block. */
    const mined = new Map<number, { readonly of: Promised; readonly operation: FakeOperation }[]>();
    let reorganisations = 0;

    for (let block = 1; block <= blocks; block++) {
      for (let count = roll(4); count > 0; count--) await promise();
      it.clock.advance(12_000);
      if (roll(12) === 0) reorganise();
      else mineBlock();
      // Another process may follow the chain next, with what the store knows.
      if (roll(20) === 0) following = follower();
      if (roll(4) > 0) await following.round();
      if (block % (blocks / kills) === 0) await killJob(block);
    }
    await drain();
    while (await ledger.rollUp());

    const truth = [...mined.values()].flat();
    const wanted = (of: readonly Promised[]): Sums => {
      const own = truth.filter((one) => of.includes(one.of));
      return {
        sponsored: of.length,
        mined: own.length,
        reverted: own.filter(({ operation }) => operation.success === false).length,
        expired: of.length - own.length,
        spentWei: own.reduce((sum, { operation }) => sum + operation.cost, 0n),
      };
    };
    const views = await allDecisions();
    const settledCosts = views.map(({ decision: { sender, nonce }, settlement }) => [
      `${sender}/${nonce}`,
      settlement?.mined?.actualGasCostWei ?? 0n,
    ]);
    const costs = promised.map((of) => [
      `${anAddress(of.sender)}/${of.nonce}`,
      truth.find((one) => one.of === of)?.operation.cost ?? 0n,
    ]);
    expect(new Map(settledCosts as [string, bigint][])).toEqual(new Map(costs as [string, bigint][]));
    expect(views.filter(({ settlement }) => settlement === undefined)).toEqual([]);
    expect(await usageOf()).toMatchObject([wanted(promised)]);
    const byPaymaster = await usageOf('paymaster');
    for (const paymaster of [0, 1, 2])
      expect(byPaymaster.find(({ group }) => group === `pm-${paymaster}`)).toMatchObject(
        wanted(promised.filter((one) => one.paymaster === paymaster)),
      );
    const total = String(wanted(promised).spentWei);
    expect(await rawSums()).toEqual(['day', 'hour', 'minute'].map((unit) => ({ unit, spent: total })));
    const takenBack = views.reduce((sum, { settlement }) => sum + (settlement?.takenBack ?? 0), 0);
    expect(takenBack).toBeGreaterThan(5);
    console.info(
      JSON.stringify({ store, reorganisations, kills, takenBack, ...wanted(promised), spentWei: total }),
    );

    /** It has much to add when it begins, and is killed at another point each time. */
    async function killJob(block: number): Promise<void> {
      const job = await startJob(place);
      for (let turn = 0; turn < 3 ** (block % 7); turn++) await new Promise(setImmediate);
      job.kill('SIGKILL');
      await once(job, 'exit');
      // Readings add what the sums do not have yet.
      expect(await usageOf()).toMatchObject([{ sponsored: promised.length }]);
    }

    async function promise(): Promise<void> {
      const number = promised.length;
      const one: Promised = {
        sender: 0xa00 + roll(5),
        paymaster: roll(3),
        // A separate key, so that each can be mined whenever it likes.
        nonce: BigInt(number + 1) << 64n,
        prefund: 1 + roll(50),
        validUntil: (it.clock.now() - startMs) / 1000 + 120 + roll(600),
      };
      const digest = `0x${(number + 1).toString(16).padStart(32, '0')}` as const;
      const paymasterId = `pm-${one.paymaster}`;
      const key = { paymasterId, sender: anAddress(one.sender), nonce: one.nonce };
      const { id, at } = ids.next();
      const record = aDecision('acme', at, {
        ...key,
        id,
        chainId,
        digest,
        maxCostWei: BigInt(one.prefund) * gweiInWei,
      });
      const validUntil = seconds(one.validUntil);
      const answer = await it.usage.reserve(
        aPromise(one.prefund, { key, record, promise: { digest, validUntil } }),
      );
      expect(answer).toEqual({ outcome: 'reserved' });
      promised.push(one);
      unmined.push(one);
    }

    function mineBlock(): void {
      const time = it.chain.time + 12;
      const chosen = unmined.filter(({ validUntil }) => seconds(validUntil) > time && roll(4) === 0);
      const found = chosen.map((of) => ({ of, operation: operationOf(of) }));
      const { number } = it.chain.mine({ operations: found.map(({ operation }) => operation) });
      mined.set(number, found);
      unmined = unmined.filter((one) => !chosen.includes(one));
    }

    function operationOf({ sender, nonce, prefund }: Promised): FakeOperation {
      // Any wei: gwei are rounded in limits, and nowhere in the ledger.
      const cost = (BigInt(prefund) * gweiInWei * BigInt(1 + roll(1_000))) / 1_000n - BigInt(roll(1_000));
      return anOperation(0, { sender: anAddress(sender), nonce, cost, success: roll(5) > 0 });
    }

    /** Some blocks go, also settled ones; some of their operations come back at another cost, some later, some never. */
    function reorganise(): void {
      const height = it.chain.height;
      const common = Math.max(begin, height - 1 - roll(confirmations + 4));
      for (let number = common + 1; number <= height; number++) {
        unmined.push(...(mined.get(number) ?? []).map(({ of }) => of));
        mined.delete(number);
      }
      it.chain.reorganise(common);
      it.chain.time -= (height - common) * 12;
      for (let number = common; number <= height; number++) mineBlock();
      reorganisations += 1;
    }

    async function drain(): Promise<void> {
      while ((await it.usage.liveCount(chainId)) > 0) {
        it.clock.advance(120_000);
        it.chain.mine({ time: seconds((it.clock.now() - startMs) / 1000) });
        it.chain.mineEmpty(confirmations);
        await following.round();
      }
    }

    function usageOf(groupBy?: 'paymaster'): Promise<readonly UsageRow[]> {
      return ledger.usage({
        ...all,
        paymasterId: undefined,
        step: 'month',
        groupBy,
        limit: 100,
      });
    }

    async function allDecisions(): Promise<readonly DecisionView[]> {
      const found: DecisionView[] = [];
      let before: RecordId | undefined;
      do {
        const page = await ledger.decisions({
          ...all,
          limit: 500,
          ...(before === undefined ? {} : { before }),
        });
        found.push(...page.decisions);
        before = page.next;
      } while (before !== undefined);
      return found;
    }
  },
);

async function open(store: 'SQLite' | 'PostgreSQL') {
  const url = await server.createDatabase();
  let path = '';
  const openUsage = (clock: Clock, directory: string): Promise<UsageStore> => {
    path = `${directory}/usage.db`;
    return store === 'SQLite' ? openSqlite(clock, directory) : openStore(url, { clock });
  };
  const it = await aFollowed(aChainConfig({ confirmations }), openUsage);
  stops.add(() => it.stop());
  const { clock } = it;
  const ledger: StoredLedger =
    store === 'SQLite'
      ? await createSqliteLedger({ path, searchMs: aHangMs, deadlineMs: aHangMs })
      : createPostgresLedger({ address: parsePostgresUrl('url', url), clock, searchMs: aHangMs });
  stops.add(() => ledger.stop());
  const plenty = 10n ** 6n * gweiInWei;
  it.chain.mine({
    transfers: [
      [depositOf(entryPoint, contract), plenty],
      [walletOf(contract, funding), plenty],
    ],
  });
  it.chain.mineEmpty(confirmations);
  it.clock.advance((1 + confirmations) * 12_000);
  await it.follower.round();
  return { it, ledger, place: store === 'SQLite' ? path : url, rawSums: () => sumsOf(store, { url, path }) };
}

/** What chains have spent, by the rows of sums alone. */
async function sumsOf(
  store: 'SQLite' | 'PostgreSQL',
  { url, path }: { readonly url: string; readonly path: string },
) {
  const rows = store === 'SQLite' ? inFile(path) : await server.query(url, sumsIn('ledger.usage'));
  const units = Map.groupBy(rows, ({ unit }) => String(unit));
  return [...units].map(([unit, of]) => ({
    unit,
    spent: String(of.reduce((sum, { spent_wei: spent }) => sum + BigInt(String(spent)), 0n)),
  }));
}

const sumsIn = (table: string): string =>
  `SELECT unit, spent_wei FROM ${table} WHERE dimension = 'chain' ORDER BY unit`;

function inFile(path: string): readonly Readonly<Record<string, unknown>>[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return db.prepare(sumsIn('ledger_usage')).all();
  } finally {
    db.close();
  }
}

async function startJob(place: string): Promise<ChildProcess> {
  const started = spawn(process.execPath, ['--no-warnings', child, place], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  stops.add(() => void started.kill('SIGKILL'));
  await once(started.stdout, 'data');
  return started;
}
