/**
 * What docs/ledger.md publishes for analysts, over the tables that turns write. Columns keep their names and types; times are
 * `timestamptz` and days `date`. A range of `day` reaches the parts of the tables, so that only those are read.
 */
const at = (column: string): string => `to_timestamp(${column} / 1000.0)`;
const day = `(date '1970-01-01' + day::integer)`;
const common = `id, ${at('at')} AS at, organisation, paymaster_id, chain_id`;

const decisions = `
  CREATE VIEW ledger.decisions AS SELECT ${day} AS day, ${common}, reservation, entry_point, contract, funding_address, mode, method,
    request_id, caller_request_id, sender, nonce, user_op_hash, digest, calls, verdict, reason, detail, policies, max_cost_wei,
    valid_until, token, factory, calls_left_out, usd_per_native
  FROM ledger.decision;`;

const settlements = `
  CREATE VIEW ledger.settlements AS SELECT ${day} AS day, ${common}, kind, reservation, outcome, digest, user_op_hash,
    transaction_hash, block_number, block_hash, log_index, success = 1 AS success, actual_gas_cost_wei, actual_gas_used,
    token, token_amount, token_decimals
  FROM ledger.settlement;`;

/**
 * The same as core/ledger/outcome.ts says: the last ending stands when it is a settlement, and takes those back that stood before a
 * reversal. Of several promises the oldest with the digest was mined, else the oldest with the hash of the operation, else, where the
 * chain did not show a digest, the newest.
 */
const outcomes = `
  CREATE VIEW ledger.outcomes AS
  SELECT (date '1970-01-01' + promise.day::integer) AS day, promise.id AS decision,
    CASE WHEN last.outcome = 'mined' AND promise.id IS DISTINCT FROM mined.id THEN 'spent-elsewhere' ELSE last.outcome END AS outcome,
    ${at('last.at')} AS at, (date '1970-01-01' + last.day::integer) AS settlement_day, last.id AS settlement, last.taken_back
  FROM ledger.decision AS promise
  CROSS JOIN LATERAL (
    SELECT ending.*, sum(CASE WHEN kind = 'reversal' AND former = 'settlement' THEN 1 ELSE 0 END) OVER ()::integer AS taken_back
    FROM (
      SELECT settlement.*, lag(kind) OVER (ORDER BY id) AS former FROM ledger.settlement
      WHERE settlement.reservation = promise.reservation AND settlement.day >= promise.day - 4
    ) AS ending ORDER BY id DESC LIMIT 1
  ) AS last
  LEFT JOIN LATERAL (
    SELECT id FROM (
      SELECT id, digest, user_op_hash, reservation, day, verdict FROM ledger.decision WHERE decision.id = promise.reservation
      UNION ALL
      SELECT id, digest, user_op_hash, reservation, day, verdict FROM ledger.decision
      WHERE decision.reservation = promise.reservation AND decision.reservation <> decision.id
    ) AS other
    WHERE verdict = 'sponsored'
      AND (digest = last.digest OR user_op_hash = last.user_op_hash OR last.digest IS NULL)
    ORDER BY coalesce(digest = last.digest, false) DESC, coalesce(user_op_hash = last.user_op_hash, false) DESC,
      CASE WHEN digest = last.digest OR user_op_hash = last.user_op_hash THEN id END,
      id DESC
    LIMIT 1
  ) AS mined ON last.outcome = 'mined'
  WHERE promise.verdict = 'sponsored' AND last.kind = 'settlement';`;

const gaps = `
  CREATE VIEW ledger.gaps AS SELECT ${day} AS day, ${common}, cause, reason, count FROM ledger.gap;`;

const funds = ['minute', 'hour'].map(
  (unit) => `
  CREATE VIEW ledger.funds_${unit} AS SELECT ${at('start')} AS ${unit}, ${at('at')} AS at, chain_id, contract, funding_address,
    balance_wei, promised_wei, usd_per_native
  FROM ledger.funds WHERE unit = '${unit}';`,
);

const sums = 'asks, sponsored, refused, mined, reverted, expired, promised_wei, spent_wei';
const usage = ['minute', 'hour', 'day'].map(
  (unit) => `
  CREATE VIEW ledger.usage_${unit} AS SELECT ${at('start')} AS start, organisation, paymaster_id, dimension, value, ${sums}
  FROM ledger.usage WHERE unit = '${unit}' AND dimension <> 'sender';
  CREATE VIEW ledger.tokens_${unit} AS SELECT ${at('start')} AS start, organisation, paymaster_id, dimension, value,
    item ->> 0 AS token, coalesce((item ->> 1)::integer, -1) AS decimals, (item ->> 2)::numeric AS amount
  FROM ledger.usage, jsonb_array_elements(tokens) AS one(item) WHERE unit = '${unit}' AND dimension <> 'sender';`,
);

const senders = `
  CREATE VIEW ledger.senders_day AS SELECT ${at('start')} AS day, organisation, paymaster_id, value AS sender, ${sums}, tokens
  FROM ledger.usage WHERE unit = 'day' AND dimension = 'sender';`;

/** A row for each changed field. */
export const changesView = `
  CREATE VIEW ledger.changes AS SELECT ${day} AS day, id, ${at('at')} AS at, organisation, action, kind, namespace, name, uid, generation,
    author, request_id, item ->> 'field' AS field, item ->> 'before' AS before, item ->> 'after' AS after, left_out
  FROM ledger.change, jsonb_array_elements(fields) AS one(item);`;

/** Of the balances of accounts; see docs/ledger.md. An empty text stands for no value. */
export const movementViews = `
  CREATE VIEW ledger.movements AS SELECT ${at('at')} AS at, chain_id, contract, funding_address, kind, block_number, log_index, organisation,
    paymaster_id, amount_wei, count, transaction_hash
  FROM ledger.movement;
  CREATE VIEW ledger.covered_blocks AS SELECT chain_id, contract, from_block, to_block FROM ledger.covered;`;

export const publishedViews = [decisions, settlements, outcomes, gaps, ...funds, ...usage, senders].join(
  '\n',
);
