/** Sums of wei have no precision: they grow beyond what one amount can be. */
const sumColumns = `sponsored bigint NOT NULL,
    refused bigint NOT NULL,
    mined bigint NOT NULL,
    reverted bigint NOT NULL,
    expired bigint NOT NULL,
    promised_wei numeric NOT NULL,
    spent_wei numeric NOT NULL,`;

/**
 * The tables of the ledger, as steps that are only ever appended: `steps[n]` takes a database from version n to n + 1.
 * docs/ledger.md describes them for analysts. Plain SQL: no extensions, functions or triggers.
 *
 * Text that callers choose is never part of a key except where its length is bounded, because a key of more than about
 * 2.7 kB cannot be stored.
 */
export const steps: readonly string[] = [
  `
  CREATE TABLE ledger.writer (id integer PRIMARY KEY);
  INSERT INTO ledger.writer VALUES (1);

  CREATE TABLE ledger.decisions (
    day date NOT NULL,
    id uuid NOT NULL,
    reservation uuid,
    at timestamptz NOT NULL,
    organisation text NOT NULL,
    paymaster_id text NOT NULL,
    chain_id bigint NOT NULL,
    entry_point text NOT NULL,
    contract text,
    funding_address text,
    mode text,
    method text NOT NULL,
    request_id text NOT NULL,
    caller_request_id text,
    sender text NOT NULL,
    nonce numeric(78) NOT NULL,
    user_op_hash text,
    digest text,
    calls jsonb NOT NULL,
    verdict text NOT NULL,
    reason text,
    detail text,
    policies jsonb NOT NULL,
    max_cost_wei numeric(78),
    valid_until bigint,
    token text,
    PRIMARY KEY (id, day)
  ) PARTITION BY RANGE (day);
  CREATE INDEX ON ledger.decisions (organisation, id);
  CREATE INDEX ON ledger.decisions (organisation, paymaster_id, id);
  CREATE INDEX ON ledger.decisions (organisation, sender, id);
  CREATE INDEX ON ledger.decisions (user_op_hash) WHERE user_op_hash IS NOT NULL;
  CREATE INDEX ON ledger.decisions (request_id);
  CREATE INDEX ON ledger.decisions (caller_request_id) WHERE caller_request_id IS NOT NULL;
  CREATE INDEX ON ledger.decisions (organisation, reason, id) WHERE verdict = 'refused';
  CREATE INDEX ON ledger.decisions (reservation) WHERE reservation <> id;

  CREATE TABLE ledger.settlements (
    day date NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    reservation uuid,
    at timestamptz NOT NULL,
    organisation text NOT NULL,
    paymaster_id text NOT NULL,
    chain_id bigint NOT NULL,
    outcome text,
    digest text,
    user_op_hash text,
    transaction_hash text,
    block_number bigint,
    block_hash text,
    log_index integer,
    success boolean,
    actual_gas_cost_wei numeric(78),
    actual_gas_used numeric(78),
    token text,
    token_amount numeric(78),
    token_decimals integer,
    PRIMARY KEY (id, day)
  ) PARTITION BY RANGE (day);
  CREATE INDEX ON ledger.settlements (reservation) WHERE reservation IS NOT NULL;
  CREATE INDEX ON ledger.settlements (user_op_hash) WHERE user_op_hash IS NOT NULL;

  CREATE TABLE ledger.outcomes (
    day date NOT NULL,
    decision uuid NOT NULL,
    outcome text NOT NULL,
    at timestamptz NOT NULL,
    settlement uuid NOT NULL,
    settlement_day date NOT NULL,
    taken_back integer NOT NULL,
    PRIMARY KEY (decision, day)
  ) PARTITION BY RANGE (day);
  CREATE INDEX ON ledger.outcomes (settlement);

  CREATE TABLE ledger.inputs (
    day date NOT NULL,
    id uuid NOT NULL,
    at timestamptz NOT NULL,
    organisation text NOT NULL,
    paymaster_id text NOT NULL,
    chain_id bigint NOT NULL,
    sequence bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (id, day)
  ) PARTITION BY RANGE (day);
  CREATE INDEX ON ledger.inputs (organisation, chain_id, sequence, id);

  CREATE TABLE ledger.gaps (
    day date NOT NULL,
    id uuid NOT NULL,
    at timestamptz NOT NULL,
    organisation text NOT NULL,
    paymaster_id text NOT NULL,
    chain_id bigint NOT NULL,
    cause text NOT NULL,
    reason text,
    count bigint NOT NULL,
    PRIMARY KEY (id, day)
  ) PARTITION BY RANGE (day);

  ${fundsTable('minute')}
  ${fundsTable('hour')}
  CREATE TABLE ledger.senders_day (
    day timestamptz NOT NULL,
    organisation text NOT NULL,
    paymaster_id text NOT NULL,
    sender text NOT NULL,
    ${sumColumns}
    tokens jsonb NOT NULL,
    seen jsonb NOT NULL,
    PRIMARY KEY (organisation, paymaster_id, sender, day)
  ) PARTITION BY RANGE (day);
  ${usageTable('minute')}
  ${usageTable('hour')}
  ${usageTable('day')}
  `,
  `
  CREATE TABLE ledger.replays (
    organisation text PRIMARY KEY,
    id uuid NOT NULL,
    status text NOT NULL,
    is_running boolean NOT NULL,
    is_cancelled boolean NOT NULL,
    reported_at timestamptz NOT NULL
  );
  `,
];

function fundsTable(step: string): string {
  return `
  CREATE TABLE ledger.funds_${step} (
    ${step} timestamptz NOT NULL,
    at timestamptz NOT NULL,
    chain_id bigint NOT NULL,
    contract text NOT NULL,
    funding_address text NOT NULL,
    balance_wei numeric(78) NOT NULL,
    promised_wei numeric(78) NOT NULL,
    PRIMARY KEY (chain_id, contract, funding_address, ${step})
  ) PARTITION BY RANGE (${step});`;
}

function usageTable(step: string): string {
  return `
  CREATE TABLE ledger.usage_${step} (
    start timestamptz NOT NULL,
    organisation text NOT NULL,
    paymaster_id text NOT NULL,
    dimension text NOT NULL,
    value text NOT NULL,
    ${sumColumns}
    PRIMARY KEY (organisation, dimension, paymaster_id, start, value)
  ) PARTITION BY RANGE (start);
  CREATE INDEX ON ledger.usage_${step} (value, start) WHERE dimension = 'account';
  CREATE TABLE ledger.tokens_${step} (
    start timestamptz NOT NULL,
    organisation text NOT NULL,
    paymaster_id text NOT NULL,
    dimension text NOT NULL,
    value text NOT NULL,
    token text NOT NULL,
    decimals integer NOT NULL,
    amount numeric NOT NULL,
    PRIMARY KEY (organisation, dimension, paymaster_id, start, value, token, decimals)
  ) PARTITION BY RANGE (start);`;
}
