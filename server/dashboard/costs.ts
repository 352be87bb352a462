import { FairSlots, SlotsBusy, type SlotLimits } from '../../adapters/fair-slots.js';
import { DomainError } from '../../core/errors.js';

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

/** Runs what an organisation asks for. Throws RATE_LIMITED when its other answers leave no slot in time. */
export type Spending = (
  cost: Cost | undefined,
  organisation: string,
  work: () => Promise<void>,
) => Promise<void>;

export function createSpending(): Spending {
  const slots = {
    list: new FairSlots(costs.list),
    reading: new FairSlots(costs.reading),
    host: new FairSlots(costs.host),
    decision: new FairSlots(costs.decision),
    whatIf: new FairSlots(costs.whatIf),
  } as const satisfies Record<Cost, FairSlots>;
  return async (cost, organisation, work) => {
    if (cost === undefined) return work();
    try {
      await slots[cost].run(organisation, work);
    } catch (error) {
      if (!(error instanceof SlotsBusy)) throw error;
      throw new DomainError('RATE_LIMITED', 'Too many answers of the organisation are open', {
        reason: 'ANSWERS_BUSY',
        retryAfterSeconds: 1,
      });
    }
  };
}
