import { FairSlots, SlotsBusy, type SlotLimits } from '../../adapters/fair-slots.js';
import { DomainError } from '../../core/errors.js';
import type { Principal } from './auth.js';

/**
 * What makes an answer cost more than a call: how many of its kind are open at once, until their clients have read them, and
 * how many of those may be of one organisation.
 */
const costs = {
  /** Others wait: a page of a dashboard may need several. */
  list: { slots: 200, perKey: 2, waitingPerKey: 40, maxWaitMs: 10_000 },
  /** A page is some megabytes. */
  reading: { slots: 40, perKey: 8, waitingPerKey: 56, maxWaitMs: 10_000 },
  /** Waits for the host of a webhook, for ten seconds at most. */
  host: { slots: 20, perKey: 2, waitingPerKey: 8, maxWaitMs: 2_000 },
  /** Waits for a JSON-RPC server, for fifteen seconds at most. */
  decision: { slots: 40, perKey: 4, waitingPerKey: 16, maxWaitMs: 2_000 },
  /** A thread with half a gigabyte, for two minutes at most. */
  whatIf: { slots: 2, perKey: 1, waitingPerKey: 0, maxWaitMs: 1_000 },
} as const satisfies Record<string, SlotLimits>;
export type Cost = keyof typeof costs;

/** Runs what somebody asks for. Throws RATE_LIMITED when other answers of his token or organisation leave no slot in time. */
export type Spending = (
  cost: Cost | undefined,
  caller: Pick<Principal, 'tenant' | 'tokenName'>,
  work: () => Promise<void>,
) => Promise<void>;

/** One token gets half of the readings of its organisation: somebody who may only read must not keep the owner from reading. */
const readingsOfToken = {
  ...costs.reading,
  slots: Number.MAX_SAFE_INTEGER,
  perKey: costs.reading.perKey / 2,
} as const satisfies SlotLimits;

export function createSpending(): Spending {
  const slots = {
    list: new FairSlots(costs.list),
    reading: new FairSlots(costs.reading),
    host: new FairSlots(costs.host),
    decision: new FairSlots(costs.decision),
    whatIf: new FairSlots(costs.whatIf),
  } as const satisfies Record<Cost, FairSlots>;
  const ofToken = new FairSlots(readingsOfToken);
  return async (cost, { tenant, tokenName }, work) => {
    if (cost === undefined) return work();
    const ofOrganisation = () => slots[cost].run(tenant, work);
    try {
      if (cost === 'reading') await ofToken.run(JSON.stringify([tenant, tokenName]), ofOrganisation);
      else await ofOrganisation();
    } catch (error) {
      if (!(error instanceof SlotsBusy)) throw error;
      throw new DomainError('RATE_LIMITED', 'Too many answers of the token or its organisation are open', {
        reason: 'ANSWERS_BUSY',
        retryAfterSeconds: 1,
      });
    }
  };
}
