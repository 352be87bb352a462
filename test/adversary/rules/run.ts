import { isDeepStrictEqual } from 'node:util';
import { unreachable } from '../../../core/errors.js';
import { toAddressKey } from '../../../core/units/address.js';
import type { EpochMs } from '../../../core/units/time.js';
import { aClock } from '../../adapters/usage/clock.js';
import { aChainConfig, aProfileConfig, addressOf } from '../../build/configs.js';
import { BrokenRule } from '../broken-rule.js';
import { Counts } from './counts.js';
import { Follower } from './follower.js';
import { holdOf, Oracle, type Question, type Rules, type Verdict } from './oracle.js';
import { nativePrice, PriceFeed } from './price-feed.js';
import type { Zone } from './local-time.js';
import type { OpenRuleStore, RuleStore } from './rule-stores.js';
import { createService, type Answered, type Service } from './service.js';
import type { AskStep, Step } from './steps.js';
import { TenantPaymaster, type Budgets } from './tenants.js';
import { budgetZone, edited, editedBudget, limitOf, zoneOf, type Place } from './writing.js';
import { campaignNames, organisations, paymasters, prices, type Budget } from './written.js';

/** Longer than any promise lives, and than what the store rounds that up to. */
const allExpiredMs = 3 * 3_600_000;
const funding = addressOf(0xf0);

const budgetsOf = (organisation: number): Budgets => [
  {
    usd: 5_000_000_000n,
    cycle: { kind: 'calendar', every: 'day', zone: budgetZone(organisation, 0) },
    isShadow: false,
  },
  { usd: 400_000_000n, cycle: { kind: 'hours', hours: 2 }, isShadow: true },
];

/** Takes the steps; after each the oracle has to agree with all answers and counters. Throws {@link BrokenRule}. */
export async function runRules(steps: readonly Step[], open: OpenRuleStore): Promise<RulesRun> {
  const [first] = steps;
  const clock = aClock((first?.do === 'begin' ? first.at : Date.UTC(2026, 4, 1)) as EpochMs);
  const run = new RulesRun(clock, await open(clock));
  try {
    await run.begin();
    for (const step of steps) await run.take(step);
    return run;
  } finally {
    await run.stop();
  }
}

export class RulesRun {
  readonly seen = new Map<string, number>();
  readonly #clock: ReturnType<typeof aClock>;
  readonly #store: RuleStore;
  readonly #feed: PriceFeed;
  readonly #service: Service;
  readonly #oracle = new Oracle();
  readonly #counts: Counts;
  readonly #follower: Follower;
  readonly #paymasters: readonly TenantPaymaster[];
  readonly #budgets = new Map<string, Budgets>(organisations.map((name, index) => [name, budgetsOf(index)]));

  constructor(clock: ReturnType<typeof aClock>, store: RuleStore) {
    const chain = aChainConfig({
      nativePrice,
      profiles: [aProfileConfig('1.1.0', { defaultFunding: { address: funding, organisations: ['*'] } })],
    });
    this.#clock = clock;
    this.#store = store;
    this.#feed = new PriceFeed(clock);
    this.#service = createService(clock, chain, this.#feed);
    this.#counts = new Counts(this.#oracle, chain.chainId);
    this.#follower = new Follower({
      clock,
      store,
      oracle: this.#oracle,
      chain,
      funding: toAddressKey(funding),
    });
    this.#paymasters = paymasters.map((_, index) => new TenantPaymaster(index, chain));
  }

  async begin(): Promise<void> {
    for (const [index] of paymasters.entries()) this.#paymasters[index]!.publish(this.#at(index));
    await this.#follower.read();
  }

  async stop(): Promise<void> {
    await this.#service.stop();
    await this.#store.stop();
  }

  async take(step: Step): Promise<void> {
    this.#count(step.do);
    await this.#take(step);
    const all = this.#paymasters.map((_, index) => this.#rulesOf(index));
    this.#counts.checkSums(all, this.#clock.now(), step.do === 'ask');
    await this.#counts.check(this.#store.usage);
  }

  async #take(step: Step): Promise<void> {
    switch (step.do) {
      case 'begin':
        return;
      case 'ask':
        return this.#askAll(step.asks);
      case 'end':
        for (const { how, ended } of await this.#follower.end(step.ends)) this.#count(how, ended);
        return;
      case 'reorganise':
        return this.#count('revived', await this.#follower.reorganise(step.steps));
      case 'pass':
        return this.#pass(step.ms);
      case 'turn': {
        const { now } = this.#at(step.paymaster);
        const turn = this.#paymasters[step.paymaster]!.turnOf(step.limit, now);
        return turn === Infinity || turn + step.ms <= now ? undefined : this.#pass(turn + step.ms - now);
      }
      case 'price':
        // What was read at this moment is not read again.
        this.#clock.advance(1);
        return this.#feed.set(step.price, step.fault, step.ageSeconds);
      case 'write':
      case 'edit':
      case 'again':
        return this.#write(step);
      case 'delete':
        return this.#paymasters[step.paymaster]!.delete(step.limit, this.#at(step.paymaster));
      case 'reconcile':
        return this.#publishAll(() => true);
      case 'without-campaign':
        this.#paymasters[step.paymaster]!.isWithoutCampaignAllowed = step.isAllowed;
        return this.#publishAll((index) => index === step.paymaster);
      case 'budget':
        return this.#writeBudget(step);
      case 'kill':
        if (await this.#store.kill()) this.#count('killed');
        return;
      case 'lose':
        return this.#lose();
      default:
        return unreachable(step);
    }
  }

  async #askAll(steps: readonly AskStep[]): Promise<void> {
    await this.#service.readPrices();
    const { usage } = this.#store;
    const asked = steps.map((step) => ({
      step,
      question: this.#questionOf(step),
      rules: this.#rulesOf(step.paymaster),
    }));
    const answers = await Promise.all(
      asked.map(async ({ step, question, rules }) => {
        const { served } = this.#paymasters[step.paymaster]!;
        const answered = await this.#service.ask(usage, {
          ...step,
          campaign: question.campaign,
          paymaster: served,
        });
        return { question, rules, answered };
      }),
    );
    // What does not come to the store depends on nobody else.
    const ordered = answers.toSorted(
      (a, b) => (a.answered.planned?.order ?? 0) - (b.answered.planned?.order ?? 0),
    );
    for (const one of ordered) await this.#compare(one);
  }

  async #compare({
    question,
    rules,
    answered,
  }: {
    readonly question: Question;
    readonly rules: Rules;
    readonly answered: Answered;
  }): Promise<void> {
    const now = this.#clock.now();
    const verdict = this.#oracle.judge(rules, question, now);
    const { result, would, planned, refusalRecord } = answered;
    const about = `${rules.paymaster} ${JSON.stringify(question, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}`;
    if (planned !== undefined && verdict.takes !== undefined)
      this.#counts.learn(planned.limits, verdict.takes, now);
    // First what no oracle is needed for.
    if (result.outcome === 'signed') {
      this.#oracle.promise(rules, question, verdict.takes ?? [], result.validUntil);
      for (const take of verdict.takes ?? []) this.#counts.checkTake(take);
    }
    expectSame(`the answer to ${about}`, shortOf(result), shortOf(verdict));
    expectSame(`who would refuse ${about}`, would.toSorted(), verdict.would.toSorted());
    const record =
      result.outcome === 'signed' ? await this.#store.recorded(planned!.recordId) : refusalRecord;
    if (record !== undefined) {
      const noted = record.filter(({ effect }) => effect === 'would_refuse').map(({ policyId }) => policyId);
      expectSame(`who would refuse ${about}, by its record`, noted.toSorted(), verdict.would.toSorted());
    }
    this.#count(result.outcome === 'signed' ? 'signed' : result.reason);
    if (verdict.would.length > 0) this.#count('would refuse');
  }

  #write(step: Extract<Step, { do: 'write' | 'edit' | 'again' }>): void {
    // A limit that begins anew at the very moment at which it began goes on.
    this.#clock.advance(1);
    const { paymaster, limit: slot } = step;
    const owner = this.#paymasters[paymaster]!;
    const at = this.#at(paymaster);
    const place = this.#placeOf(zoneOf(paymaster, slot));
    const former = owner.limitAt(slot);
    if (step.do === 'write')
      return owner.write(slot, limitOf(step.written, former, place), { ...at, isNoted: true });
    if (former === undefined) return;
    const limit = step.edits.reduce((one, edit) => edited(one, edit, place), former);
    if (step.do === 'again') owner.delete(slot, at);
    owner.write(slot, limit, { ...at, isNoted: step.do === 'again' || step.isNoted });
  }

  #placeOf(zone: Zone): Place {
    return { zone, now: this.#clock.now(), price: this.#feed.usable() ?? prices[0] };
  }

  #writeBudget({ organisation, budget: place, edit }: Extract<Step, { do: 'budget' }>): void {
    const name = organisations[organisation]!;
    const hold = edit.of === 'quarter' ? holdOf(this.#rulesOf(edit.paymaster), place) : '';
    const budgets = this.#budgets.get(name)!.map((budget, i): Budget =>
      i === place
        ? editedBudget(budget, edit, {
            ...this.#placeOf(budgetZone(organisation, i)),
            held: this.#oracle.held(hold),
          })
        : budget,
    );
    this.#budgets.set(name, budgets);
    this.#publishAll((index) => paymasters[index]!.organisation === name);
  }

  #publishAll(isMeant: (index: number) => boolean): void {
    for (const [index, paymaster] of this.#paymasters.entries())
      if (isMeant(index)) paymaster.publish(this.#at(index));
  }

  async #pass(ms: number): Promise<void> {
    this.#clock.advance(ms);
    await this.#store.jumped();
    // Mostly the feed goes on.
    if (ms % 4 !== 1) this.#feed.refresh();
    await this.#follower.read();
  }

  async #lose(): Promise<void> {
    const { chainId } = this.#paymasters[0]!.served;
    await this.#store.lose();
    await this.#store.recovery.recover(chainId);
    this.#clock.advance(allExpiredMs);
    await this.#store.jumped();
    const recovered = await this.#store.recovery.recover(chainId);
    if (recovered !== 'recovered')
      throw new BrokenRule(11, `lost data are ${recovered} when all promises have expired`);
    this.#oracle.lose(this.#clock.now());
    this.#counts.forget();
    this.#follower.lose();
    this.#feed.refresh();
    await this.#follower.read();
  }

  #questionOf({ sender, nonce, operation, campaign }: AskStep): Question {
    const named = campaign > campaignNames.length ? 'unknown' : campaignNames[campaign - 1];
    return { sender, nonce, operation, campaign: named, price: this.#feed.usable() };
  }

  #rulesOf(index: number): Rules {
    return this.#paymasters[index]!.rules(this.#at(index).budgets);
  }

  #at(index: number): { readonly now: EpochMs; readonly budgets: Budgets } {
    return { now: this.#clock.now(), budgets: this.#budgets.get(paymasters[index]!.organisation)! };
  }

  #count(name: string, by = 1): void {
    this.seen.set(name, (this.seen.get(name) ?? 0) + by);
  }
}

function shortOf(of: Verdict | Answered['result']): string {
  return of.outcome === 'signed' ? 'signed' : `${of.reason} ${of.id ?? ''}`;
}

function expectSame(what: string, found: unknown, right: unknown): void {
  if (!isDeepStrictEqual(found, right))
    throw new BrokenRule(1, `${what} is ${JSON.stringify(found)}, and by the rules ${JSON.stringify(right)}`);
}
