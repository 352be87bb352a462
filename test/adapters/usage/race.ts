import type { LimitShare, ReserveRequest } from '../../../core/usage/reserve-request.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import { windowAt } from '../../../core/usage/window.js';
import { aDigest, aLimit, anAddress, aNeed, aRequest, aSpend } from '../../conformance/usage-requests.js';

/** Operations that replicas race for, by number: plain data, so that each process makes the same ones. */
export type Race = {
  readonly url: string;
  readonly replicas: number;
  readonly operations: number;
  /** Start of all cycles. */
  readonly startMs: number;
  readonly durationMs: number;
  readonly validUntil: number;
};

/**
 * Each kind of limit binds somewhere: numbers of operations those of pm-0, amounts those of pm-1, and pm-2 takes what is
 * left of the deposit. Of the 15 senders of a paymaster two ask much more than the others.
 */
export const paymasters = 3;
export const sendersEach = 15;
export const deposit = 60_000;
export const costliest = 97;
const wide = 1_000_000;
const thresholds = {
  'pm-0': { count: 240, each: 30, spend: wide, own: wide },
  'pm-1': { count: wide, each: wide, spend: 12_000, own: 1_500 },
  'pm-2': { count: wide, each: wide, spend: wide, own: wide },
} as const;

/** 1…97 gwei. */
export function costOf(n: number): number {
  return (n % 97) + 1;
}

/** Every fifth operation asks again for an earlier one, at another cost. */
export function operationOf(race: Race, n: number): ReserveRequest {
  const original = n % 5 === 4 ? n - 4 : n;
  // Replica r asks for each n with n % replicas = r: what all of them ask for at a time belongs to one paymaster.
  const round = Math.floor(original / race.replicas);
  const paymaster = round % paymasters;
  const turn = Math.floor(round / paymasters);
  return aRequest({
    key: {
      paymasterId: `pm-${paymaster}`,
      sender: senderOf(
        paymaster,
        turn % 3 === 0 ? turn % 2 : (turn + (original % race.replicas)) % sendersEach,
      ),
      nonce: BigInt(original) << 128n,
    },
    accounts: [aNeed(costOf(n))],
    promise: { digest: aDigest(n), validUntil: race.validUntil as EpochSeconds },
    depositMaxAgeMs: Number.MAX_SAFE_INTEGER,
  });
}

export function senderOf(paymaster: number, number: number): AddressKey {
  return anAddress(1_000 + paymaster * 100 + number);
}

/** One limit of each kind, in the window that `now` falls into. */
export function limitsOf(
  race: Race,
  paymaster: keyof typeof thresholds,
  asked: { readonly sender: AddressKey; readonly cost: number; readonly now: EpochMs },
): readonly LimitShare[] {
  const { sender, cost, now } = asked;
  const { count, each, spend, own } = thresholds[paymaster];
  const { index, ...window } = windowAt(
    { startMs: race.startMs as EpochMs, durationMs: race.durationMs },
    now,
  );
  const of = (name: string, subject: AddressKey | ''): string => `${paymaster}/${name}/${index}/${subject}`;
  return [
    aLimit({ window, counter: of('count', ''), threshold: count }),
    aLimit({ window, counter: of('each', sender), threshold: each }),
    aSpend(cost, { window, counter: of('spend', ''), threshold: spend }),
    aSpend(cost, { window, counter: of('own', sender), threshold: own }),
  ];
}

export function isPaymaster(id: string): id is keyof typeof thresholds {
  return id in thresholds;
}
