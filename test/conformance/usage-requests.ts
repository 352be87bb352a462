import type {
  AccountShare,
  LimitShare,
  Reservation,
  ReservationKey,
  ReserveRequest,
} from '../../core/policy/usage-store.js';
import { toAddressKey, type AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { toSeconds, type EpochMs, type EpochSeconds } from '../../core/units/time.js';
import { gwei } from '../../core/units/wei.js';

/** 2026-01-01T00:00:00Z: where test clocks start, and cycles too unless a case says otherwise. */
export const startMs = 1_767_225_600_000 as EpochMs;
export const hourMs = 3_600_000;
export const chainId = 31337;

/** A distinct address for each small number. */
export function anAddress(n: number): AddressKey {
  return toAddressKey(`0x${n.toString(16).padStart(40, '0')}`);
}
export function aHash(n: number): Hex {
  return `0x${n.toString(16).padStart(64, '0')}`;
}

export const contract = anAddress(0xc0);
export const funding = anAddress(0xf0);
export const sender = anAddress(0xa0);
export const entryPoint = anAddress(0xe0);

/** Unix seconds, `after` seconds after the clocks' start. */
export function seconds(after: number): EpochSeconds {
  return (toSeconds(startMs) + after) as EpochSeconds;
}

export function aKey(change: Partial<ReservationKey> = {}): ReservationKey {
  return { chainId, paymasterId: 'pm-1', entryPoint, sender, nonce: 0n, ...change };
}

export function aLimit(change: Partial<LimitShare> = {}): LimitShare {
  return {
    policyId: 'policy-1',
    startMs,
    durationMs: hourMs,
    subject: '',
    threshold: 10,
    cost: 1,
    unit: 'COUNT',
    ...change,
  };
}

export function aNeed(need: number, change: Partial<AccountShare> = {}): AccountShare {
  return { contract, need: gwei(need), ...change };
}

export function aRequest(
  change: Partial<Omit<ReserveRequest, 'key'>> & { readonly key?: Partial<ReservationKey> } = {},
): ReserveRequest {
  return {
    configGeneration: 1,
    contract,
    mode: 'SPONSORED',
    fundingAddress: undefined,
    limits: [],
    accounts: [],
    validUntil: seconds(300),
    depositMaxAgeMs: 900_000,
    ...change,
    key: aKey(change.key),
  };
}

/** Reservations in an order that does not depend on the store. */
export function sorted(reservations: readonly Reservation[]): readonly Reservation[] {
  return reservations.toSorted((a, b) => (name(a) < name(b) ? -1 : 1));
}

function name({ key }: Reservation): string {
  return `${key.paymasterId}/${key.entryPoint}/${key.sender}/${key.nonce}`;
}
