import type { Metrics } from '../../core/metrics.js';
import { isForAllUsers } from '../../core/usage/counter-names.js';
import { unitNames, type Unit } from '../../core/usage/units.js';
import type { LimitShare, ReserveRequest } from '../../core/usage/reserve-request.js';
import type { Clock } from '../../core/units/time.js';
import { NearlyFullLimits } from './nearly-full-limits.js';

/**
 * How full spending limits are when operations ask for them: 1 is full. A distribution rather than a gauge per limit,
 * because there may be a million limits. Its upper buckets show that users are, or soon will be, refused; which limits these
 * are, {@link NearlyFullLimits} shows.
 */
export class UsageFullness {
  readonly #ratio: ReadonlyMap<Unit, Readonly<Record<Scope, Observer>>>;

  readonly #nearlyFull: NearlyFullLimits;

  constructor(metrics: Metrics, clock: Clock) {
    this.#nearlyFull = new NearlyFullLimits(metrics, clock);
    const ratio = metrics.histogram<'scope' | 'unit'>({
      name: 'paymaster_limit_used_ratio',
      help: 'Used and reserved share of a spending limit, the asking operation included where it fits.',
      labels: ['scope', 'unit'],
      buckets: [0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99, 1],
    });
    const ofUnit = (unit: Unit) => ({
      PAYMASTER: ratio.with({ scope: 'PAYMASTER', unit }),
      SMART_ACCOUNT: ratio.with({ scope: 'SMART_ACCOUNT', unit }),
    });
    this.#ratio = new Map(unitNames.map((unit) => [unit, ofUnit(unit)]));
  }

  /**
   * `taken`: used and reserved amount of the limit, with the asking operation if it fits. Only enforced limits count.
   */
  observe(limit: LimitShare, taken: number, request: Pick<ReserveRequest, 'holds'>): void {
    const { counter, unit, threshold, enforce } = limit;
    if (!enforce) return;
    const scope = isForAllUsers(counter) ? 'PAYMASTER' : 'SMART_ACCOUNT';
    const ratio = threshold === 0 ? 1 : taken / threshold;
    this.#ratio.get(unit)?.[scope].observe(ratio);
    if (scope === 'PAYMASTER') this.#nearlyFull.observe(limit, ratio, request);
  }
}

type Scope = 'PAYMASTER' | 'SMART_ACCOUNT';
type Observer = { observe(value: number): void };
