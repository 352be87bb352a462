import type { SQLInputValue, StatementSync } from 'node:sqlite';
import type { Changes } from '../../../core/usage/changes.js';
import { ChainLedger } from '../../../core/usage/ledger.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import type { Unit, TakenStep } from '../../../core/usage/usage-store.js';
import type { Database } from '../../sqlite/database.js';
import { integerOf, textOf, type Row } from '../../sqlite/row.js';
import type { LedgerOutbox } from './ledger-outbox.js';
import { createTakenSteps } from './taken-steps.js';
import { formatTerms, parseTerms } from './usage-terms.js';

/**
 * The stored data: settled use (a counter without any has no row), balances, fences, reservations, and one row per
 * chain with its epoch, sequence and cursor. Reserved amounts are not stored: they follow from the reservations.
 */
export const usageSchema = `
  CREATE TABLE usage_chains (
    chain_id INTEGER PRIMARY KEY, epoch TEXT NOT NULL, longest_expiry_ms INTEGER NOT NULL, sequence INTEGER NOT NULL,
    forgotten_until INTEGER NOT NULL, block_number INTEGER, block_hash TEXT, block_timestamp INTEGER
  ) STRICT;
  CREATE TABLE usage_counters (
    chain_id INTEGER NOT NULL, unit TEXT NOT NULL, counter TEXT NOT NULL, until INTEGER NOT NULL, used INTEGER NOT NULL,
    PRIMARY KEY (chain_id, unit, counter)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE usage_accounts (
    chain_id INTEGER NOT NULL, contract TEXT NOT NULL, funding TEXT NOT NULL, balance INTEGER NOT NULL, read_at INTEGER NOT NULL,
    PRIMARY KEY (chain_id, contract, funding)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE usage_fences (
    chain_id INTEGER NOT NULL, id TEXT NOT NULL, generation INTEGER NOT NULL, seen_at INTEGER NOT NULL, is_suspended INTEGER NOT NULL,
    PRIMARY KEY (chain_id, id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE usage_reservations (
    row INTEGER PRIMARY KEY, chain_id INTEGER NOT NULL, paymaster_id TEXT NOT NULL, entry_point TEXT NOT NULL,
    sender TEXT NOT NULL, nonce TEXT NOT NULL, terms TEXT NOT NULL
  ) STRICT;
  CREATE TABLE usage_messages (paymaster_id TEXT PRIMARY KEY, message TEXT NOT NULL, expires_at INTEGER NOT NULL) STRICT;

  -- Releases before these tables look here, and refuse a file of another format than 1.
  CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  REPLACE INTO meta VALUES ('format', 2);
`;

export type FundingMessage = { readonly message: string; readonly expiresAt: EpochMs };

/** All usage data in memory. */
export type Usage = {
  readonly chains: Map<number, ChainLedger>;
  readonly messages: Map<string, FundingMessage>;
  readonly nextRow: () => number;
};

export type UsageTables = {
  /** Reads everything that is stored. Throws UNAVAILABLE. */
  read(): Usage;
  /**
   * Stores changes of chains, messages (undefined: the message was used up) and the outbox, all or nothing. Throws
   * UNAVAILABLE.
   */
  write(chains: readonly ChainChanges[], messages: ReadonlyMap<string, FundingMessage | undefined>): void;
  /** Like `write`, but inside a transaction of the caller, and without the outbox. */
  put(chains: readonly ChainChanges[], messages: ReadonlyMap<string, FundingMessage | undefined>): void;
  /** Steps of the follower that lead to the chain's cursor. Throws UNAVAILABLE. */
  takenSteps(chain: ChainLedger): readonly TakenStep[];
  /** Writes data that are there already, to check whether writing works. Throws UNAVAILABLE. */
  probe(): void;
  /** Moves committed data into the main file, so that the log of commits can start again. Throws UNAVAILABLE. */
  checkpoint(): void;
  close(): void;
};

export type ChainChanges = { readonly chain: ChainLedger; readonly changes: Changes };

export function createUsageTables(db: Database, outbox?: LedgerOutbox): UsageTables {
  const chains = table(db, 'usage_chains', 8, ['chain_id']);
  const counters = table(db, 'usage_counters', 5, ['chain_id', 'unit', 'counter']);
  const accounts = table(db, 'usage_accounts', 5, ['chain_id', 'contract', 'funding']);
  const fences = table(db, 'usage_fences', 5, ['chain_id', 'id']);
  const reservations = table(db, 'usage_reservations', 7, ['row']);
  const messages = table(db, 'usage_messages', 3, ['paymaster_id']);
  const takenSteps = createTakenSteps(db);
  const probe = db.sql.prepare(`UPDATE components SET version = version WHERE component = 'usage'`);

  function writeChain({ chain, changes }: ChainChanges): void {
    const { chainId, cursor } = chain;
    for (const entry of changes.reservations) {
      if (entry.isEnded) continue;
      const { paymasterId, entryPoint, sender, nonce } = entry.key;
      const terms = formatTerms(entry);
      reservations.put.run(entry.row, chainId, paymasterId, entryPoint, sender, nonce.toString(16), terms);
    }
    for (const row of changes.ended) reservations.remove.run(row);
    for (const { unit, counter, until, used } of changes.counters)
      if (used === 0) counters.remove.run(chainId, unit, counter);
      else counters.put.run(chainId, unit, counter, until, used);
    for (const { contract, fundingAddress = '', balance, readAt } of changes.accounts)
      if (balance === undefined || readAt === undefined)
        accounts.remove.run(chainId, contract, fundingAddress);
      else accounts.put.run(chainId, contract, fundingAddress, balance, readAt);
    for (const { id, generation, seenAt, isSuspended } of changes.fences)
      if (chain.fences.has(id)) fences.put.run(chainId, id, generation, seenAt, isSuspended ? 1 : 0);
      else fences.remove.run(chainId, id);
    takenSteps.put(chainId, changes.steps);
    const at = [cursor?.blockNumber ?? null, cursor?.blockHash ?? null, cursor?.timestamp ?? null];
    const { epoch, longestExpiryMs, sequence, forgottenUntil } = chain;
    chains.put.run(chainId, epoch, longestExpiryMs, sequence, forgottenUntil, ...at);
  }

  const put: UsageTables['put'] = (changed, changedMessages) => {
    for (const one of changed) writeChain(one);
    for (const [paymasterId, message] of changedMessages)
      if (message === undefined) messages.remove.run(paymasterId);
      else messages.put.run(paymasterId, message.message, message.expiresAt);
  };

  return {
    read: () =>
      db.run(() => {
        const usage = emptyUsage(Number(maxRow(db)));
        for (const row of chains.all.iterate()) readChain(chainOf(usage, row), row);
        for (const row of counters.all.iterate()) readCounter(chainOf(usage, row), row);
        for (const row of accounts.all.iterate()) readAccount(chainOf(usage, row), row);
        for (const row of fences.all.iterate()) readFence(chainOf(usage, row), row);
        for (const row of reservations.all.iterate()) readReservation(chainOf(usage, row), row);
        for (const row of messages.all.iterate())
          usage.messages.set(textOf(row, 'paymaster_id'), {
            message: textOf(row, 'message'),
            expiresAt: integerOf(row, 'expires_at') as EpochMs,
          });
        // The data that were just read are stored already.
        for (const chain of usage.chains.values()) chain.dropChanges();
        return usage;
      }),
    put,
    write: (changed, changedMessages) =>
      db.transaction(() => {
        put(changed, changedMessages);
        outbox?.put();
      }),
    takenSteps: ({ chainId, cursor }) => db.run(() => takenSteps.read(chainId, cursor)),
    probe: () => db.transaction(() => void probe.run()),
    checkpoint: () => db.run(() => db.sql.exec('PRAGMA wal_checkpoint(PASSIVE)')),
    close: () => db.close(),
  };
}

/** Empty usage; `lastRow` is the highest number of a stored reservation. */
export function emptyUsage(lastRow: number): Usage {
  let row = lastRow;
  return { chains: new Map(), messages: new Map(), nextRow: () => (row += 1) };
}

/** The ledger of a chain; created if it does not exist. */
export function ledgerOf({ chains, nextRow }: Usage, chainId: number): ChainLedger {
  const known = chains.get(chainId);
  if (known !== undefined) return known;
  const chain = new ChainLedger(chainId, nextRow);
  chains.set(chainId, chain);
  return chain;
}

type Table = { readonly all: StatementSync; readonly put: StatementSync; readonly remove: StatementSync };

function table({ sql }: Database, name: string, columns: number, key: readonly string[]): Table {
  return {
    all: sql.prepare(`SELECT * FROM ${name}`),
    put: sql.prepare(`REPLACE INTO ${name} VALUES (${Array(columns).fill('?').join(', ')})`),
    remove: sql.prepare(`DELETE FROM ${name} WHERE ${key.map((column) => `${column} = ?`).join(' AND ')}`),
  };
}

function maxRow({ sql }: Database): SQLInputValue {
  return sql.prepare('SELECT max(row) AS row FROM usage_reservations').get()?.['row'] ?? 0;
}

function chainOf(usage: Usage, row: Row): ChainLedger {
  return ledgerOf(usage, integerOf(row, 'chain_id'));
}

function readChain(chain: ChainLedger, row: Row): void {
  const epoch = textOf(row, 'epoch');
  if (epoch !== '') chain.setEpoch(epoch);
  chain.longestExpiryMs = integerOf(row, 'longest_expiry_ms');
  chain.sequence = integerOf(row, 'sequence');
  chain.forgottenUntil = integerOf(row, 'forgotten_until');
  if (row['block_hash'] === null) return;
  chain.cursor = {
    blockNumber: integerOf(row, 'block_number'),
    blockHash: textOf(row, 'block_hash') as Hex,
    timestamp: integerOf(row, 'block_timestamp') as EpochSeconds,
  };
}

function readCounter(chain: ChainLedger, row: Row): void {
  const counter = chain.counters.of({
    counter: textOf(row, 'counter'),
    unit: textOf(row, 'unit') as Unit,
  });
  chain.charge(counter, integerOf(row, 'used'), integerOf(row, 'until') as EpochMs);
}

function readAccount(chain: ChainLedger, row: Row): void {
  const funding = textOf(row, 'funding') as AddressKey | '';
  const contract = textOf(row, 'contract') as AddressKey;
  const id = funding === '' ? { contract } : { contract, fundingAddress: funding };
  chain.setBalance(id, gwei(integerOf(row, 'balance')), integerOf(row, 'read_at') as EpochMs);
}

function readFence(chain: ChainLedger, row: Row): void {
  chain.fences.restore({
    id: textOf(row, 'id'),
    generation: integerOf(row, 'generation'),
    seenAt: integerOf(row, 'seen_at') as EpochMs,
    isSuspended: integerOf(row, 'is_suspended') === 1,
  });
}

function readReservation(chain: ChainLedger, row: Row): void {
  const key = {
    chainId: chain.chainId,
    paymasterId: textOf(row, 'paymaster_id'),
    entryPoint: textOf(row, 'entry_point') as AddressKey,
    sender: textOf(row, 'sender') as AddressKey,
    nonce: BigInt(`0x${textOf(row, 'nonce')}`),
  };
  chain.restore({ key, ...parseTerms(textOf(row, 'terms')) }, integerOf(row, 'row'));
}
