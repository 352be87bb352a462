import type { Ledger, LedgerEntry } from '../../core/ledger/ledger.js';
import type { Decision, RecordId, Settlement } from '../../core/ledger/record.js';
import type { AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { EpochMs } from '../../core/units/time.js';
import type { TestedLedger } from '../fakes/memory-ledger.js';
import { percentile } from './statistics.js';

/** An organisation of 100 paymasters with three policies each, and the month for which its usage is asked. */
export const ledgerMonth = {
  organisation: 'acme',
  from: Date.parse('2026-10-01T00:00:00Z') as EpochMs,
  to: Date.parse('2026-10-31T00:00:00Z') as EpochMs,
  paymasters: 100,
  policiesEach: 3,
} as const;

const senders = 50_000;
/** Of the decisions that {@link fillLedger} makes: as many in a minute as a busy service has. */
const decisionsPerSecond = 3000;
const batchSize = 500;

export type LedgerLoadResult = { readonly decisions: number; readonly seconds: number };

/**
 * Appends decisions in the order of time and batches of 500: one in five is refused, and of the others nine in ten have
 * their settlement beside them.
 */
export async function fillLedger(
  ledger: TestedLedger,
  decisions: number,
  paymasterId?: string,
): Promise<LedgerLoadResult> {
  const started = performance.now();
  for (let first = 0; first < decisions; first += batchSize) {
    const entries: LedgerEntry[] = [];
    for (let index = first; index < Math.min(first + batchSize, decisions); index += 1)
      entries.push(...entriesOf(index, paymasterId));
    await ledger.append(entries);
  }
  return { decisions, seconds: (performance.now() - started) / 1000 };
}

/** Milliseconds of the 95th percentile of usage per policy and day over the month. */
export async function measureUsageQuery(ledger: Ledger, queries: number): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < queries; index += 1) {
    const started = performance.now();
    const rows = await ledger.usage({
      organisation: ledgerMonth.organisation,
      paymasterId: undefined,
      from: ledgerMonth.from,
      to: ledgerMonth.to,
      step: 'day',
      groupBy: 'policy',
      limit: 10_000,
    });
    times.push(performance.now() - started);
    // A million decisions are five minutes of the month: one day, and each policy has some.
    const wanted = ledgerMonth.paymasters * ledgerMonth.policiesEach;
    if (rows.length !== wanted)
      throw new Error(`usage of the month has ${rows.length} rows, expected ${wanted}`);
  }
  return percentile(times, 0.95);
}

/** `ofAll`: all are of this paymaster. */
function entriesOf(index: number, ofAll: string | undefined): LedgerEntry[] {
  const { organisation, from, paymasters } = ledgerMonth;
  const at = Math.floor(from + (index * 1000) / decisionsPerSecond) as EpochMs;
  const paymaster = index % paymasters;
  const paymasterId = ofAll ?? `paymaster-${paymaster}`;
  const isRefused = index % 5 === 0;
  const decision: Decision = {
    kind: 'decision',
    id: idOf(at, index, 0),
    at,
    organisation,
    paymasterId,
    chainId: 31337,
    entryPoint: addressOf(7),
    contract: addressOf(paymaster),
    fundingAddress: undefined,
    mode: 'SPONSORED',
    method: 'pm_sponsorUserOperation',
    requestId: `${index.toString(16)}-request`,
    callerRequestId: undefined,
    sender: addressOf(1_000_000 + ((index * 7919) % senders)),
    nonce: BigInt(index),
    userOpHash: undefined,
    digest: isRefused ? undefined : (`0x${index.toString(16).padStart(32, '0')}` as Hex),
    calls: [
      {
        target: addressOf(9),
        selector: '0x42966c68' as Hex,
        contractId: `contract-${paymaster}`,
        name: 'burn',
      },
    ],
    verdict: isRefused ? 'refused' : 'sponsored',
    reason: isRefused ? 'LIMIT_REACHED' : undefined,
    detail: undefined,
    policies: [0, 1, 2].map((policy) => ({
      policyId: `policy-${paymaster}-${policy}`,
      effect: isRefused ? 'refused' : 'counted',
    })),
    maxCostWei: isRefused ? undefined : 400_000_000_000_000n,
    validUntil: undefined,
    token: undefined,
    factory: undefined,
    callsLeftOut: 0,
    usdPerNative: undefined,
  };
  if (isRefused) return [{ record: decision, reservation: undefined }];
  const entries: LedgerEntry[] = [{ record: decision, reservation: decision.id }];
  if (index % 10 !== 1) entries.push({ record: minedOf(decision, index), reservation: decision.id });
  return entries;
}

function minedOf(
  { id, at, organisation, paymasterId, chainId, digest }: Decision,
  index: number,
): Settlement {
  const hash = `0x${index.toString(16).padStart(64, '0')}` as Hex;
  const settled = (at + 12_000) as EpochMs;
  return {
    kind: 'settlement',
    id: idOf(settled, index, 1),
    at: settled,
    organisation,
    paymasterId,
    chainId,
    outcome: 'mined',
    mined: {
      digest,
      userOpHash: hash,
      transactionHash: hash,
      blockNumber: index,
      blockHash: hash,
      logIndex: 1,
      success: true,
      actualGasCostWei: 250_000_000_000_000n + BigInt(Number.parseInt(id.slice(-4), 16)),
      actualGasUsed: 90_000n,
      token: undefined,
    },
  };
}

function idOf(at: EpochMs, index: number, kind: number): RecordId {
  const time = at.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${kind}00-8000-${index.toString(16).padStart(12, '0')}`;
}

function addressOf(number: number): AddressKey {
  return `0x${number.toString(16).padStart(40, '0')}` as AddressKey;
}
