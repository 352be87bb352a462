/** The form of the rows. A process that does not know the form in the database signs and writes nothing. */
export const format = 1;

/**
 * The usage tables, as steps that are only ever appended: `steps[n]` takes a database from version n to n + 1.
 *
 * Amounts that decide are gwei or counts below 2^53. Names are texts of at most some hundred bytes, never chosen by callers
 * except for senders and nonces. No index covers a column that turns change, so that updates stay within their page.
 */
export const steps: readonly string[] = [
  `
  CREATE TABLE usage.database (
    id integer PRIMARY KEY CHECK (id = 1),
    format integer NOT NULL,
    system_identifier text NOT NULL,
    timeline text NOT NULL,
    -- What writers had counted whose rows are gone.
    retired_sequence bigint NOT NULL DEFAULT 0
  );

  CREATE TABLE usage.chain (
    chain_id bigint PRIMARY KEY,
    epoch text NOT NULL DEFAULT '',
    longest_expiry_ms bigint NOT NULL DEFAULT 0,
    forgotten_until bigint NOT NULL DEFAULT 0,
    block_number bigint,
    block_hash text,
    block_timestamp bigint,
    open_sequence bigint,
    open_done integer
  );

  CREATE TABLE usage.writer (
    id uuid PRIMARY KEY,
    sequence bigint NOT NULL,
    turn bigint NOT NULL,
    at bigint NOT NULL,
    is_synchronous boolean NOT NULL,
    retired_at bigint
  ) WITH (fillfactor = 10);

  CREATE TABLE usage.lock (chain_id bigint, name text COLLATE "C", PRIMARY KEY (chain_id, name));

  CREATE TABLE usage.counter (
    chain_id bigint, name text COLLATE "C",
    until bigint NOT NULL, used bigint NOT NULL, reserved bigint NOT NULL, holders integer NOT NULL,
    PRIMARY KEY (name, chain_id)
  ) WITH (fillfactor = 50);

  CREATE TABLE usage.account (
    chain_id bigint, name text COLLATE "C",
    balance bigint, read_at bigint, reserved bigint NOT NULL, holders integer NOT NULL,
    PRIMARY KEY (name, chain_id)
  ) WITH (fillfactor = 20);

  CREATE TABLE usage.fence (
    chain_id bigint, id text COLLATE "C",
    generation bigint NOT NULL, seen_at bigint NOT NULL, is_suspended boolean NOT NULL,
    PRIMARY KEY (chain_id, id)
  );

  CREATE TABLE usage.reservation (
    chain_id bigint, name text COLLATE "C",
    operation text NOT NULL, party text, paymaster_id text NOT NULL,
    entry_point text NOT NULL, sender text NOT NULL, nonce text NOT NULL,
    valid_until bigint NOT NULL, commit_until bigint,
    locks text[] NOT NULL, counters text[] NOT NULL, accounts text[] NOT NULL, terms text NOT NULL,
    PRIMARY KEY (name, chain_id)
  );
  CREATE INDEX ON usage.reservation (chain_id, operation);
  CREATE INDEX ON usage.reservation (chain_id, valid_until);
  CREATE INDEX ON usage.reservation (party) WHERE party IS NOT NULL;
  CREATE INDEX ON usage.reservation (chain_id, commit_until) WHERE commit_until IS NOT NULL;

  CREATE TABLE usage.step (
    chain_id bigint, number bigint, part integer,
    block_number bigint NOT NULL, endings integer NOT NULL, step text NOT NULL,
    PRIMARY KEY (chain_id, number, part)
  );

  CREATE TABLE usage.open_step (chain_id bigint PRIMARY KEY, step text NOT NULL);

  CREATE TABLE usage.message (paymaster_id text PRIMARY KEY, message text NOT NULL, expires_at bigint NOT NULL);

  CREATE TABLE usage.lease (chain_id bigint PRIMARY KEY, holder text NOT NULL, until timestamptz NOT NULL);

  CREATE SEQUENCE usage.turn;

  ALTER TABLE usage.writer SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
  ALTER TABLE usage.counter SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
  ALTER TABLE usage.account SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
  ALTER TABLE usage.lock SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
  `,
  `
  CREATE TABLE usage.price (name text PRIMARY KEY, rate text NOT NULL, accepted_at bigint NOT NULL);
  `,
];
