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
  `
  CREATE TABLE decision_contexts (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;

  -- first, last: the lowest and the highest id. decisions: see decision-blocks.ts.
  CREATE TABLE decision_blocks (
    place INTEGER PRIMARY KEY,
    organisation INTEGER NOT NULL,
    first TEXT NOT NULL,
    last TEXT NOT NULL,
    decisions TEXT NOT NULL
  ) STRICT;

  -- Decisions whose reservation began with an earlier one.
  CREATE TABLE decision_repeats (
    reservation TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (reservation, id)
  ) STRICT, WITHOUT ROWID;

  INSERT INTO decision_blocks
    SELECT place, organisation, id, id,
      '[[' || iif(reservation = id, '"="', iif(reservation IS NULL, 'null', '"' || reservation || '"')) || ',null,' || record || ']]'
    FROM decisions;
  INSERT INTO decision_repeats SELECT reservation, id FROM decisions WHERE reservation <> id;
  DROP TABLE decisions;
  CREATE INDEX decision_blocks_by_id ON decision_blocks (first, last);
  CREATE INDEX decision_blocks_of_organisation ON decision_blocks (organisation, first, last);

  -- seen: first and last minute and the series with these minutes, the next minutes after a semicolon.
  UPDATE sender_days SET seen = coalesce((
    SELECT group_concat((value ->> 1) || ' ' || (value ->> 2) || ' ' || (value ->> 0), ';') FROM json_each(sender_days.seen)
  ), '');

  -- For people. The lists are those of core/ledger/packed-decision.ts.
  CREATE VIEW decisions AS
    SELECT
      one.value ->> '$[2][0]' AS id,
      organisations.name AS organisation,
      iif(one.value ->> 0 = '=', one.value ->> '$[2][0]', one.value ->> 0) AS reservation,
      context.text ->> 1 AS paymaster_id,
      context.text ->> 2 AS chain_id,
      context.text ->> 3 AS entry_point,
      context.text ->> 4 AS contract,
      context.text ->> 5 AS funding_address,
      context.text ->> 6 AS mode,
      context.text ->> 7 AS method,
      context.text ->> 8 AS verdict,
      context.text ->> 9 AS policies,
      one.value ->> '$[2][1]' AS request_id,
      one.value ->> '$[2][2]' AS caller_request_id,
      one.value ->> '$[2][3]' AS sender,
      one.value ->> '$[2][4]' AS nonce,
      one.value ->> '$[2][5]' AS user_op_hash,
      one.value ->> '$[2][6]' AS digest,
      coalesce(one.value ->> '$[2][7]', context.text ->> 10) AS calls,
      one.value ->> '$[2][8]' AS reason,
      one.value ->> '$[2][9]' AS detail,
      one.value ->> '$[2][10]' AS max_cost_wei,
      one.value ->> '$[2][11]' AS valid_until,
      one.value ->> '$[2][12]' AS token
    FROM decision_blocks AS block
    JOIN json_each(block.decisions) AS one
    JOIN organisations ON organisations.id = block.organisation
    JOIN decision_contexts AS context ON context.id = one.value ->> 1;
  `,
];
