import { formatDecision } from '../../core/ledger/decision-text.js';
import type { Decision } from '../../core/ledger/record.js';
import type { RateLimit } from '../../core/resources/paymaster.js';
import type { Clock } from '../../core/units/time.js';
import { createRateLimiter } from '../http/rate-limit.js';
import type { Gaps } from './gaps.js';
import type { Offers } from './offers.js';

export type RefusedPaymaster = Pick<Decision, 'organisation' | 'paymasterId' | 'chainId'>;

/** Records of refusals: at a bounded rate, since a caller without any deposit can cause as many as he likes. */
export type RefusalRecords = {
  /** Makes the record only if it is kept, and answers it; the others of this paymaster and reason are counted. */
  add(of: RefusedPaymaster, reason: string, make: () => Decision): Decision | undefined;
};

/** For each paymaster and reason: 20 a second, and 200 at once. */
const usualRate: RateLimit = { requests: 200, perSeconds: 10 };

export function createRefusalRecords({
  offers,
  gaps,
  clock,
  rate = usualRate,
}: {
  readonly offers: Pick<Offers, 'add'>;
  readonly gaps: Pick<Gaps, 'count'>;
  readonly clock: Clock;
  readonly rate?: RateLimit;
}): RefusalRecords {
  const limiter = createRateLimiter({ clock });
  return {
    add(of, reason, make) {
      const { organisation, paymasterId, chainId } = of;
      const missed = { organisation, paymasterId, chainId, reason };
      if (limiter.take(`${paymasterId} ${reason}`, rate) > 0) {
        gaps.count({ ...missed, cause: 'rate' });
        return undefined;
      }
      const decision = make();
      if (offers.add(chainId, formatDecision(decision))) return decision;
      gaps.count({ ...missed, cause: 'space' });
      return undefined;
    },
  };
}
