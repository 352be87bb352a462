import { budgetWindow, startOf, windowOf, type Counting } from './counting.js';
import { boundOf, countOf, mostWei, type Budget, type Limit, type Unit } from './written.js';

/** A limit as it is in force. `id`: the same as in answers of the service. */
export type StandingLimit = {
  readonly id: string;
  readonly limit: Limit;
  readonly counting: Counting | undefined;
};
export type StandingBudget = { readonly id: string; readonly budget: Budget };
export type Rules = {
  readonly paymaster: string;
  /** In the order in which they are judged. */
  readonly limits: readonly StandingLimit[];
  readonly budgets: readonly StandingBudget[];
  readonly isWithoutCampaignAllowed: boolean;
};

export type Question = {
  readonly sender: number;
  readonly nonce: number;
  readonly operation: number;
  readonly campaign: string | undefined;
  /** Undefined: no price may be used. */
  readonly price: bigint | undefined;
};

/** What an operation takes of one limit. */
export type Take = {
  readonly id: string;
  /** Names the count that all operations of this limit and window share. */
  readonly count: string;
  readonly unit: Unit;
  readonly cost: bigint;
  readonly rate: bigint | undefined;
  readonly most: bigint;
  readonly isEnforced: boolean;
  readonly isLost: boolean;
  /** Of a budget: what the live promises of the paymaster may hold of it. */
  readonly hold?: string;
};

/** `would`: limits in Shadow that would refuse. */
export type Verdict = { readonly would: readonly string[]; readonly takes: readonly Take[] | undefined } & (
  | { readonly outcome: 'signed' }
  | { readonly outcome: 'refused'; readonly reason: string; readonly id?: string }
);

type Held = { readonly unit: Unit; amount: bigint; rate: bigint | undefined };
type Promised = {
  readonly limits: Map<string, Held>;
  readonly holds: Map<string, bigint>;
  validUntil: number;
};
export type Ended = {
  readonly operation: string;
  readonly promised: Promised;
  readonly spent: ReadonlyMap<string, bigint>;
};
export type How = 'settled' | 'released' | 'forfeited' | 'paid';

/** What every limit has counted, and what it says to a request: by DESIGN alone, and not by the code of the service. */
export class Oracle {
  readonly #live = new Map<string, Promised>();
  readonly #used = new Map<string, bigint>();
  /** What was used in windows that began before is not known. */
  lostAt = -Infinity;

  judge(rules: Rules, question: Question, now: number): Verdict {
    const refused = (
      reason: string,
      more: { readonly id?: string; readonly would?: readonly string[] } = {},
    ): Verdict => ({
      outcome: 'refused',
      reason,
      would: [],
      takes: undefined,
      ...more,
    });
    const byCampaign = campaignRefusal(rules, question.campaign);
    if (byCampaign !== undefined) return refused(byCampaign);
    const judging = rules.limits.filter(({ limit }) => isJudging(rules, limit, question.campaign));
    const wei = mostWei(question.operation);

    const would: string[] = [];
    for (const { id, limit } of judging) {
      if (limit.perOperation === undefined) continue;
      const cost = countOf(limit.unit, wei, question.price);
      if (cost === undefined && !limit.isShadow) return refused('PRICE_STALE', { would });
      if (cost === undefined || cost <= boundOf(limit.unit, limit.perOperation)) continue;
      if (!limit.isShadow) return refused('COST_TOO_HIGH', { id, would });
      would.push(id);
    }
    const takes = [
      ...judging.flatMap((one) => this.#takeOfLimit(one, question, now) ?? []),
      ...rules.budgets.map((one) => this.#takeOfBudget(one, rules.paymaster, question, now)),
    ];
    if (takes.some(({ isEnforced, unit }) => isEnforced && unit === 'USD' && question.price === undefined))
      return refused('PRICE_STALE', { would });
    return this.#decideTakes(takes, this.#live.get(nameOf(rules.paymaster, question)), would);
  }

  /** Notes a promise that was signed. */
  promise(rules: Rules, question: Question, takes: readonly Take[], validUntil: number): void {
    const name = nameOf(rules.paymaster, question);
    const promised: Promised = this.#live.get(name) ?? { limits: new Map(), holds: new Map(), validUntil: 0 };
    this.#live.set(name, promised);
    promised.validUntil = Math.max(promised.validUntil, validUntil);
    for (const { count, unit, cost, rate, hold } of takes) {
      raise(promised.limits, count, { unit, amount: cost, rate });
      if (hold !== undefined) promised.holds.set(hold, larger(promised.holds.get(hold) ?? 0n, cost));
    }
  }

  /** Names of the live promises, in the order in which they were first made. */
  live(): readonly string[] {
    return [...this.#live.keys()];
  }

  validUntil(operation: string): number {
    return this.#live.get(operation)?.validUntil ?? 0;
  }

  /** `actual`: gwei. */
  end(operation: string, how: How, actual: bigint): Ended {
    const promised = this.#live.get(operation)!;
    this.#live.delete(operation);
    const spent = new Map<string, bigint>();
    if (how === 'settled' || how === 'forfeited')
      for (const [count, held] of promised.limits) {
        const amount = how === 'settled' ? spentOf(held, actual) : held.amount;
        spent.set(count, amount);
        this.#used.set(count, this.used(count) + amount);
      }
    return { operation, promised, spent };
  }

  /** A reorganisation has removed the block in which it ended. */
  revive({ operation, promised, spent }: Ended): void {
    const live = this.#live.get(operation);
    for (const [count, amount] of spent) this.#used.set(count, this.used(count) - amount);
    if (live === undefined) {
      this.#live.set(operation, promised);
      return;
    }
    live.validUntil = Math.max(live.validUntil, promised.validUntil);
    for (const [count, held] of promised.limits) raise(live.limits, count, held);
    for (const [hold, amount] of promised.holds)
      live.holds.set(hold, larger(live.holds.get(hold) ?? 0n, amount));
  }

  /** All data are gone, and every promise has expired. */
  lose(now: number): void {
    this.#live.clear();
    this.#used.clear();
    this.lostAt = now;
  }

  used(count: string): bigint {
    return this.#used.get(count) ?? 0n;
  }

  /** Sum over the live promises; `except`: an operation that is left out. */
  reserved(count: string, except?: Promised): bigint {
    let sum = 0n;
    for (const promised of this.#live.values())
      if (promised !== except) sum += promised.limits.get(count)?.amount ?? 0n;
    return sum;
  }

  /** Takes of an operation that costs nothing: what is in force for a sender at a time. */
  standing(rules: Rules, sender: number, now: number): readonly Take[] {
    const nothing: Question = { sender, nonce: 0, operation: 0, campaign: undefined, price: 0n };
    return [
      ...rules.limits
        .filter(({ limit }) => limit.isActive)
        .flatMap((one) => this.#takeOfLimit(one, nothing, now) ?? []),
      ...rules.budgets.map((one) => this.#takeOfBudget(one, rules.paymaster, nothing, now)),
    ];
  }

  #decideTakes(takes: readonly Take[], former: Promised | undefined, found: readonly string[]): Verdict {
    const would = [...found];
    for (const take of takes) {
      const { id, count, cost, most, isEnforced, isLost, hold } = take;
      if (isLost && isEnforced) return { outcome: 'refused', reason: 'USAGE_LOST', id, would: found, takes };
      const held = former?.limits.get(count)?.amount ?? 0n;
      if (this.used(count) + this.reserved(count, former) + larger(held, cost) <= most) continue;
      const reason = hold === undefined ? 'LIMIT_REACHED' : 'BUDGET_REACHED';
      if (isEnforced) return { outcome: 'refused', reason, id, would: found, takes };
      if (!would.includes(id)) would.push(id);
    }
    for (const { id, hold, cost, most, isEnforced } of takes) {
      if (hold === undefined) continue;
      const held = former?.holds.get(hold) ?? 0n;
      if (this.held(hold) - held + larger(held, cost) <= most / 4n) continue;
      if (isEnforced) return { outcome: 'refused', reason: 'BUDGET_SHARE_FULL', id, would: found, takes };
      if (!would.includes(id)) would.push(id);
    }
    return { outcome: 'signed', would, takes };
  }

  /** Sum over the live promises of what they hold of a quarter. */
  held(hold: string): bigint {
    let sum = 0n;
    for (const { holds } of this.#live.values()) sum += holds.get(hold) ?? 0n;
    return sum;
  }

  #isLost(counting: Pick<Counting, 'cycle' | 'begun'>, now: number): boolean {
    return this.lostAt > 0 && startOf(counting, now) < this.lostAt;
  }

  #takeOfLimit({ id, limit, counting }: StandingLimit, question: Question, now: number): Take | undefined {
    const { unit, threshold, perSender, isShadow } = limit;
    if (threshold === undefined || counting === undefined) return undefined;
    const whose = perSender ? `sender ${question.sender}` : 'all';
    return {
      id,
      count: `${unit} of ${id}, ${windowOf(counting, now)}, ${whose}`,
      unit,
      ...takenOf(unit, question),
      most: leftOf(unit, threshold, counting.cycle.kind === 'never' ? counting.assumed : undefined),
      isEnforced: !isShadow,
      isLost: this.#isLost(counting, now),
    };
  }

  #takeOfBudget({ id, budget }: StandingBudget, paymaster: string, question: Question, now: number): Take {
    const { usd, assumeUsed, isShadow, restartedAt = 0, cycle } = budget;
    const begun = restartedAt <= now ? restartedAt : 0;
    return {
      id,
      count: `USD of ${id}, ${budgetWindow(budget, now)}`,
      unit: 'USD',
      ...takenOf('USD', question),
      most: leftOf('USD', usd, assumeUsed),
      isEnforced: !isShadow,
      isLost: this.#isLost({ cycle, begun }, now),
      hold: holdName(id, paymaster),
    };
  }
}

/** Names what a paymaster may hold of its organisation's budget. */
export function holdOf({ budgets, paymaster }: Rules, place: number): string {
  return holdName(budgets[place]!.id, paymaster);
}

function holdName(budgetId: string, paymaster: string): string {
  return `${budgetId} by ${paymaster}`;
}

export function nameOf(paymaster: string, { sender, nonce }: Pick<Question, 'sender' | 'nonce'>): string {
  return `${paymaster} ${sender} ${nonce}`;
}

/** A request names one campaign where any is in force; a name that is not in force is refused, while one campaign refuses at all. */
function campaignRefusal(
  { limits, isWithoutCampaignAllowed }: Rules,
  named: string | undefined,
): string | undefined {
  const refusing = limits.filter(({ limit }) => limit.campaign !== undefined && !limit.isShadow);
  const inForce = new Set(refusing.filter(({ limit }) => limit.isActive).map(({ limit }) => limit.campaign));
  if (named === undefined)
    return inForce.size > 0 && !isWithoutCampaignAllowed ? 'CAMPAIGN_REQUIRED' : undefined;
  const isActive = limits.some(({ limit }) => limit.isActive && limit.campaign === named);
  const isNamed = isActive && (inForce.size === 0 || inForce.has(named));
  return isNamed || refusing.length === 0 ? undefined : 'CAMPAIGN_NOT_ACTIVE';
}

function isJudging({ limits }: Rules, { isActive, campaign }: Limit, named: string | undefined): boolean {
  if (!isActive) return false;
  if (campaign === undefined) return true;
  return campaign === named && limits.some(({ limit }) => limit.isActive && limit.campaign === named);
}

function takenOf(unit: Unit, { operation, price }: Question): Pick<Take, 'cost' | 'rate'> {
  return {
    cost: countOf(unit, mostWei(operation), price) ?? 0n,
    rate: unit === 'USD' ? price : undefined,
  };
}

function leftOf(unit: Unit, threshold: bigint, assumed = 0n): bigint {
  return larger(0n, boundOf(unit, threshold) - boundOf(unit, assumed));
}

/** What a mined operation has cost, at the price of its promise, and never more than was promised. */
function spentOf({ unit, amount, rate }: Held, actual: bigint): bigint {
  if (unit === 'COUNT' || (unit === 'USD' && rate === undefined)) return amount;
  return smaller(amount, countOf(unit, actual * 10n ** 9n, rate)!);
}

function raise(held: Map<string, Held>, count: string, { unit, amount, rate }: Held): void {
  const known = held.get(count);
  if (known === undefined) {
    held.set(count, { unit, amount, rate });
    return;
  }
  known.amount = larger(known.amount, amount);
  if (rate !== undefined) known.rate = larger(known.rate ?? 0n, rate);
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
