import type { Gauge, Metrics } from '../../core/metrics.js';
import { isForAllUsers, paymasterOfLive } from '../../core/usage/counter-names.js';
import { unitNames, type Unit } from '../../core/usage/units.js';
import type { LimitShare, ReserveRequest } from '../../core/usage/reserve-request.js';
import type { Clock } from '../../core/units/time.js';

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

/** From this share on a limit is shown. */
const nearly = 0.8;
/** How many limits of a process are shown apart: tenants make them, and each is a series in each process. */
export const maxShown = 100;
/** A limit that no operation has asked for lately refuses nobody. */
export const shownForMs = 900_000;

type Labels = Readonly<Record<'paymaster' | 'policy' | 'unit', string>>;
type Shown = { readonly labels: Labels; readonly ratio: number; readonly until: number };

/**
 * A gauge for limits of whole paymasters of which 80 % is used, so that an alert can say which limit it is. There may be a
 * million limits, so only so many are shown, by the ids of paymaster and policy, until they have room again, their window
 * ends, or nobody asks for them; all further ones of a unit share the fullest value, as `other`.
 */
class NearlyFullLimits {
  readonly #clock: Clock;
  readonly #gauge: Gauge<keyof Labels>;
  readonly #shown = new Map<string, Shown>();
  /** By unit. */
  readonly #others = new Map<string, Shown>();

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock;
    this.#gauge = metrics.gauge<keyof Labels>({
      name: 'paymaster_limit_nearly_full_ratio',
      help: 'Used and reserved share of spending limits of whole paymasters, of at least 0.8: the first 100 that operations ask for, the rest as "other".',
      labels: ['paymaster', 'policy', 'unit'],
      beforeScrape: () => this.#forgetEnded(),
    });
  }

  observe(
    { counter, unit, window }: LimitShare,
    ratio: number,
    { holds }: Pick<ReserveRequest, 'holds'>,
  ): void {
    // Nearly always: the rest makes texts.
    if (ratio < nearly && this.#shown.size === 0) return;
    const policy = counter.slice(0, counter.indexOf('/'));
    const key = `${policy}/${unit}`;
    if (ratio < nearly) return this.#forget(this.#shown, key);
    const until = Math.min(window.until, this.#clock.now() + shownForMs);
    if (!this.#shown.has(key) && this.#shown.size >= maxShown) this.#forgetEnded();
    if (this.#shown.has(key) || this.#shown.size < maxShown) {
      const paymaster = holds.map((hold) => paymasterOfLive(hold.counter)).find((id) => id !== undefined);
      const labels = { paymaster: paymaster ?? 'unknown', policy, unit };
      return this.#show(this.#shown, key, { labels, ratio, until });
    }
    const fullest = Math.max(ratio, this.#others.get(unit)?.ratio ?? 0);
    const labels = { paymaster: 'other', policy: 'other', unit };
    this.#show(this.#others, unit, { labels, ratio: fullest, until });
  }

  #show(among: Map<string, Shown>, key: string, shown: Shown): void {
    among.set(key, shown);
    this.#gauge.with(shown.labels).set(shown.ratio);
  }

  #forget(among: Map<string, Shown>, key: string): void {
    const shown = among.get(key);
    if (shown === undefined) return;
    among.delete(key);
    this.#gauge.remove(shown.labels);
  }

  #forgetEnded(): void {
    const now = this.#clock.now();
    for (const among of [this.#shown, this.#others])
      for (const [key, { until }] of among) if (until <= now) this.#forget(among, key);
  }
}
