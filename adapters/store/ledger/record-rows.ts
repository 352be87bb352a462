import type { LedgerEntry } from '../../../core/ledger/ledger.js';
import { recordTime } from '../../../core/ledger/record-id.js';
import type {
  Decision,
  FundsSample,
  Gap,
  LedgerRecord,
  MinedFacts,
  Movements,
  RecordId,
  Reversal,
  Settlement,
} from '../../../core/ledger/record.js';
import type { CountedDecision } from '../../../core/ledger/rollup.js';
import { rollupUnits, startOf } from '../../../core/ledger/steps.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import type { RowOf } from './columns.js';
import { storable, storableJson, storableOrNull } from './text.js';

/** A row of either database; see the readers below for what their columns may hold. */
export type Row = Readonly<Record<string, unknown>>;
type EntryOf<R> = LedgerEntry & { readonly record: R };

/** Throws INVALID_INPUT for a text that is not an id. */
export function recordDay(id: RecordId): number {
  return dayOfTime(recordTime(id));
}

export function dayOfTime(at: number): number {
  return Math.floor(at / rollupUnits.day);
}

const latest = Date.UTC(9999, 11, 31);

/** A node chooses the time of a block. One that no calendar can show must not keep the other rows from being stored. */
export function storableTime(at: number): EpochMs {
  return Math.min(Math.max(Math.trunc(at), 0), latest) as EpochMs;
}

type CommonRow = Pick<RowOf<'gap'>, 'day' | 'id' | 'at' | 'organisation' | 'paymaster_id' | 'chain_id'>;

function commonRow(record: Exclude<LedgerRecord, FundsSample | Movements>): CommonRow {
  return {
    day: recordDay(record.id),
    id: record.id,
    at: storableTime(record.at),
    organisation: storable(record.organisation),
    paymaster_id: storable(record.paymasterId),
    chain_id: record.chainId,
  };
}

function toCommonMembers(row: Row): Pick<Decision, 'id' | 'at' | 'organisation' | 'paymasterId' | 'chainId'> {
  return {
    id: String(row['id']),
    at: Number(row['at']) as EpochMs,
    organisation: String(row['organisation']),
    paymasterId: String(row['paymaster_id']),
    chainId: Number(row['chain_id']),
  };
}

export function decisionRow({ record, reservation }: EntryOf<Decision>): RowOf<'decision'> {
  return {
    ...commonRow(record),
    reservation: reservation ?? null,
    entry_point: record.entryPoint,
    contract: record.contract ?? null,
    funding_address: record.fundingAddress ?? null,
    mode: record.mode ?? null,
    method: storable(record.method),
    request_id: storable(record.requestId),
    caller_request_id: storableOrNull(record.callerRequestId),
    sender: record.sender,
    nonce: String(record.nonce),
    user_op_hash: record.userOpHash ?? null,
    digest: record.digest ?? null,
    calls: storableJson(record.calls),
    verdict: record.verdict,
    reason: storableOrNull(record.reason),
    detail: storableOrNull(record.detail),
    policies: storableJson(record.policies),
    max_cost_wei: record.maxCostWei?.toString() ?? null,
    valid_until: record.validUntil ?? null,
    token: record.token ?? null,
    factory: record.factory ?? null,
    calls_left_out: record.callsLeftOut ?? null,
    usd_per_native: record.usdPerNative?.toString() ?? null,
  };
}

export function toDecision(row: Row): Decision {
  const record = {
    kind: 'decision',
    ...toCommonMembers(row),
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
    calls: parseJsonColumn(row['calls']),
    verdict: row['verdict'],
    reason: row['reason'] ?? undefined,
    detail: row['detail'] ?? undefined,
    policies: parseJsonColumn(row['policies']),
    maxCostWei: optional(row['max_cost_wei'], (value) => BigInt(String(value))),
    validUntil: optional(row['valid_until'], (value) => Number(value) as EpochSeconds),
    token: row['token'] ?? undefined,
    factory: row['factory'] ?? undefined,
    callsLeftOut: optional(row['calls_left_out'], Number),
    usdPerNative: optional(row['usd_per_native'], (value) => BigInt(String(value))),
  };
  // The columns hold what `decisionRow` has written.
  return record as unknown as Decision;
}

/** The columns of a decision that sums depend on, see {@link toCountedDecision}. */
export const countedColumns =
  'id, reservation, at, organisation, paymaster_id, chain_id, contract, funding_address, mode, sender, calls, verdict, reason, policies, max_cost_wei';

/** `json`: reads a column of JSON; many rows have the same text. */
export function toCountedDecision(row: Row, json: (value: unknown) => unknown): CountedDecision {
  const decision = {
    ...toCommonMembers(row),
    contract: row['contract'] ?? undefined,
    fundingAddress: row['funding_address'] ?? undefined,
    mode: row['mode'] ?? undefined,
    sender: row['sender'],
    calls: json(row['calls']),
    verdict: row['verdict'],
    reason: row['reason'] ?? undefined,
    policies: json(row['policies']),
    maxCostWei: optional(row['max_cost_wei'], (value) => BigInt(String(value))),
  };
  // The columns hold what `decisionRow` has written.
  return decision as unknown as CountedDecision;
}

export function settlementRow({ record, reservation }: EntryOf<Settlement | Reversal>): RowOf<'settlement'> {
  const mined = record.kind === 'settlement' ? record.mined : undefined;
  return {
    ...commonRow(record),
    kind: record.kind,
    reservation: reservation ?? null,
    outcome: record.kind === 'settlement' ? record.outcome : null,
    digest: mined?.digest ?? null,
    user_op_hash: mined?.userOpHash ?? null,
    transaction_hash: mined?.transactionHash ?? null,
    block_number: mined?.blockNumber ?? null,
    block_hash: mined?.blockHash ?? null,
    log_index: mined?.logIndex ?? null,
    success: mined === undefined ? null : mined.success ? 1 : 0,
    actual_gas_cost_wei: mined?.actualGasCostWei.toString() ?? null,
    actual_gas_used: mined?.actualGasUsed.toString() ?? null,
    token: mined?.token?.address ?? null,
    token_amount: mined?.token?.amount.toString() ?? null,
    token_decimals: mined?.token?.decimals ?? null,
  };
}

export function toSettlement(row: Row): Settlement | Reversal {
  // The columns hold what `settlementRow` has written.
  if (row['kind'] === 'reversal') return { kind: 'reversal', ...toCommonMembers(row) } as unknown as Reversal;
  const { outcome } = row;
  return {
    kind: 'settlement',
    ...toCommonMembers(row),
    outcome,
    mined: toMinedFacts(row),
  } as unknown as Settlement;
}

/** What was mined, from a row of settlements; undefined for other ends. */
function toMinedFacts(row: Row): MinedFacts | undefined {
  if (row['transaction_hash'] === null) return undefined;
  const facts = {
    digest: row['digest'] ?? undefined,
    userOpHash: row['user_op_hash'],
    transactionHash: row['transaction_hash'],
    blockNumber: Number(row['block_number']),
    blockHash: row['block_hash'],
    logIndex: Number(row['log_index']),
    success: Number(row['success']) === 1,
    actualGasCostWei: BigInt(String(row['actual_gas_cost_wei'])),
    actualGasUsed: BigInt(String(row['actual_gas_used'])),
    token:
      row['token'] === null
        ? undefined
        : {
            address: row['token'],
            amount: BigInt(String(row['token_amount'])),
            decimals: optional(row['token_decimals'], Number),
          },
  };
  return facts as MinedFacts;
}

export function gapRow({ record }: EntryOf<Gap>): RowOf<'gap'> {
  return {
    ...commonRow(record),
    cause: record.cause,
    reason: storableOrNull(record.reason),
    count: record.count,
  };
}

export function toGap(row: Row): Gap {
  const { cause, reason } = row;
  const gap = {
    kind: 'gap',
    ...toCommonMembers(row),
    cause,
    reason: reason ?? undefined,
    count: Number(row['count']),
  };
  return gap as unknown as Gap;
}

/** One row for each unit; the first one stored of a minute or an hour is kept. */
export function fundsRows({ record }: EntryOf<FundsSample>): readonly RowOf<'funds'>[] {
  const at = storableTime(record.at);
  return (['minute', 'hour'] as const).map((unit) => ({
    day: dayOfTime(at),
    unit,
    start: startOf(at, unit),
    at,
    chain_id: record.chainId,
    contract: record.contract,
    funding_address: record.fundingAddress ?? '',
    balance_wei: String(record.balanceWei),
    promised_wei: String(record.promisedWei),
    usd_per_native: record.usdPerNative === undefined ? null : String(record.usdPerNative),
  }));
}

/** PostgreSQL answers JSON parsed, SQLite as text. */
export function parseJsonColumn(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value;
}

const maxTexts = 1_000;

/** The same; a text that comes again is not parsed again. Callers choose the texts, so that only some are kept. */
export function createJsonParser(): typeof parseJsonColumn {
  const known = new Map<string, unknown>();
  return (value) => {
    if (typeof value !== 'string') return value;
    const before = known.get(value);
    if (before !== undefined) return before;
    const parsed = parseJsonColumn(value);
    if (known.size === maxTexts) known.clear();
    known.set(value, parsed);
    return parsed;
  };
}

export function optional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === null ? undefined : read(value);
}
