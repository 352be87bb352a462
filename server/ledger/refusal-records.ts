import type { Decision } from '../../core/ledger/record.js';
import type { Clock } from '../../core/units/time.js';
import { createRateLimiter } from '../http/rate-limit.js';
import type { Gaps } from './gaps.js';

type RefusedPaymaster = Pick<Decision, 'organisation' | 'paymasterId' | 'chainId'>;

/** Records of refusals: at a bounded rate, since a caller without any deposit can cause as many as he likes. */
export type RefusalRecords = ReturnType<typeof createRefusalRecords>;

/** Of each paymaster and reason, in each process. */
export const usualRefusalsPerSecond = 20;
/** So many seconds' refusals are recorded at once. */
const burstSeconds = 10;

export function createRefusalRecords(deps: {
  readonly offers: { add(record: Decision): boolean };
  readonly gaps: Pick<Gaps, 'count'>;
  readonly clock: Clock;
  /** Of a paymaster and reason; ten times as many at once. */
  readonly perSecond?: number;
}) {
  const { offers, gaps, clock, perSecond = usualRefusalsPerSecond } = deps;
  const limiter = createRateLimiter({ clock });
  const rate = { requests: perSecond * burstSeconds, perSeconds: burstSeconds };
  return {
    /** Makes the record only if it is kept, and answers it; the others of this paymaster and reason are counted. */
    add(of: RefusedPaymaster, reason: string, make: () => Decision): Decision | undefined {
      const { organisation, paymasterId, chainId } = of;
      const missed = { organisation, paymasterId, chainId, reason };
      if (limiter.take(`${paymasterId} ${reason}`, rate) > 0) {
        gaps.count({ ...missed, cause: 'rate' });
        return undefined;
      }
      const decision = make();
      if (offers.add(decision)) return decision;
      gaps.count({ ...missed, cause: 'space' });
      return undefined;
    },
  };
}
