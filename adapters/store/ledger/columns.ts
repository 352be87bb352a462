/**
 * The tables of the ledger, each column once. `?`: may be null.
 *
 * `id`: a UUID of version 7. `wei`: an integer of 256 bits or a sum of such. `json`: text of JSON. `flag`: 0 or 1. `integer`: below 2^53;
 * times are milliseconds since 1970, days are days since 1970 (UTC).
 */
type Kind = 'id' | 'text' | 'integer' | 'wei' | 'json' | 'flag';
export type Column = Kind | `${Kind}?`;
export type Columns = Readonly<Record<string, Column>>;

/** `day` is that of the id: it says which part of a table has the record, and an id is stored once. */
const common = {
  day: 'integer',
  id: 'id',
  at: 'integer',
  organisation: 'text',
  paymaster_id: 'text',
  chain_id: 'integer',
} as const satisfies Columns;

export const columns = {
  decision: {
    ...common,
    reservation: 'id?',
    entry_point: 'text',
    contract: 'text?',
    funding_address: 'text?',
    mode: 'text?',
    method: 'text',
    request_id: 'text',
    caller_request_id: 'text?',
    sender: 'text',
    nonce: 'wei',
    user_op_hash: 'text?',
    digest: 'text?',
    calls: 'json',
    verdict: 'text',
    reason: 'text?',
    detail: 'text?',
    policies: 'json',
    max_cost_wei: 'wei?',
    valid_until: 'integer?',
    token: 'text?',
    factory: 'text?',
    calls_left_out: 'integer?',
    usd_per_native: 'wei?',
  },
  /** Settlements and reversals. */
  settlement: {
    ...common,
    kind: 'text',
    reservation: 'id?',
    outcome: 'text?',
    digest: 'text?',
    user_op_hash: 'text?',
    transaction_hash: 'text?',
    block_number: 'integer?',
    block_hash: 'text?',
    log_index: 'integer?',
    success: 'flag?',
    actual_gas_cost_wei: 'wei?',
    actual_gas_used: 'wei?',
    token: 'text?',
    token_amount: 'wei?',
    token_decimals: 'integer?',
  },
  gap: { ...common, cause: 'text', reason: 'text?', count: 'integer' },
  /** The first sample of an account in each minute and hour (`unit`), which begins at `start`. */
  funds: {
    day: 'integer',
    unit: 'text',
    start: 'integer',
    at: 'integer',
    chain_id: 'integer',
    contract: 'text',
    funding_address: 'text',
    balance_wei: 'wei',
    promised_wei: 'wei',
    usd_per_native: 'wei?',
  },
  /** See core/ledger/movement.ts. `funding_address`, `organisation`, `paymaster_id`: empty text for none. */
  movement: {
    day: 'integer',
    at: 'integer',
    chain_id: 'integer',
    contract: 'text',
    funding_address: 'text',
    kind: 'text',
    block_number: 'integer',
    log_index: 'integer',
    organisation: 'text',
    paymaster_id: 'text',
    amount_wei: 'wei?',
    count: 'integer',
    transaction_hash: 'text?',
  },
  /** One write of an object. `fields`: list of field, before and after. */
  change: {
    day: 'integer',
    id: 'id',
    at: 'integer',
    organisation: 'text',
    action: 'text',
    kind: 'text',
    namespace: 'text',
    name: 'text',
    uid: 'text',
    generation: 'integer',
    author: 'text',
    request_id: 'text',
    fields: 'json',
    left_out: 'integer',
  },
  /**
   * Sums of a minute, hour or day (`unit`), which begins at `start`; of senders by day only. `tokens`: lists of token, decimals (or null)
   * and amount.
   */
  usage: {
    unit: 'text',
    start: 'integer',
    organisation: 'text',
    paymaster_id: 'text',
    dimension: 'text',
    value: 'text',
    asks: 'integer',
    sponsored: 'integer',
    refused: 'integer',
    mined: 'integer',
    reverted: 'integer',
    expired: 'integer',
    promised_wei: 'wei',
    spent_wei: 'wei',
    tokens: 'json',
  },
} as const satisfies Readonly<Record<string, Columns>>;
export type Table = keyof typeof columns;

/** Blocks whose movements are recorded. Not in parts: a range grows for as long as the chain is followed. */
export const coveredColumns = {
  chain_id: 'integer',
  contract: 'text',
  from_block: 'integer',
  to_block: 'integer',
} as const satisfies Columns;

/** What objects were called, see object-names.ts. Not in parts: a name is needed for as long as there are records of its object. */
export const nameColumns = {
  organisation: 'text',
  kind: 'text',
  id: 'text',
  shown: 'text',
} as const satisfies Columns;
export const nameKey = ['organisation', 'kind', 'id'] as const;

/** Which movement a row is. */
export const movementKey = [
  'chain_id',
  'block_number',
  'contract',
  'funding_address',
  'kind',
  'paymaster_id',
  'log_index',
] as const;
/** Which sum a row of usage is. */
export const usageKey = ['organisation', 'dimension', 'paymaster_id', 'unit', 'start', 'value'] as const;
export const sumColumns = [
  'asks',
  'sponsored',
  'refused',
  'mined',
  'reverted',
  'expired',
  'promised_wei',
  'spent_wei',
] as const;

export type Cell = string | number | null;
/** What is written into a row, in the order of its columns. */
export type RowOf<T extends Table> = {
  readonly [Name in keyof (typeof columns)[T]]: (typeof columns)[T][Name] extends `${string}?`
    ? Cell | undefined
    : Cell;
};

export function columnNames(table: Table): readonly string[] {
  return Object.keys(columns[table]);
}

export function columnKind(column: Column): { readonly kind: Kind; readonly isOptional: boolean } {
  return { kind: column.replace('?', '') as Kind, isOptional: column.endsWith('?') };
}
