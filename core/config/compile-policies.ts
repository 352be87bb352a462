import { findCondition, finding } from '../resources/conditions.js';
import type { Finding } from '../resources/conditions.js';
import type {
  CycleStatus,
  PaymasterPolicy,
  SpendingLimitSpec,
  WebhookSpec,
} from '../resources/paymaster-policy.js';
import { judgeWebhookUrl } from '../policy/webhook/webhook-url.js';
import type { WebhookUrlRules } from '../policy/webhook/webhook-url.js';
import type { EpochMs } from '../units/time.js';
import { cycleUnits, maxCycleValue, parseInstant } from '../units/time.js';
import { parseDecimal, parseEther } from '../units/wei.js';
import { formatProblem, quote, unreachable } from '../errors.js';
import { decideCycle } from './cycle.js';
import { policyIdOf } from './ids.js';
import { keyGenerationOf, knownCycles, knownKeys, lastingCycle } from './memory.js';
import type { RememberedCycle } from './memory.js';
import type { Quota } from './platform.js';
import type { LimitConfig, PaymasterConfig, WebhookConfig } from './paymaster-config.js';
import { compareAge, conflicts, rank } from './ranking.js';
import type { Tenant } from './tenant.js';
import { maxPolicies, tooManyPolicies, youngerThan } from './too-many.js';

/** What is served of one policy. `invalid`: it is active and was never accepted, so every request is refused. */
export type ServedPolicy =
  | { readonly kind: 'limit'; readonly limit: LimitConfig }
  | { readonly kind: 'webhook'; readonly webhook: WebhookConfig }
  | { readonly kind: 'wallet-deployment' }
  | { readonly kind: 'invalid' };

export type CompiledPolicy = {
  readonly object: PaymasterPolicy;
  readonly policyId: string;
  readonly accepted: Finding;
  /** Of webhooks that are valid: the generation of the signing key in force. */
  readonly keyGeneration?: number;
  /** Of limits: the cycle to be recorded in the status. */
  readonly cycle?: CycleStatus;
  /** Absent when it is paused. */
  readonly served?: ServedPolicy;
};

type Known = {
  readonly known: ReadonlyMap<string, RememberedCycle>;
  /** Key generations of webhooks, by policyId. */
  readonly keys: ReadonlyMap<string, number>;
};

type Context = {
  readonly previous: PaymasterConfig | undefined;
  readonly quota: Quota | undefined;
  readonly webhookRules: WebhookUrlRules;
  readonly now: EpochMs;
  readonly tenant: Tenant;
};

/**
 * Compiles the policies of one paymaster, oldest first. Fails closed: an active policy that is not accepted keeps its
 * last compiled form, and without one refuses every request.
 */
export function compilePolicies(
  policies: readonly PaymasterPolicy[],
  outer: Context,
): readonly CompiledPolicy[] {
  const context = { ...outer, known: knownCycles(outer.previous), keys: knownKeys(outer.previous) };
  const tooMany = tooManyOf(policies);
  const counting = policies.filter((policy) => !tooMany.has(policy));
  const ranked = rank(counting, (policy) => isServed(policy, context));
  const sameName = conflicts(ranked, (policy) => policy.spec.name);
  const overQuota = new Set(context.quota === undefined ? [] : ranked.slice(context.quota.count));
  return [...policies].sort(compareAge).map((object) => {
    if (tooMany.has(object)) return leftOut(object, context);
    const holder = sameName.get(object);
    if (holder !== undefined) return keepLast(object, nameConflict(object, holder), context);
    if (context.quota !== undefined && overQuota.has(object))
      return keepLast(object, quotaExceeded(context.quota), context);
    const problem = problemOf(object, context.webhookRules);
    if (problem !== undefined) return keepLast(object, finding('Accepted', 'Invalid', problem), context);
    return compilePolicy(object, context);
  });
}

function tooManyOf(policies: readonly PaymasterPolicy[]): ReadonlySet<PaymasterPolicy> {
  const byType = Map.groupBy(policies, ({ spec }) => spec.policyType);
  return new Set(
    [...byType].flatMap(([type, ofType]) => {
      // Only a store that checks nothing holds another type; it is reported as such.
      const most = Object.hasOwn(maxPolicies, type) ? maxPolicies[type].count : Number.POSITIVE_INFINITY;
      return [...youngerThan(ofType, most)];
    }),
  );
}

/** One that does not count: it refuses nothing, and its recorded cycle stays for the time when it does. */
function leftOut(object: PaymasterPolicy, context: Context & Known): CompiledPolicy {
  const accepted = finding('Accepted', 'TooMany', tooManyPolicies(object.spec.policyType));
  const cycle = object.status?.cycle ?? lastingOf(object, context);
  return {
    object,
    policyId: idOf(object, context.tenant),
    accepted,
    ...(cycle === undefined ? {} : { cycle }),
  };
}

function compilePolicy(object: PaymasterPolicy, context: Context & Known): CompiledPolicy {
  const { previous, now, tenant } = context;
  const { name, active, policyType, spendingLimit, webhook } = object.spec;
  const policyId = idOf(object, tenant);
  const accepted = finding('Accepted', 'Accepted');
  const base = { object, policyId, accepted };
  switch (policyType) {
    case 'PAYMASTER_SA_LIMIT': {
      if (spendingLimit === undefined) break;
      const served = previous?.limits.find((limit) => limit.policyId === policyId);
      const cycle = decideCycle(spendingLimit, object.status?.cycle, served, now, lastingOf(object, context));
      if (active === false) return { ...base, cycle };
      return { ...base, cycle, served: { kind: 'limit', limit: limitOf(policyId, name, cycle, now) } };
    }
    case 'WEBHOOK': {
      if (webhook === undefined) break;
      const keyGeneration = keyGenerationOf(webhook, { keyGeneration: context.keys.get(policyId) ?? 1 });
      if (active === false) return { ...base, keyGeneration };
      const served = { kind: 'webhook', webhook: webhookOf(policyId, name, webhook, keyGeneration) } as const;
      return { ...base, keyGeneration, served };
    }
    case 'WALLET_DEPLOYMENT':
      return active === false ? base : { ...base, served: { kind: 'wallet-deployment' } };
    default:
      return unreachable(policyType);
  }
  throw new RangeError(`policy ${object.metadata.name} was compiled although it is not valid`);
}

/**
 * The cycle of a limit that was deleted and made again under this name. Only until the object has a cycle of its own or
 * is changed, since every update restarts a cycle, as it does for a limit that was never deleted.
 */
function lastingOf(
  object: PaymasterPolicy,
  { known, now, tenant }: Context & Known,
): CycleStatus | undefined {
  const isNew = object.status?.cycle === undefined && object.metadata.generation === 1;
  return isNew ? lastingCycle(known, idOf(object, tenant), now) : undefined;
}

function limitOf(policyId: string, name: string, cycle: CycleStatus, now: EpochMs): LimitConfig {
  return {
    policyId,
    name,
    scope: cycle.scope,
    thresholdType: cycle.thresholdType,
    threshold: cycle.threshold,
    // Only a status that somebody else wrote could hold no time; then the cycle that is recorded starts now.
    startMs: parseInstant(cycle.startTime) ?? now,
    durationMs: cycle.durationMs,
  };
}

function webhookOf(
  policyId: string,
  name: string,
  webhook: WebhookSpec,
  keyGeneration: number,
): WebhookConfig {
  // The overlap was granted for the generation that the spec names, and for no later one.
  const isOwn = keyGeneration === webhook.keyGeneration;
  const previousKeyUntil = isOwn ? parseInstant(webhook.previousKeyUntil ?? '') : undefined;
  return {
    policyId,
    name,
    url: webhook.url,
    method: webhook.method ?? 'POST',
    onError: webhook.onError ?? 'Deny',
    ...(webhook.timeoutSeconds === undefined ? {} : { timeoutMs: Math.round(webhook.timeoutSeconds * 1000) }),
    ...(keyGeneration === 1 ? {} : { keyGeneration }),
    ...(keyGeneration === 1 || previousKeyUntil === undefined ? {} : { previousKeyUntil }),
  };
}

/** The last compiled form of a policy that is not accepted now; its recorded cycle stays too. */
function keepLast(object: PaymasterPolicy, accepted: Finding, context: Context & Known): CompiledPolicy {
  const policyId = idOf(object, context.tenant);
  const cycle = object.status?.cycle ?? lastingOf(object, context);
  const base = { object, policyId, accepted, ...(cycle === undefined ? {} : { cycle }) };
  if (object.spec.active === false) return base;
  return { ...base, served: lastServed(object, context) ?? { kind: 'invalid' } };
}

function lastServed(object: PaymasterPolicy, { previous, tenant }: Context): ServedPolicy | undefined {
  const policyId = idOf(object, tenant);
  const limit = previous?.limits.find((served) => served.policyId === policyId);
  if (limit !== undefined) return { kind: 'limit', limit };
  const webhook = previous?.webhooks.find((served) => served.policyId === policyId);
  if (webhook !== undefined) return { kind: 'webhook', webhook };
  // A deployment permission has no entry of its own; that it was served stands in its status.
  const wasServed = findCondition(object.status?.conditions, 'Programmed')?.status === 'True';
  const isPermission = object.spec.policyType === 'WALLET_DEPLOYMENT';
  return isPermission && wasServed && previous?.walletDeployment ? { kind: 'wallet-deployment' } : undefined;
}

function isServed(policy: PaymasterPolicy, { previous, tenant }: Context): boolean {
  const policyId = idOf(policy, tenant);
  const isSame = (served: { readonly policyId: string; readonly name: string }): boolean =>
    served.policyId === policyId && served.name === policy.spec.name;
  if (previous?.limits.some(isSame) || previous?.webhooks.some(isSame)) return true;
  const programmed = findCondition(policy.status?.conditions, 'Programmed');
  return programmed?.status === 'True' && programmed.observedGeneration === policy.metadata.generation;
}

/** What is wrong with a spec, as a sentence; schemas refuse most of it before, but not in every store. */
function problemOf({ spec }: PaymasterPolicy, rules: WebhookUrlRules): string | undefined {
  switch (spec.policyType) {
    case 'PAYMASTER_SA_LIMIT':
      return spec.spendingLimit === undefined
        ? missing(spec, 'spendingLimit')
        : limitProblem(spec.spendingLimit);
    case 'WEBHOOK':
      return spec.webhook === undefined ? missing(spec, 'webhook') : webhookProblem(spec.webhook, rules);
    case 'WALLET_DEPLOYMENT':
      return spec.walletDeployment === undefined ? missing(spec, 'walletDeployment') : undefined;
    default:
      return `spec.policyType must be a known policy type, got ${quote(spec.policyType)}.`;
  }
}

function limitProblem(limit: SpendingLimitSpec): string | undefined {
  const { value, unit } = limit.cycleDuration;
  if (!Object.hasOwn(cycleUnits, unit))
    return `spec.spendingLimit.cycleDuration.unit must be "hour" or "day", got ${quote(unit)}.`;
  if (!Number.isInteger(value) || value < 1 || value > maxCycleValue[unit])
    return `spec.spendingLimit.cycleDuration.value must be a whole number from 1 to ${maxCycleValue[unit]}, got ${quote(value)}.`;
  if (limit.startTime !== undefined && parseInstant(limit.startTime) === undefined)
    return `spec.spendingLimit.startTime must be an RFC 3339 time, got ${quote(limit.startTime)}.`;
  try {
    if (limit.thresholdType === 'NATIVE_ASSET') parseEther(limit.threshold);
    else parseDecimal(limit.threshold, 0);
    return undefined;
  } catch {
    const expected =
      limit.thresholdType === 'NATIVE_ASSET' ? 'decimal text with at most 18 decimals' : 'a whole number';
    return `spec.spendingLimit.threshold must be ${expected}, got ${quote(limit.threshold)}.`;
  }
}

/** Judged by its text only; its addresses are judged when it is called. */
function webhookProblem({ url }: WebhookSpec, rules: WebhookUrlRules): string | undefined {
  const problem = judgeWebhookUrl(url, rules, 'spec.webhook.url');
  return problem && `${formatProblem(problem)}.`;
}

function missing({ policyType }: PaymasterPolicy['spec'], member: string): string {
  return `spec.${member} must be present for policyType ${policyType}.`;
}

function nameConflict(object: PaymasterPolicy, holder: PaymasterPolicy): Finding {
  const message = `PaymasterPolicy ${holder.metadata.name} has the name "${object.spec.name}": rename or delete one.`;
  return finding('Accepted', 'NameConflict', message);
}

function quotaExceeded({ count, where }: Quota): Finding {
  return finding(
    'Accepted',
    'QuotaExceeded',
    `Only ${count} policies per paymaster are allowed by ${where}: delete one, or ask the platform for more.`,
  );
}

function idOf({ metadata }: PaymasterPolicy, tenant: Tenant): string {
  return policyIdOf(tenant, metadata.name);
}
