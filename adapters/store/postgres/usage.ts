import { randomUUID } from 'node:crypto';
import type { Ambient } from '../../../core/ambient.js';
import type { LedgerEntry, LedgerWriter } from '../../../core/ledger/ledger.js';
import type { LedgerRecord } from '../../../core/ledger/record.js';
import { noMetrics, type Metrics } from '../../../core/metrics.js';
import type { FollowerLease } from '../../../core/usage/follower-lease.js';
import { createMemoryEpochMirror, type EpochMirror, type UsageRecovery } from '../../../core/usage/epoch.js';
import type { PriceReferences } from '../../../core/pricing/price-jump.js';
import type { KeptTexts } from '../../../core/usage/kept-texts.js';
import type { UsageReading, UsageStore } from '../../../core/usage/usage-store.js';
import { usageOver } from '../../../core/usage/usage-over-rows.js';
import type { Clock, EpochMs } from '../../../core/units/time.js';
import type { ClientOptions } from '../../postgres/client.js';
import { migrate } from '../../postgres/migrate.js';
import { createPostgres } from '../../postgres/transactions.js';
import type { KeptEpoch, KeptEpochs } from '../kept-epochs.js';
import { notedReserve } from '../noted-reserve.js';
import { UsageEpochs } from '../usage-epochs.js';
import { UsageFullness } from '../usage-fullness.js';
import { migratePostgresLedger } from '../ledger/partitions.js';
import { ledgerStatements } from '../ledger/write.js';
import { Opening } from './opening.js';
import { PostgresRows } from './postgres-rows.js';
import { PostgresProcess } from './process.js';
import type { StoreTimings } from './timings.js';
import { format, steps } from './schema.js';
import { assertSafe, checkSafety, toServer, countTurns } from './server-facts.js';
import { readSafety, readServer } from './statements.js';
import { postgresPriceReferences } from './price-references.js';
import { readText } from './turn-rows.js';
import { startMaintenance } from './maintenance.js';

export type PostgresUsageOptions = Pick<Ambient, 'log'> & {
  readonly client: ClientOptions;
  /** Unique per process, for the follower's lease. */
  readonly identity: string;
  /** Replaces the time of the server: for tests. */
  readonly clock?: Clock;
  /** Where the epoch's copy is kept. Default: in this process, which does not notice a loss across its own restart. */
  readonly epochMirror?: EpochMirror;
  readonly metrics?: Metrics;
  /** Default: as long as callers of a service can wait. */
  readonly timings?: Partial<StoreTimings>;
};

export type PostgresUsageStore = UsageStore &
  KeptTexts & {
    readonly lease: FollowerLease;
    readonly reading: UsageReading;
    /** `raise` updates the copies of the epochs at once, as happens every few seconds. */
    readonly recovery: UsageRecovery & { raise(): Promise<boolean> };
    /** For records of no promise; those that `reserve` and `advance` are given are written with them. */
    readonly ledger: LedgerWriter;
    readonly prices: PriceReferences;
    /** Resolves when the tables are up to date. Throws UNAVAILABLE when the first attempt has failed; others follow. */
    opened(): Promise<void>;
  };

/** A follower that has not renewed for this long loses its chain to another replica. */
const leaseMs = 10_000;
/** `validUntil` is by the clock of the caller, the time that of the server. */
const clocksApartMs = 30_000;

/** The usage store in PostgreSQL, with its tables up to date. Throws UNAVAILABLE. */
export async function openPostgresUsageStore(options: PostgresUsageOptions): Promise<PostgresUsageStore> {
  const store = createPostgresUsageStore(options);
  try {
    await store.opened();
    return store;
  } catch (error) {
    await store.stop();
    throw error;
  }
}

/** Connects in the background, and brings the tables up to date; until then every call throws UNAVAILABLE. */
export function createPostgresUsageStore(options: PostgresUsageOptions): PostgresUsageStore {
  const { log, metrics = noMetrics } = options;
  const connected = metrics
    .gauge({
      name: 'paymaster_usage_store_connected',
      help: '1 while a PostgreSQL that may be relied on answers',
    })
    .with({});
  connected.set(0);
  const opening = new Opening(
    () => preparePostgres(options.client, options.clock?.now() ?? (Date.now() as EpochMs)),
    log,
  );
  const commits = metrics.counter<'outcome'>({
    name: 'paymaster_usage_commits_total',
    help: 'Transactions of the usage store, by outcome: ok or failed.',
    labels: ['outcome'],
  });
  const process = new PostgresProcess({
    ...options,
    epochs: () => epochs,
    assertOpen: () => opening.assertOpen(),
    onTablesGone: (error) => opening.reopen(error),
    onCommit: (outcome) => {
      commits.with({ outcome }).inc();
      connected.set(outcome === 'ok' ? 1 : 0);
    },
  });
  const rows = new PostgresRows(process);
  const epochs = new UsageEpochs({
    store: keptEpochs(process),
    mirror: options.epochMirror ?? createMemoryEpochMirror(),
    clock: { now: () => process.now() },
    log,
    metrics,
  });
  const usage = usageOver(rows, new UsageFullness(metrics, { now: () => process.now() }));
  const maintenance = startMaintenance(process, usage, log);
  const noted = notedReserve(
    (request) => usage.push(request),
    epochs,
    ({ promise }) => promise.validUntil * 1000 - process.now() - clocksApartMs,
  );

  async function ping(): Promise<void> {
    try {
      assertSafe(checkSafety(await process.query(readSafety.text)));
      connected.set(1);
    } catch (error) {
      connected.set(0);
      throw error;
    }
  }

  return {
    ...usage,
    opened: () => opening.opened(),
    push: (request) => noted.push(request),
    reserve: async (request) => noted.push(request),
    capacity: () => 5_000_000,
    ping,
    ledger: { add: (records) => process.write(ledgerStatements(records.map(alone))) },
    async stop() {
      await opening.stop();
      await maintenance.stop();
      await noted.ended();
      await rows.drain();
      await epochs.stop();
      await rows.stop();
    },
    ...texts(process),
    prices: postgresPriceReferences(process),
    lease: followerLease(process, options.identity),
    reading: {
      now: () => process.now(),
      counters: usage.counters,
      accounts: usage.accounts,
      cursor: usage.cursor,
    },
    recovery: epochs,
  };
}

function alone(record: LedgerRecord): LedgerEntry {
  return { record, reservation: undefined };
}

/** Brings the tables of usage and ledger up to date. Throws UNAVAILABLE. */
export async function preparePostgres(client: ClientOptions, now: EpochMs): Promise<void> {
  const postgres = createPostgres({ ...client, poolSize: 1 });
  try {
    await postgres.transaction({ mode: 'write', timeoutMs: 10_000 }, async (session) =>
      assertSafe(checkSafety(await session.query(readSafety.text))),
    );
    await migrate(postgres, { schema: 'usage', steps });
    await migratePostgresLedger(postgres, now);
    await postgres.transaction({ mode: 'write', timeoutMs: 10_000 }, (session) =>
      session.query(
        `INSERT INTO usage.database (id, format, system_identifier, timeline)
         SELECT 1, ${format}, system_identifier::text, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system()
         ON CONFLICT (id) DO NOTHING`,
      ),
    );
  } finally {
    await postgres.stop();
  }
}

/** The epoch of a chain is a column of its row; its sequence is the sum of what all writers have counted. */
function keptEpochs(process: PostgresProcess): KeptEpochs {
  async function read(chainId: number): Promise<KeptEpoch> {
    const [found] = await process.query(
      'SELECT epoch, longest_expiry_ms FROM usage.chain WHERE chain_id = $1',
      [chainId],
    );
    return {
      kept: found === undefined ? '' : readText(found, 'epoch'),
      longestExpiryMs: Number(found?.['longest_expiry_ms'] ?? 0),
      sequence: countTurns(toServer(await process.query(readServer.text))),
      now: process.now(),
    };
  }
  return {
    assertUsable: () => process.assertUsable(),
    read,
    async begin(chainId, expected, isFirst) {
      const epoch = `${randomUUID()}:${isFirst ? 0 : process.now()}`;
      // Alone: a turn that began in the former epoch has ended before.
      await process.alone(
        chainId,
        `INSERT INTO usage.chain AS c (chain_id, epoch) SELECT $1, CASE WHEN $2 = '' THEN $3 ELSE '' END
         ON CONFLICT (chain_id) DO UPDATE SET epoch = $3 WHERE c.epoch = $2`,
        [chainId, expected, epoch],
      );
      return read(chainId);
    },
    async noteExpiry(chainId, expected, longestExpiryMs) {
      await process.query(
        'UPDATE usage.chain SET longest_expiry_ms = $3 WHERE chain_id = $1 AND epoch = $2',
        [chainId, expected, longestExpiryMs],
      );
    },
  };
}

/** The lease ends by the time of the server. */
function followerLease(process: PostgresProcess, identity: string): FollowerLease {
  return {
    async hold(chainId) {
      const taken = await process.query(
        `INSERT INTO usage.lease AS l (chain_id, holder, until) VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
         ON CONFLICT (chain_id) DO UPDATE SET holder = excluded.holder, until = excluded.until
         WHERE l.holder = $2 OR l.until < clock_timestamp() RETURNING holder`,
        [chainId, identity, leaseMs],
      );
      return taken.length > 0;
    },
    async release(chainId) {
      await process.query('DELETE FROM usage.lease WHERE chain_id = $1 AND holder = $2', [chainId, identity]);
    },
  };
}

function texts(process: PostgresProcess): KeptTexts {
  // The table was made for messages of paymasters, and its columns are called so.
  return {
    async putText(name, text, expiresAt) {
      await process.query('DELETE FROM usage.message WHERE expires_at <= $1', [process.now()]);
      await process.query(
        `INSERT INTO usage.message VALUES ($1, $2, $3)
         ON CONFLICT (paymaster_id) DO UPDATE SET message = excluded.message, expires_at = excluded.expires_at`,
        [name, text, expiresAt satisfies EpochMs],
      );
    },
    async addText(name, text, expiresAt, { prefix, most }) {
      const added = await process.once(
        `INSERT INTO usage.message AS kept SELECT $1::text, $2::text, $3::bigint
         WHERE (SELECT count(*) FROM usage.message WHERE starts_with(paymaster_id, $5) AND expires_at > $4) < $6
         ON CONFLICT (paymaster_id) DO UPDATE SET message = excluded.message, expires_at = excluded.expires_at
         WHERE kept.expires_at <= $4 RETURNING 1`,
        [name, text, expiresAt satisfies EpochMs, process.now(), prefix, most],
      );
      return added.length > 0;
    },
    async getText(name) {
      const [row] = await process.query(
        'SELECT message FROM usage.message WHERE paymaster_id = $1 AND expires_at > $2',
        [name, process.now()],
      );
      return row === undefined ? undefined : readText(row, 'message');
    },
    async getTexts(names) {
      const rows = await process.query(
        'SELECT paymaster_id, message FROM usage.message WHERE paymaster_id = ANY ($1::text[]) AND expires_at > $2',
        [names, process.now()],
      );
      return new Map(rows.map((row) => [readText(row, 'paymaster_id'), readText(row, 'message')]));
    },
    async takeText(name, text) {
      const used = await process.once(
        'DELETE FROM usage.message WHERE paymaster_id = $1 AND message = $2 AND expires_at > $3 RETURNING 1',
        [name, text, process.now()],
      );
      return used.length > 0;
    },
  };
}
