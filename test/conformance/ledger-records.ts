import type {
  Decision,
  FundsSample,
  Gap,
  MinedFacts,
  RecordId,
  Reversal,
  Settlement,
} from '../../core/ledger/record.js';
import type { LedgerEntry } from '../../core/ledger/ledger.js';
import type { AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { EpochMs } from '../../core/units/time.js';

// Records for tests of ledgers. Every id is new; its time is that of the record.

let made = 0;

export function anId(at: EpochMs): RecordId {
  made += 1;
  const time = at.toString(16).padStart(12, '0');
  const rest = made.toString(16).padStart(18, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(6)}`;
}

/** Milliseconds of an ISO time. */
export function at(iso: string): EpochMs {
  return Date.parse(iso) as EpochMs;
}

export function address(number: number): AddressKey {
  return `0x${number.toString(16).padStart(40, '0')}` as AddressKey;
}

export function hex(bytes: number, number: number): Hex {
  return `0x${number.toString(16).padStart(2 * bytes, '0')}` as Hex;
}

/** Sponsored, of one call of a registered contract, unless changed. */
export function aDecision(organisation: string, time: EpochMs, change: Partial<Decision> = {}): Decision {
  const id = anId(time);
  return {
    kind: 'decision',
    id,
    at: time,
    organisation,
    paymasterId: 'shop',
    chainId: 31337,
    entryPoint: address(7),
    contract: address(8),
    fundingAddress: undefined,
    mode: 'SPONSORED',
    method: 'pm_sponsorUserOperation',
    requestId: `req-${id}`,
    callerRequestId: undefined,
    sender: address(100),
    nonce: 0n,
    userOpHash: undefined,
    digest: hex(16, made),
    calls: [{ target: address(9), selector: '0x42966c68' as Hex, contractId: 'token', name: 'burn' }],
    verdict: 'sponsored',
    reason: undefined,
    detail: undefined,
    policies: [],
    maxCostWei: 1000n,
    validUntil: undefined,
    token: undefined,
    factory: undefined,
    callsLeftOut: 0,
    usdPerNative: undefined,
    ...change,
  };
}

export function aRefusal(organisation: string, time: EpochMs, change: Partial<Decision> = {}): Decision {
  return aDecision(organisation, time, {
    verdict: 'refused',
    reason: 'METHOD_NOT_ALLOWED',
    detail: 'burn is not on the list',
    digest: undefined,
    maxCostWei: undefined,
    ...change,
  });
}

/** Mined, for 600 wei, unless changed. */
export function aSettlement(decision: Decision, time: EpochMs, mined: Partial<MinedFacts> = {}): Settlement {
  return {
    ...ending(decision, time),
    kind: 'settlement',
    outcome: 'mined',
    mined: {
      digest: decision.digest,
      userOpHash: hex(32, made),
      transactionHash: hex(32, made + 1),
      blockNumber: 17,
      blockHash: hex(32, 17),
      logIndex: 3,
      success: true,
      actualGasCostWei: 600n,
      actualGasUsed: 60n,
      token: undefined,
      ...mined,
    },
  };
}

export function anUnusedEnd(
  decision: Decision,
  time: EpochMs,
  outcome: 'expired' | 'spent-elsewhere' = 'expired',
): Settlement {
  return { ...ending(decision, time), kind: 'settlement', outcome, mined: undefined };
}

export function aReversal(decision: Decision, time: EpochMs): Reversal {
  return { ...ending(decision, time), kind: 'reversal' };
}

function ending({ organisation, paymasterId, chainId }: Decision, time: EpochMs) {
  return { id: anId(time), at: time, organisation, paymasterId, chainId };
}

export function aGap(organisation: string, time: EpochMs, change: Partial<Gap> = {}): Gap {
  return {
    kind: 'gap',
    id: anId(time),
    at: time,
    organisation,
    paymasterId: 'shop',
    chainId: 31337,
    cause: 'rate',
    reason: 'METHOD_NOT_ALLOWED',
    count: 5,
    ...change,
  };
}

export function aSample(contract: AddressKey, time: EpochMs, change: Partial<FundsSample> = {}): FundsSample {
  return {
    kind: 'funds',
    id: anId(time),
    at: time,
    chainId: 31337,
    contract,
    fundingAddress: undefined,
    balanceWei: 10n ** 18n,
    promisedWei: 0n,
    usdPerNative: undefined,
    ...change,
  };
}

/** Entries of one reservation, which is known by its first decision. */
export function reservationOf(
  first: Decision,
  ...more: readonly (Decision | Settlement | Reversal)[]
): LedgerEntry[] {
  return [first, ...more].map((record) => ({ record, reservation: first.id }));
}

/** Entries that belong to no reservation. */
export function alone(...records: readonly LedgerEntry['record'][]): LedgerEntry[] {
  return records.map((record) => ({ record, reservation: undefined }));
}
