import { DomainError } from '../../core/errors.js';

/** What the run has done to the service, and what it may answer for it. */
export type Outages = {
  /** The server that holds the data is being killed. */
  readonly isCrashing: boolean;
  /** Data have become older. */
  readonly wereOlder: boolean;
  readonly hasPrice: boolean;
};

/** As often as a caller whom a busy store has refused asks again: nothing of such a call has happened. */
const tries = 100;

/**
 * Undefined where something does not answer for a reason that the run has caused: an outage is not an answer, and breaks no rule.
 * Throws everything else; a store that fails by itself would hide all that it no longer answers.
 */
export async function unlessUnavailable<T>(
  outages: Outages,
  call: () => Promise<T>,
  told: (reason: string) => void,
): Promise<T | undefined> {
  for (let nth = 1; ; nth++)
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof DomainError && error.code === 'UNAVAILABLE')) throw error;
      if (error.details.reason === 'USAGE_STORE_BUSY' && nth < tries) continue;
      if (!isExpected(error.details.reason, outages)) throw error;
      told(error.message);
      return undefined;
    }
}

function isExpected(reason: string | undefined, { isCrashing, wereOlder, hasPrice }: Outages): boolean {
  switch (reason) {
    case 'USAGE_STORE_DOWN':
      return isCrashing;
    case 'USAGE_STORE_LOST':
      return wereOlder;
    case 'PRICE_STALE':
      return !hasPrice;
    // Of the signer, the replica's config and the chain, whose faults are steps.
    case 'SIGNER_UNAVAILABLE':
    case 'CONFIG_BEHIND':
    case 'DEPOSIT_UNKNOWN':
    case undefined:
      return true;
    default:
      return false;
  }
}
