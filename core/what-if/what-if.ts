import { isDomainError } from '../errors.js';
import { recordTime } from '../ledger/record-id.js';
import type { DecidedCall, RecordId } from '../ledger/record.js';
import { decisionsIn, listPolicyShares, type ServedPolicies } from '../policy/derived.js';
import type { PolicyFacts } from '../policy/kind.js';
import type { AllowList } from '../policy/rules/allow-list/compile.js';
import { decideCalls } from '../policy/rules/allow-list/decide.js';
import { decideCampaign, type CampaignRules } from '../policy/rules/campaign.js';
import { limitReached } from '../policy/share-texts.js';
import { allWork } from '../policy/steps-left.js';
import type { UserOperation } from '../entry-point/user-operation.js';
import { pass, type Refusal, type Verdict } from '../refusal.js';
import type { AddressKey } from '../units/address.js';
import { given } from '../units/given.js';
import type { EpochMs } from '../units/time.js';
import { gweiCeil } from '../units/wei.js';
import { unitRow, type Unit } from '../usage/units.js';
import type { OperationCost } from '../usage/unit.js';
import type { DecodedCalls } from '../userop/call-data.js';
import type { PastDecision, PastEnding, PastRecord } from '../ledger/past.js';

/** The proposed rules of one paymaster, as requests would be judged by them. */
export type ProposedRules = ServedPolicies & {
  readonly allowList: AllowList;
  readonly contractsInShadow: boolean;
  readonly campaigns: CampaignRules | undefined;
};

export type WhatIfDeps = {
  readonly chainId: number;
  readonly rulesFor: (campaign: string | undefined) => ProposedRules;
  readonly listOf: PolicyFacts['listOf'];
  /** The begin of the period; older records are counted and not judged. */
  readonly from: EpochMs;
};

export type Example = {
  readonly decision: RecordId;
  readonly sender: AddressKey;
  readonly detail: string;
  readonly policyId: string | undefined;
};
/** Decisions of one reason and day (UTC). `reason`: of a refusal that they would get, or got. */
export type Group = { readonly reason: string; readonly day: EpochMs; readonly count: number };
export type Found = {
  readonly count: number;
  readonly groups: readonly Group[];
  /** The first of each reason. */
  readonly examples: Readonly<Record<string, readonly Example[]>>;
};

export type WhatIfResult = Readonly<ReturnType<WhatIf['result']>>;

/** Reasons of refusals that the proposed rules can take back; all others stay as they were. */
const judgedReasons: ReadonlySet<string> = new Set([
  'CALLDATA_UNDECODABLE',
  'ACCOUNT_UNKNOWN',
  'DELEGATE_CALL',
  'CONTRACT_NOT_REGISTERED',
  'METHOD_NOT_WHITELISTED',
  'OPEN_SPONSORSHIP_DENIED',
  'CONTRACT_PAUSED',
  'VALUE_TRANSFER',
  'DEPLOYMENT_NOT_ALLOWED',
  'SENDER_NOT_ALLOWED',
  'WINDOW_CLOSED',
  'CAMPAIGN_REQUIRED',
  'CAMPAIGN_NOT_ACTIVE',
  'LIMIT_REACHED',
  'COST_TOO_HIGH',
]);

const maxExamples = 20;
const dayMs = 86_400_000;

/** A reorganisation may take back the end of so many promises, as of the usage store. */
const maxEnded = 10_000;

type Counter = { used: number; reserved: number };
type Held = { readonly of: Counter; readonly unit: Unit; readonly rate: bigint | undefined; amount: number };
/** `spent`: of each of `held`, once it has ended. */
type Promised = { readonly operation: string; readonly held: Held[]; spent: readonly number[] | undefined };

/**
 * Judges recorded decisions by proposed rules, in the order of their ids. A promise takes its maximum of each limit until it ended,
 * and its cost from there; one that only the proposed rules would have signed keeps its maximum, since nobody knows how it would have
 * ended. Commits of two phases count when they are finalized.
 */
export class WhatIf {
  readonly #deps: WhatIfDeps;
  readonly #counters = new Map<string, Counter>();
  readonly #live = new Map<string, Promised>();
  /** By the id under which their end is recorded. */
  readonly #recorded = new Map<RecordId, Promised>();
  /** A ring: the oldest is forgotten for each new one. */
  readonly #ended: RecordId[] = [];
  #endings = 0;
  readonly #refused = new Groups();
  readonly #passed = new Groups();
  readonly #unknown = new Groups();
  #judged = 0;
  #stillSigned = 0;
  #stillRefused = 0;

  constructor(deps: WhatIfDeps) {
    this.#deps = deps;
  }

  take(record: PastRecord): void {
    if (record.verdict === null) this.#end(record);
    else if (record.verdict !== 'committed') this.#decide(record);
  }

  result() {
    return {
      judged: this.#judged,
      /** Signed, and would be as well. */
      stillSigned: this.#stillSigned,
      wouldBeRefused: this.#refused.found(),
      /** Refused, and the judged rules would let it pass. */
      wouldPass: this.#passed.found(),
      /** Refused, and would be as well, or by a rule that is not judged. */
      stillRefused: this.#stillRefused,
      /** A cost, price or call that was not recorded. */
      unknown: this.#unknown.found(),
    };
  }

  #decide(record: PastDecision): void {
    const now = recordTime(record.id);
    const isSigned = record.verdict === 'sponsored';
    const rules = this.#deps.rulesFor(record.campaign ?? undefined);
    if (now < this.#deps.from) {
      if (isSigned) this.#counted(record, rules, now);
      return;
    }
    this.#judged += 1;
    const reason = record.reason ?? '';
    if (!isSigned && (!judgedReasons.has(reason) || record.mode === null)) {
      this.#stillRefused += 1;
      return;
    }
    const verdict = this.#verdict(record, rules, now);
    if (verdict === undefined) {
      this.#unknown.add(record, now, isSigned ? 'signed' : reason);
      if (isSigned) this.#counted(record, rules, now);
    } else if (isSigned && verdict.pass) this.#stillSigned += 1;
    else if (isSigned && !verdict.pass) this.#refused.add(record, now, verdict.reason, verdict);
    else if (verdict.pass) this.#passed.add(record, now, reason);
    else this.#stillRefused += 1;
  }

  /** Undefined: what it needs was not recorded. Takes from the limits where it passes. */
  #verdict(record: PastDecision, rules: ProposedRules, now: EpochMs): Verdict | undefined {
    const { verdict, maxCost, callsLeftOut } = record;
    if (verdict === 'refused' && (maxCost === null || callsLeftOut !== 0)) return undefined;
    try {
      const stated = this.#stated(record, rules, now);
      // Calls that are not named may be of any contract.
      const isUnread = (callsLeftOut ?? 0) > 0 && rules.allowList.kind !== 'open' && !rules.contractsInShadow;
      if (stated.pass && isUnread) return undefined;
      return stated.pass ? this.#reserve(record, rules, now, true) : stated;
    } catch (error) {
      // A limit in dollars, and no price was recorded.
      if (isDomainError(error, 'UNAVAILABLE')) return undefined;
      throw error;
    }
  }

  /** What the rules say without counting, in the order of a request. */
  #stated(record: PastDecision, rules: ProposedRules, now: EpochMs): Verdict {
    const { chainId, listOf } = this.#deps;
    const { sender, factory, campaign } = record;
    const mode = record.mode ?? 'SPONSORED';
    // The rules that are judged read nothing else of it.
    const op = { sender, initCode: factory ?? '0x' } as UserOperation;
    const allowList: AllowList = rules.contractsInShadow ? { kind: 'open' } : rules.allowList;
    const calls = toDecodedCalls(record);
    const cost = toOperationCost(record);
    const workLeft = allWork();
    const facts: PolicyFacts = { mode, chainId, op, calls, allowList, cost, now, listOf, shadow, workLeft };
    if (rules.campaigns !== undefined) {
      const named = decideCampaign(rules.campaigns, { name: campaign ?? undefined, mode, now });
      if (!named.pass) return named;
    }
    if (mode === 'SPONSORED') {
      const called = decideCalls(allowList, calls, op);
      if (!called.pass) return called;
    }
    for (const decide of ['decide', 'late'] as const)
      for (const kind of decisionsIn(mode)) {
        if (kind.applies?.(rules, mode) === false) continue;
        const verdict = decide === 'decide' ? kind.decide(rules, facts) : kind.late?.decide(rules, facts);
        if (verdict?.pass === false) return verdict;
      }
    return pass;
  }

  /** As the usage store decides about limits: of one operation the highest of its promises counts. */
  #reserve(record: PastDecision, rules: ProposedRules, now: EpochMs, isBound: boolean): Verdict {
    const { sender, entryPoint, nonce, reservation } = record;
    const operation = `${entryPoint}/${sender}/${nonce}`;
    const known = this.#live.get(operation);
    const shares = listPolicyShares(rules, record.mode ?? 'SPONSORED', {
      sender,
      cost: toOperationCost(record),
      now,
    });
    const taken = shares.map((share) => {
      const of = this.#counter(share.counter, share.unit);
      const held = known?.held.find((one) => one.of === of);
      return { share, of, held, before: held?.amount ?? 0, amount: Math.max(held?.amount ?? 0, share.cost) };
    });
    for (const { share, of, before, amount } of taken) {
      const others = of.used + of.reserved - before;
      if (!isBound || !share.enforce || others + amount <= share.threshold) continue;
      const { policy } = share;
      const subject = policy.perSender ? sender : '';
      return { ...limitReached(share, { ...policy, subject }, others), policyId: policy.policyId };
    }
    const promised = known ?? { operation, held: [], spent: undefined };
    for (const { share, of, held, before, amount } of taken) {
      of.reserved += amount - before;
      if (held === undefined) promised.held.push({ of, unit: share.unit, rate: share.rate, amount });
      else held.amount = amount;
    }
    this.#live.set(operation, promised);
    if (reservation !== null) this.#recorded.set(reservation, promised);
    return pass;
  }

  /** What was signed before the period, and what cannot be judged, counts as it was. */
  #counted(record: PastDecision, rules: ProposedRules, now: EpochMs): void {
    try {
      this.#reserve(record, rules, now, false);
    } catch (error) {
      if (!isDomainError(error, 'UNAVAILABLE')) throw error;
    }
  }

  #end({ reservation, outcome, cost }: PastEnding): void {
    const promised = reservation === null ? undefined : this.#recorded.get(reservation);
    if (promised === undefined || reservation === null) return;
    for (const [index, { of, amount }] of promised.held.entries())
      if (promised.spent === undefined) of.reserved -= amount;
      else of.used -= promised.spent[index] ?? 0;
    if (outcome === null) {
      for (const { of, amount } of promised.held) of.reserved += amount;
      promised.spent = undefined;
      return;
    }
    const gwei = gweiCeil(BigInt(cost ?? 0));
    promised.spent = promised.held.map(({ unit, rate, amount }) =>
      outcome === 'mined' ? unitRow(unit).spent({ cost: amount, ...given({ rate }) }, gwei) : 0,
    );
    for (const [index, { of }] of promised.held.entries()) of.used += promised.spent[index] ?? 0;
    if (this.#live.get(promised.operation) === promised) this.#live.delete(promised.operation);
    const place = this.#endings++ % maxEnded;
    const oldest = this.#ended[place];
    if (oldest !== undefined && oldest !== reservation) this.#recorded.delete(oldest);
    this.#ended[place] = reservation;
  }

  #counter(name: string, unit: Unit): Counter {
    const key = `${unit}/${name}`;
    let counter = this.#counters.get(key);
    if (counter === undefined) this.#counters.set(key, (counter = { used: 0, reserved: 0 }));
    return counter;
  }
}

const shadow = { note: () => {} };

function toOperationCost({ maxCost, usdPerNative }: PastDecision): OperationCost {
  return {
    wei: BigInt(maxCost ?? 0),
    usdPerNative: usdPerNative === null ? undefined : BigInt(usdPerNative),
  };
}

const noData = { start: 0, end: 0 };

function toDecodedCalls({ calls, callsLeftOut }: PastDecision): DecodedCalls {
  if (callsLeftOut === null)
    return { outcome: 'refused', reason: 'CALLDATA_UNDECODABLE', detail: 'its calls could not be read' };
  const named = (JSON.parse(calls) as readonly DecidedCall[]).map(({ target, selector }) => ({
    target,
    selector,
    value: 0n,
    data: noData,
  }));
  return { outcome: 'calls', calls: named, signature: '' };
}

/** Decisions by reason and day, and the first of each reason. */
class Groups {
  #count = 0;
  readonly #groups = new Map<string, { reason: string; day: EpochMs; count: number }>();
  readonly #examples: Record<string, Example[]> = {};

  add({ id, sender }: PastDecision, now: EpochMs, reason: string, refusal?: Refusal): void {
    this.#count += 1;
    const day = (now - (now % dayMs)) as EpochMs;
    const group = this.#groups.get(`${day} ${reason}`) ?? { reason, day, count: 0 };
    group.count += 1;
    this.#groups.set(`${day} ${reason}`, group);
    const examples = (this.#examples[reason] ??= []);
    const { detail = '', policyId } = refusal ?? {};
    if (examples.length < maxExamples) examples.push({ decision: id, sender, detail, policyId });
  }

  found(): Found {
    return { count: this.#count, groups: [...this.#groups.values()], examples: this.#examples };
  }
}
