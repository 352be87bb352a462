import type {
  AccountShare,
  Reservation,
  ReservationKey,
  SignedPromise,
} from '../../core/usage/reservation.js';
import type { Bar, HoldShare, LimitShare, ReserveRequest } from '../../core/usage/reserve-request.js';
import { chainFence } from '../../core/usage/reserve-request.js';
import { toAddressKey, type AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { toSeconds, type EpochMs, type EpochSeconds } from '../../core/units/time.js';
import { gwei } from '../../core/units/wei.js';
import { always, type Window } from '../../core/usage/window.js';

/** 2026-01-01T00:00:00Z: where test clocks start, and windows too unless a case says otherwise. */
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
/** 16 bytes, distinct for each small number. */
export function aDigest(n: number): Hex {
  return `0x${n.toString(16).padStart(32, '0')}`;
}

export const contract = anAddress(0xc0);
export const funding = anAddress(0xf0);
export const sender = anAddress(0xa0);
export const entryPoint = anAddress(0xe0);
export const token = anAddress(0x70);

/** Unix seconds, `after` seconds after the clocks' start. */
export function seconds(after: number): EpochSeconds {
  return (toSeconds(startMs) + after) as EpochSeconds;
}

/** The hour after the clocks' start, or the `n`th after it. */
export function anHour(n = 0): Window {
  const from = startMs + n * hourMs;
  return { from: from as EpochMs, until: (from + hourMs) as EpochMs };
}

export function aKey(change: Partial<ReservationKey> = {}): ReservationKey {
  return { chainId, paymasterId: 'pm-1', entryPoint, sender, nonce: 0n, ...change };
}

/** Ten operations in the first hour, one of them this one. */
export function aLimit(change: Partial<LimitShare> = {}): LimitShare {
  return {
    counter: 'limit-1',
    unit: 'COUNT',
    window: anHour(),
    threshold: 10,
    cost: 1,
    enforce: true,
    ...change,
  };
}

/** As {@link aLimit}, in gwei: `cost` of a hundred. */
export function aSpend(cost: number, change: Partial<LimitShare> = {}): LimitShare {
  return aLimit({ counter: 'spend-1', unit: 'NATIVE_ASSET', threshold: 100, cost, ...change });
}

/** Takes `cost` of the hundred gwei that may be promised at the same time. */
export function aHold(cost: number, change: Partial<HoldShare> = {}): HoldShare {
  return { counter: 'hold-1', unit: 'NATIVE_ASSET', threshold: 100, cost, ...change };
}

/** Refuses once 10 gwei of a counter are settled. */
export function aBar(change: Partial<Bar> = {}): Bar {
  return { counter: 'loss-1', unit: 'NATIVE_ASSET', window: always, most: 10, ...change };
}

export function aNeed(need: number, change: Partial<AccountShare> = {}): AccountShare {
  return { contract, need: gwei(need), ...change };
}

export function aSignedPromise(change: Partial<SignedPromise> = {}): SignedPromise {
  return {
    digest: aDigest(1),
    mode: 'SPONSORED',
    contract,
    prefundWei: 1_000_000_000n,
    validUntil: seconds(300),
    ...change,
  };
}

/** A request without limits, holds and accounts; `generation` is that of the paymaster. */
export function aRequest(
  change: Partial<Omit<ReserveRequest, 'key' | 'promise'>> & {
    readonly key?: Partial<ReservationKey>;
    readonly promise?: Partial<SignedPromise>;
    readonly generation?: number;
  } = {},
): ReserveRequest {
  const { generation = 1, ...rest } = change;
  const key = aKey(change.key);
  return {
    fences: [
      { id: key.paymasterId, generation },
      { id: chainFence, generation: 1 },
    ],
    bars: [],
    limits: [],
    holds: [],
    accounts: [],
    depositMaxAgeMs: 900_000,
    ...rest,
    promise: aSignedPromise(change.promise),
    key,
  };
}

/** Reservations, and what they hold, in an order that does not depend on the store. Promises keep their order. */
export function sorted(reservations: readonly Reservation[]): readonly Reservation[] {
  const byText = <T>(items: readonly T[], text: (item: T) => string): readonly T[] =>
    items.toSorted((a, b) => (text(a) < text(b) ? -1 : 1));
  return byText(
    reservations.map((one) => ({
      ...one,
      folded: byText(one.folded, ({ mode, contract: of }) => `${mode}/${of}`),
      limits: byText(one.limits, ({ counter, unit }) => `${unit}/${counter}`),
      holds: byText(one.holds, ({ counter, unit }) => `${unit}/${counter}`),
      accounts: byText(one.accounts, ({ contract: of, fundingAddress }) => `${of}/${fundingAddress ?? ''}`),
    })),
    ({ key }) => `${key.paymasterId}/${key.entryPoint}/${key.sender}/${key.nonce}`,
  );
}
