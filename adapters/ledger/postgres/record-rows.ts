import type {
  Decision,
  DecisionInputs,
  FundsSample,
  Gap,
  LedgerRecord,
  MinedFacts,
  Reversal,
  Settlement,
} from '../../../core/ledger/record.js';
import { recordTime } from '../../../core/ledger/record-id.js';
import { startOf } from '../../../core/ledger/steps.js';
import type { LedgerEntry } from '../../../core/ledger/ledger.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import type { Row } from '../../postgres/transactions.js';

/** Columns that rows of every kind of record have. */
const commonColumns = {
  day: 'date',
  id: 'uuid',
  at: 'timestamptz',
  organisation: 'text',
  paymaster_id: 'text',
  chain_id: 'bigint',
} as const;

/** Columns of a table with their types, in the order in which rows are inserted. */
export const decisionColumns = {
  ...commonColumns,
  reservation: 'uuid',
  entry_point: 'text',
  contract: 'text',
  funding_address: 'text',
  mode: 'text',
  method: 'text',
  request_id: 'text',
  caller_request_id: 'text',
  sender: 'text',
  nonce: 'numeric',
  user_op_hash: 'text',
  digest: 'text',
  calls: 'jsonb',
  verdict: 'text',
  reason: 'text',
  detail: 'text',
  policies: 'jsonb',
  max_cost_wei: 'numeric',
  valid_until: 'bigint',
  token: 'text',
} as const;

export const settlementColumns = {
  ...commonColumns,
  kind: 'text',
  reservation: 'uuid',
  outcome: 'text',
  digest: 'text',
  user_op_hash: 'text',
  transaction_hash: 'text',
  block_number: 'bigint',
  block_hash: 'text',
  log_index: 'integer',
  success: 'boolean',
  actual_gas_cost_wei: 'numeric',
  actual_gas_used: 'numeric',
  token: 'text',
  token_amount: 'numeric',
  token_decimals: 'integer',
} as const;

export const inputsColumns = {
  ...commonColumns,
  sequence: 'bigint',
  body: 'text',
} as const;

export const gapColumns = {
  ...commonColumns,
  cause: 'text',
  reason: 'text',
  count: 'bigint',
} as const;

type Values<C> = { readonly [Name in keyof C]: unknown };
type EntryOf<R> = LedgerEntry & { readonly record: R };

function commonRow(record: Exclude<LedgerRecord, FundsSample>): Values<typeof commonColumns> {
  return {
    day: dayOf(record),
    id: record.id,
    at: timestamp(record.at),
    organisation: record.organisation,
    paymaster_id: record.paymasterId,
    chain_id: record.chainId,
  };
}

function commonOf(row: Row): Pick<Decision, 'id' | 'at' | 'organisation' | 'paymasterId' | 'chainId'> {
  return {
    id: String(row['id']),
    at: epochMs(row['at']),
    organisation: String(row['organisation']),
    paymasterId: String(row['paymaster_id']),
    chainId: Number(row['chain_id']),
  };
}

export function decisionRow({ record, reservation }: EntryOf<Decision>): Values<typeof decisionColumns> {
  return {
    ...commonRow(record),
    reservation,
    entry_point: record.entryPoint,
    contract: record.contract,
    funding_address: record.fundingAddress,
    mode: record.mode,
    method: record.method,
    request_id: record.requestId,
    caller_request_id: record.callerRequestId,
    sender: record.sender,
    nonce: String(record.nonce),
    user_op_hash: record.userOpHash,
    digest: record.digest,
    calls: record.calls,
    verdict: record.verdict,
    reason: record.reason,
    detail: record.detail,
    policies: record.policies,
    max_cost_wei: record.maxCostWei?.toString(),
    valid_until: record.validUntil,
    token: record.token,
  };
}

export function decisionOf(row: Row): Decision {
  const record = {
    kind: 'decision',
    ...commonOf(row),
    entryPoint: row['entry_point'],
    contract: row['contract'] ?? undefined,
    fundingAddress: row['funding_address'] ?? undefined,
    mode: row['mode'] ?? undefined,
    method: row['method'],
    requestId: row['request_id'],
    callerRequestId: row['caller_request_id'] ?? undefined,
    sender: row['sender'],
    nonce: BigInt(String(row['nonce'])),
    userOpHash: row['user_op_hash'] ?? undefined,
    digest: row['digest'] ?? undefined,
    calls: row['calls'],
    verdict: row['verdict'],
    reason: row['reason'] ?? undefined,
    detail: row['detail'] ?? undefined,
    policies: row['policies'],
    maxCostWei: optional(row['max_cost_wei'], (value) => BigInt(String(value))),
    validUntil: optional(row['valid_until'], (value) => Number(value) as EpochSeconds),
    token: row['token'] ?? undefined,
  };
  // The columns hold what `decisionRow` has written.
  return record as unknown as Decision;
}

export function settlementRow({
  record,
  reservation,
}: EntryOf<Settlement | Reversal>): Values<typeof settlementColumns> {
  const mined = record.kind === 'settlement' ? record.mined : undefined;
  return {
    ...commonRow(record),
    kind: record.kind,
    reservation,
    outcome: record.kind === 'settlement' ? record.outcome : undefined,
    digest: mined?.digest,
    user_op_hash: mined?.userOpHash,
    transaction_hash: mined?.transactionHash,
    block_number: mined?.blockNumber,
    block_hash: mined?.blockHash,
    log_index: mined?.logIndex,
    success: mined?.success,
    actual_gas_cost_wei: mined?.actualGasCostWei.toString(),
    actual_gas_used: mined?.actualGasUsed.toString(),
    token: mined?.token?.address,
    token_amount: mined?.token?.amount.toString(),
    token_decimals: mined?.token?.decimals,
  };
}

export function settlementOf(row: Row): Settlement | Reversal {
  // The columns hold what `settlementRow` has written.
  if (row['kind'] === 'reversal') return { kind: 'reversal', ...commonOf(row) } as unknown as Reversal;
  return {
    kind: 'settlement',
    ...commonOf(row),
    outcome: row['outcome'],
    mined: minedOf(row),
  } as unknown as Settlement;
}

/** What was mined, from a row of settlements; undefined for other ends. */
export function minedOf(row: Row): MinedFacts | undefined {
  if (row['transaction_hash'] === null) return undefined;
  const facts = {
    digest: row['digest'] ?? undefined,
    userOpHash: row['user_op_hash'],
    transactionHash: row['transaction_hash'],
    blockNumber: Number(row['block_number']),
    blockHash: row['block_hash'],
    logIndex: row['log_index'],
    success: row['success'],
    actualGasCostWei: BigInt(String(row['actual_gas_cost_wei'])),
    actualGasUsed: BigInt(String(row['actual_gas_used'])),
    token:
      row['token'] === null
        ? undefined
        : {
            address: row['token'],
            amount: BigInt(String(row['token_amount'])),
            decimals: row['token_decimals'] ?? undefined,
          },
  };
  return facts as MinedFacts;
}

export function inputsRow(record: DecisionInputs): Values<typeof inputsColumns> {
  return {
    ...commonRow(record),
    sequence: record.sequence,
    body: record.body,
  };
}

export function inputsOf(row: Row): DecisionInputs {
  return {
    kind: 'inputs',
    ...commonOf(row),
    sequence: Number(row['sequence']),
    body: String(row['body']),
  };
}

export function gapRow(record: Gap): Values<typeof gapColumns> {
  return {
    ...commonRow(record),
    cause: record.cause,
    reason: record.reason,
    count: record.count,
  };
}

/** Of the samples, the minute or hour is the key: the first one of each is kept. */
export function fundsRow<U extends 'minute' | 'hour'>(record: FundsSample, unit: U) {
  return {
    [unit]: timestamp(startOf(record.at, unit)),
    at: timestamp(record.at),
    chain_id: record.chainId,
    contract: record.contract,
    funding_address: record.fundingAddress ?? '',
    balance_wei: String(record.balanceWei),
    promised_wei: String(record.promisedWei),
  };
}

/** The part of a table that a record belongs to follows from its id, so that an id is stored once. */
export function dayOf({ id }: { readonly id: string }): string {
  return timestamp(recordTime(id)).slice(0, 10);
}

const latest = Date.UTC(9999, 11, 31);

/** Questions may begin and end at any number; no record lies outside of what a calendar can show. */
export function timestamp(at: EpochMs): string {
  return new Date(Math.min(Math.max(at, 0), latest)).toISOString();
}

/** Whether a record can have this time. */
export function isStorable(at: EpochMs): boolean {
  return at >= 0 && at < latest;
}

export function epochMs(value: unknown): EpochMs {
  if (!(value instanceof Date)) throw new TypeError(`expected a time, got ${typeof value}`);
  return value.getTime() as EpochMs;
}

function optional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === null || value === undefined ? undefined : read(value);
}
