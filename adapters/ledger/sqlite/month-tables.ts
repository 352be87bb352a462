/**
 * Tables of a month's file, one text per version; steps are only ever appended. Amounts of money are decimal texts,
 * because SQLite's integers have 64 bits. Keys are in the order of time, so that inserts touch few pages; where a key
 * is random (`sender_days`), a leading column keeps it within a small part of the tree.
 */
export const monthTables: readonly string[] = [
  `
  CREATE TABLE organisations (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

  -- place: order of arrival. promise: 1 where a settlement is about it. record: see core/ledger/record-text.ts.
  CREATE TABLE decisions (
    place INTEGER PRIMARY KEY,
    organisation INTEGER NOT NULL,
    id TEXT NOT NULL,
    reservation TEXT,
    promise INTEGER NOT NULL,
    digest TEXT,
    user_op_hash TEXT,
    record TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX decisions_by_id ON decisions (organisation, id);
  CREATE INDEX decisions_by_reservation ON decisions (reservation) WHERE reservation IS NOT NULL;

  -- Settlements and reversals.
  CREATE TABLE endings (id TEXT PRIMARY KEY, reservation TEXT NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX endings_by_reservation ON endings (reservation);

  -- What they come to: the settlement that stands, and the decision that was mined.
  CREATE TABLE outcomes (
    reservation TEXT PRIMARY KEY,
    settlement TEXT,
    mined TEXT,
    taken_back INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE gaps (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;

  -- Decisions by hash of sender, request id or operation hash. A segment holds some 65,000 decisions.
  CREATE TABLE lookup (
    segment INTEGER NOT NULL,
    hash INTEGER NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (segment, hash, id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE series (
    id INTEGER PRIMARY KEY,
    organisation INTEGER NOT NULL,
    dimension TEXT NOT NULL,
    paymaster_id TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (organisation, dimension, paymaster_id, value)
  ) STRICT;
  CREATE INDEX series_of_accounts ON series (value) WHERE dimension = 'account';

  -- unit: its length in minutes. at: minutes since 1970. bucket: for minutes their hour, for hours their day, for days 0.
  CREATE TABLE rollups (
    unit INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    series INTEGER NOT NULL,
    at INTEGER NOT NULL,
    sponsored INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    mined INTEGER NOT NULL,
    reverted INTEGER NOT NULL,
    expired INTEGER NOT NULL,
    promised_wei TEXT NOT NULL,
    spent_wei TEXT NOT NULL,
    tokens TEXT,
    PRIMARY KEY (unit, bucket, series, at)
  ) STRICT, WITHOUT ROWID;

  -- day: minutes since 1970. paymaster: its series. seen: [[series, first minute, last minute], …] of sponsored operations.
  CREATE TABLE sender_days (
    day INTEGER NOT NULL,
    paymaster INTEGER NOT NULL,
    sender TEXT NOT NULL,
    sponsored INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    mined INTEGER NOT NULL,
    reverted INTEGER NOT NULL,
    expired INTEGER NOT NULL,
    promised_wei TEXT NOT NULL,
    spent_wei TEXT NOT NULL,
    tokens TEXT,
    seen TEXT NOT NULL,
    PRIMARY KEY (day, paymaster, sender)
  ) STRICT, WITHOUT ROWID;

  -- Times of the earliest and the latest record, in ms.
  CREATE TABLE bounds (one INTEGER PRIMARY KEY CHECK (one = 1), first INTEGER NOT NULL, last INTEGER NOT NULL) STRICT;
  `,
  `
  -- Decisions by hash of sender, request id or operation hash: lookup.ts says how. Entries are in lookup-entries.ts.
  CREATE TABLE lookup_new (place INTEGER PRIMARY KEY, entries BLOB NOT NULL) STRICT;
  -- place: number of the segment times 256, plus the first byte of its entries.
  CREATE TABLE lookup_segments (place INTEGER PRIMARY KEY, entries BLOB NOT NULL) STRICT;
  INSERT INTO lookup_segments
    SELECT place, unhex(group_concat(entry, '' ORDER BY entry)) FROM (
      SELECT segment * 256 + (hash >> 24 & 255) AS place,
        printf('%08x%08x', hash & 4294967295, hash >> 32) || replace(id, '-', '') AS entry
      FROM lookup
    ) GROUP BY place;
  DROP TABLE lookup;
  `,
  // Texts of decisions are stored as they come, also as lists: a release that cannot read these must not open the file.
  '',
];
