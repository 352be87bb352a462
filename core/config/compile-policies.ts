import { quote } from '../errors.js';
import { given } from '../units/given.js';
import type { InParts } from '../units/in-parts.js';
import { findCondition, finding, type Finding } from '../meta/conditions.js';
import { findPolicyData, findPolicyKind, readParts, type ConfigOfPolicy } from '../policy/derived.js';
import type { CompiledOfKind, MethodsNamed, PolicyRules, RecordedCycle } from '../policy/kind.js';
import type { PaymasterPolicy } from '../resources/paymaster-policy.js';
import type { EpochMs } from '../units/time.js';
import type { ChainConfig } from './chain-config.js';
import { derivePolicyId } from './ids.js';
import { knownCycles, knownKeys, lastingCycle, type RememberedCycle } from './memory.js';
import type { PaymasterConfig } from './paymaster-config.js';
import { quotaExceeded, type Quota } from './platform.js';
import { compareAge, conflicts, rank, tooManyItems, tooManyPolicies } from './ranking.js';
import type { Tenant } from './tenant.js';

/** What is served for one policy. `invalid`: it is active and was never accepted, so every request is refused. */
type ServedPolicy = ConfigOfPolicy | 'invalid';

export type CompiledPolicy = Omit<CompiledOfKind<unknown>, 'config'> & {
  readonly object: PaymasterPolicy;
  readonly policyId: string;
  readonly accepted: Finding;
  /** Absent when the policy is paused. */
  readonly served?: ServedPolicy;
};

type PolicyMemory = {
  readonly known: ReadonlyMap<string, RememberedCycle>;
  /** Key generations, by policyId. */
  readonly keys: ReadonlyMap<string, number>;
};

type Context = MethodsNamed & {
  readonly previous: PaymasterConfig | undefined;
  readonly quota: Quota | undefined;
  readonly rules: PolicyRules;
  /** Undefined: the Paymaster names none that is served, and is not ready. */
  readonly chain: Pick<ChainConfig, 'nativePrice'> | undefined;
  readonly now: EpochMs;
  readonly tenant: Tenant;
};

/**
 * Compiles the policies of one paymaster, oldest first. Fails closed: an active policy that is not accepted keeps its
 * last compiled form; if it has none, it refuses every request.
 *
 * `served`: it judges as its spec says. `lasting`: it judges as it did when it was last accepted. `refusing`: every request is refused.
 * `left out`, `paused`: it judges nothing.
 *
 *     absent, lasting, refusing, left out, paused ── accepted ──────► served
 *     served                                      ── not accepted ──► lasting
 *     absent, left out, paused                    ── not accepted ──► refusing
 *     absent, refusing, paused                    ── too many ──────► left out
 *     absent, served, lasting, refusing, left out ── paused ────────► paused
 *     served, lasting, refusing, left out, paused ── deleted ───────► absent
 *
 * `deactivatePolicy` and `activatePolicy` (server/dashboard/policies.ts) pause and resume, as `active` in a manifest does. A policy
 * in Shadow refuses nothing in any state: it is not served where it would be `refusing`. `memory.ts` keeps the cycle of a limit that
 * is `paused` or `absent`.
 */
export function* compilePolicies(
  policies: readonly PaymasterPolicy[],
  outer: Context,
): InParts<readonly CompiledPolicy[]> {
  const context = { ...outer, known: knownCycles(outer.previous), keys: knownKeys(outer.previous) };
  const tooMany = findTooMany(policies, context);
  const counting = policies.filter((policy) => !tooMany.has(policy));
  const ranked = rank(counting, (policy) => isServed(policy, context));
  const sameName = conflicts(ranked, (policy) => policy.spec.name);
  const overQuota = new Set(context.quota === undefined ? [] : ranked.slice(context.quota.count));
  const full = tooFull(ranked);
  const compileOne = (object: PaymasterPolicy): CompiledPolicy => {
    if (tooMany.has(object)) return leftOut(object, context);
    const holder = sameName.get(object);
    if (holder !== undefined) return keepLast(object, nameConflict(object, holder), context);
    if (context.quota !== undefined && overQuota.has(object))
      return keepLast(object, quotaExceeded(context.quota, 'policies per paymaster'), context);
    if (full.has(object))
      return keepLast(object, finding('Accepted', 'TooMany', tooManyItems(object.spec.policyType)), context);
    const problem = findProblem(object, { ...context.rules, methods: context.methods });
    if (problem !== undefined) return keepLast(object, finding('Accepted', 'Invalid', problem), context);
    const lacking = findLack(object, context.chain);
    if (lacking !== undefined)
      return keepLast(object, finding('Accepted', 'NoNativePrice', lacking), context);
    return compilePolicy(object, context);
  };
  const compiled: CompiledPolicy[] = [];
  for (const object of [...policies].sort(compareAge)) {
    yield;
    compiled.push(compileOne(object));
  }
  return compiled;
}

/**
 * Active policies beyond the number that counts. Those in force come first, then the oldest: one that is added or resumed
 * waits, so that it puts no other out of force.
 */
function findTooMany(policies: readonly PaymasterPolicy[], context: Context): ReadonlySet<PaymasterPolicy> {
  const active = policies.filter(({ spec }) => spec.active !== false);
  const byType = Map.groupBy(active, ({ spec }) => spec.policyType);
  return new Set(
    [...byType].flatMap(([type, ofType]) => {
      // Only a store that checks nothing can hold an unknown type; it is reported as such.
      const most = findPolicyKind(type)?.most.count ?? Number.POSITIVE_INFINITY;
      if (ofType.length <= most) return [];
      return rank(ofType, (policy) => lastServed(policy, context) !== undefined).slice(most);
    }),
  );
}

/** Active policies that hold more than those before them leave room for. */
function tooFull(ranked: readonly PaymasterPolicy[]): ReadonlySet<PaymasterPolicy> {
  const held = new Map<string, number>();
  return new Set(
    ranked.filter(({ spec }) => {
      const kind = findPolicyKind(spec.policyType);
      const data = kind && findPolicyData(spec, kind);
      if (kind?.most.items === undefined || data === undefined || spec.active === false) return false;
      const before = held.get(spec.policyType) ?? 0;
      const after = before + kind.most.items.of(data);
      if (after > kind.most.items.count) return true;
      held.set(spec.policyType, after);
      return false;
    }),
  );
}

/** A policy beyond the allowed number: it refuses nothing, and keeps its recorded cycle in case it counts later. */
function leftOut(object: PaymasterPolicy, context: Context & PolicyMemory): CompiledPolicy {
  const accepted = finding('Accepted', 'TooMany', tooManyPolicies(object.spec.policyType));
  const policyId = readPolicyId(object, context.tenant);
  const cycle = object.status?.cycle ?? findLastingCycle(object, policyId, context);
  return {
    object,
    policyId,
    accepted,
    ...(cycle === undefined ? {} : { cycle }),
  };
}

function compilePolicy(object: PaymasterPolicy, context: Context & PolicyMemory): CompiledPolicy {
  const { name, policyType } = object.spec;
  const kind = findPolicyKind(policyType);
  const spec = kind && findPolicyData(object.spec, kind);
  if (kind === undefined || spec === undefined)
    throw new RangeError(`policy ${object.metadata.name} was compiled although it is not valid`);
  const policyId = readPolicyId(object, context.tenant);
  const active = object.spec.active !== false;
  const { config, ...recorded } = kind.compile(
    { policyId, name, spec, cycle: object.status?.cycle },
    {
      now: context.now,
      methods: context.methods,
      served:
        context.previous && kind.config.read(context.previous, { policyId, name, wasProgrammed: false }),
      lastingCycle: findLastingCycle(object, policyId, context),
      keyGeneration: context.keys.get(policyId) ?? 1,
    },
  );
  return {
    object,
    policyId,
    accepted: finding('Accepted', 'Accepted'),
    ...recorded,
    ...(active
      ? {
          served: enforcedAs(object, {
            policyType,
            config: { ...config, ...given({ campaign: object.spec.campaign }) },
          }),
        }
      : {}),
  };
}

/**
 * The cycle of a limit that was deleted and made again with this name. It counts only until the object has its own
 * cycle or is changed: every update restarts a cycle, as it does for a limit that was never deleted.
 */
function findLastingCycle(
  object: PaymasterPolicy,
  policyId: string,
  { known, now }: Context & PolicyMemory,
): RecordedCycle | undefined {
  if (object.status?.cycle !== undefined) return undefined;
  return lastingCycle(known, policyId, { now, isChanged: object.metadata.generation !== 1 });
}

/** The last compiled form of a policy that is not accepted now; its recorded cycle stays as well. */
function keepLast(
  object: PaymasterPolicy,
  accepted: Finding,
  context: Context & PolicyMemory,
): CompiledPolicy {
  const policyId = readPolicyId(object, context.tenant);
  const cycle = object.status?.cycle ?? findLastingCycle(object, policyId, context);
  const base = { object, policyId, accepted, ...(cycle === undefined ? {} : { cycle }) };
  if (object.spec.active === false) return base;
  const last = lastServed(object, context);
  if (last !== undefined && last !== 'invalid') return { ...base, served: enforcedAs(object, last) };
  // In Shadow it refuses nothing, whatever it is.
  return object.spec.enforcement === 'Shadow' ? base : { ...base, served: 'invalid' };
}

/** `enforcement` is always that of the current spec, also for a policy that is served in its last valid form. */
function enforcedAs({ spec }: PaymasterPolicy, { policyType, config }: ConfigOfPolicy): ConfigOfPolicy {
  const { shadow: _, ...enforced } = config;
  return { policyType, config: spec.enforcement === 'Shadow' ? { ...enforced, shadow: true } : enforced };
}

function lastServed({ spec, status, metadata }: PaymasterPolicy, context: Context): ServedPolicy | undefined {
  const { previous, tenant } = context;
  const identity = { policyId: derivePolicyId(tenant, metadata.name), name: spec.name };
  const wasProgrammed = findCondition(status?.conditions, 'Programmed')?.status === 'True';
  return previous && readParts(previous, identity, wasProgrammed ? spec.policyType : undefined);
}

function isServed({ spec, status, metadata }: PaymasterPolicy, { previous, tenant }: Context): boolean {
  const identity = { policyId: derivePolicyId(tenant, metadata.name), name: spec.name };
  if (previous && readParts(previous, identity)?.config.name === spec.name) return true;
  const programmed = findCondition(status?.conditions, 'Programmed');
  return programmed?.status === 'True' && programmed.observedGeneration === metadata.generation;
}

/** What is wrong with a spec, as a sentence. Schemas refuse most mistakes earlier, but not in every store. */
function findProblem({ spec }: PaymasterPolicy, rules: PolicyRules & MethodsNamed): string | undefined {
  const kind = findPolicyKind(spec.policyType);
  if (kind === undefined)
    return `spec.policyType must be a known policy type, got ${quote(spec.policyType)}.`;
  const data = findPolicyData(spec, kind);
  if (data === undefined) return `spec.${kind.member} must be present for policyType ${spec.policyType}.`;
  return kind.problem?.(data, rules);
}

function findLack({ spec }: PaymasterPolicy, chain: Context['chain']): string | undefined {
  const kind = findPolicyKind(spec.policyType);
  const data = kind && findPolicyData(spec, kind);
  return chain && data && kind.lacks?.(data, chain);
}

function nameConflict(object: PaymasterPolicy, holder: PaymasterPolicy): Finding {
  const message = `PaymasterPolicy ${holder.metadata.name} has the name "${object.spec.name}": rename or delete one.`;
  return finding('Accepted', 'NameConflict', message);
}

function readPolicyId({ metadata }: PaymasterPolicy, tenant: Tenant): string {
  return derivePolicyId(tenant, metadata.name);
}
