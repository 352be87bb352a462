import type { Reservation, ReserveRequest, ReserveResult } from '../../core/policy/usage-store.js';

type Promised = {
  readonly request: ReserveRequest;
  readonly costs: ReadonlyMap<string, number>;
  readonly needs: ReadonlyMap<string, number>;
  readonly validUntil: number;
};

/**
 * What a usage store must do, as simply as it can be said: every sum is taken anew from a list of promises and a list
 * of settled amounts, nothing is ever thrown away.
 */
export class UsageModel {
  readonly promised = new Map<string, Promised>();
  readonly #settled: { readonly counter: string; readonly amount: number }[] = [];
  readonly #generations = new Map<string, number>();
  readonly balances = new Map<string, number>();

  reserve(request: ReserveRequest, now: number): ReserveResult['outcome'] {
    const { paymasterId } = request.key;
    if (request.configGeneration < (this.#generations.get(paymasterId) ?? 0)) return 'stale';
    this.#generations.set(paymasterId, request.configGeneration);
    const id = operationName(request);
    const held = this.promised.get(id);
    const costs = new Map(held?.costs);
    for (const limit of request.limits) {
      const counter = counterName(limit, now);
      costs.set(counter, Math.max(limit.cost, costs.get(counter) ?? 0));
      if (this.used(counter, id) + costs.get(counter)! > limit.threshold) return 'limit';
    }
    const needs = new Map(held?.needs);
    for (const account of request.accounts) {
      const name = account.fundingAddress ?? 'own';
      needs.set(name, Math.max(account.need, needs.get(name) ?? 0));
      if (this.reserved(name, id) + needs.get(name)! > (this.balances.get(name) ?? 0)) return 'deposit';
    }
    const validUntil = Math.max(request.validUntil, held?.validUntil ?? 0);
    this.promised.set(id, { request, costs, needs, validUntil });
    return 'reserved';
  }

  /** A request that came to nothing has still shown the store a newer config. */
  see({ key, configGeneration }: ReserveRequest): void {
    const seen = this.#generations.get(key.paymasterId) ?? 0;
    this.#generations.set(key.paymasterId, Math.max(seen, configGeneration));
  }

  settle(id: string, actualCost: number): void {
    for (const [counter, cost] of this.promised.get(id)?.costs ?? [])
      this.#settled.push({ counter, amount: counter.startsWith('COUNT') ? cost : actualCost });
    this.promised.delete(id);
  }

  /** Settled and promised of a counter, but for one operation. */
  used(counter: string, except: string): number {
    let sum = 0;
    for (const settled of this.#settled) if (settled.counter === counter) sum += settled.amount;
    for (const [id, { costs }] of this.promised) if (id !== except) sum += costs.get(counter) ?? 0;
    return sum;
  }

  reserved(account: string, except: string): number {
    let sum = 0;
    for (const [id, { needs }] of this.promised) if (id !== except) sum += needs.get(account) ?? 0;
    return sum;
  }

  /** In the form of {@link summary}. */
  summaries(): readonly string[] {
    return Array.from(this.promised, ([id, { costs, needs, validUntil }]) => {
      const amounts = [...costs.values(), 0, ...needs.values()];
      return `${id} ${amounts.join(' ')} until ${validUntil}`;
    }).toSorted();
  }
}

/** One reservation as text: operation, costs, needs, expiry. */
export function summary({ key, limits, accounts, validUntil }: Reservation): string {
  const amounts = [...limits.map(({ cost }) => cost), 0, ...accounts.map(({ need }) => need)];
  return `${operationName({ key })} ${amounts.join(' ')} until ${validUntil}`;
}

export function operationName({ key }: Pick<ReserveRequest, 'key'>): string {
  return `${key.paymasterId}/${key.sender}/${key.nonce}`;
}

export function counterName(limit: ReserveRequest['limits'][number], now: number): string {
  const window = Math.max(0, Math.floor((now - limit.startMs) / limit.durationMs));
  return `${limit.unit}/${limit.policyId}/${limit.startMs}/${window}/${limit.subject}`;
}
