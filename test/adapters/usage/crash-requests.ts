import { liveCounter } from '../../../core/usage/counter-names.js';
import type { ReservationKey } from '../../../core/usage/reservation.js';
import { plusSeconds, systemClock, toSeconds, type EpochMs } from '../../../core/units/time.js';
import { always } from '../../../core/usage/window.js';
import { aStepDecision, aStepSettlement } from '../../conformance/step-records.js';
import { aDigest, aHold, aKey, aLimit, anAddress, aNeed } from '../../conformance/usage-requests.js';

/** Requests of the process that is killed, and the checks of the test after it: a number determines everything. */
export const turnSize = 8;
export const actualCost = 1;

export const costOf = (n: number): number => (n % 97) + 1;
export const spendCounter = { counter: 'spend', unit: 'NATIVE_ASSET' } as const;
export const lossesCounter = { counter: 'losses', unit: 'NATIVE_ASSET' } as const;
export const eachCounter = (n: number) => ({ counter: `each-${n}/0/0/`, unit: 'COUNT' }) as const;
export const liveCounterOf = (n: number) => ({ counter: liveCounter(`pm-${n}`), unit: 'COUNT' }) as const;

export const decisionOf = (n: number) => aStepDecision(2 * n);
export const settlementOf = (n: number) => aStepSettlement(2 * n + 1);

export function keyOfNumber(n: number): ReservationKey {
  return aKey({ paymasterId: `pm-${n}`, sender: anAddress(2 ** 40 + n), nonce: BigInt(n) });
}

/** One operation with its own paymaster, sender, contract and window; only the counter `spend` is shared. */
export function crashRequest(n: number) {
  const cost = costOf(n);
  const contract = anAddress(2 ** 41 + n);
  return {
    key: keyOfNumber(n),
    promise: { contract, digest: aDigest(n), validUntil: plusSeconds(toSeconds(systemClock.now()), 300) },
    limits: [
      aLimit({ ...spendCounter, window: always, threshold: 2 ** 50, cost }),
      aLimit({
        ...eachCounter(n),
        window: { from: 0 as EpochMs, until: (2 ** 45) as EpochMs },
        threshold: 1,
      }),
    ],
    holds: [aHold(1, { ...liveCounterOf(n), threshold: 1 })],
    accounts: [aNeed(cost, { contract })],
    depositMaxAgeMs: 1e12,
    record: decisionOf(n),
  };
}
