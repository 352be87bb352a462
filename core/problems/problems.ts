import { listBudgets } from '../config/budgets.js';
import type { UsageRow } from '../ledger/query.js';
import { conditionReasons, type ReasonText } from '../meta/condition-reasons.js';
import { conditionRemedy } from '../meta/condition-remedies.js';
import { findCondition } from '../meta/conditions.js';
import type { Condition } from '../meta/meta.js';
import { findPolicyData, findPolicyKind } from '../policy/derived.js';
import { contractsInShadow } from '../policy/shadow.js';
import type { Chain } from '../resources/chain.js';
import { kindNames, type AnyResource, type Kind } from '../resources/kinds.js';
import type { Organisation } from '../resources/organisation.js';
import type { PaymasterPolicy } from '../resources/paymaster-policy.js';
import type { Paymaster } from '../resources/paymaster.js';
import { parseInstant, type EpochMs } from '../units/time.js';
import { remedyOfCheck, severities, type Check, type Severity } from './check.js';
import { checkIds, checks, runbookLink, type CheckId } from './checks.js';

/** One thing that is wrong with one object, with a process, or with all of it. */
export type Problem = {
  readonly check: CheckId;
  readonly severity: Severity;
  readonly kind: Kind | 'Process' | 'Installation';
  readonly namespace?: string;
  readonly name: string;
  /** As its owner calls it. */
  readonly displayName: string;
  readonly condition?: string;
  readonly reason?: string;
  /** What the check, or the reason of the condition, means. */
  readonly meaning: string;
  readonly remedy: string;
  /** What is seen. */
  readonly message: string;
  /** RFC 3339; absent where nobody wrote it down. */
  readonly since?: string;
  /** False: the object was changed since, and not looked at again. */
  readonly isCurrent: boolean;
  readonly runbook: string;
};

/** What is known besides the object. */
export type Around = {
  readonly now: EpochMs;
  readonly limited: Limited;
  /**
   * For an organisation: the versions that it uses of each chain. It is shown these parts of the platform's objects alone, and never a
   * message about them, which may name a node, a file or another organisation. Absent: for the platform.
   */
  readonly uses?: ReadonlyMap<number, ReadonlySet<string>>;
};

const firstLookMs = 60_000;
const byId: Readonly<Record<CheckId, Check>> = checks;
const checkByCondition = new Map(
  checkIds.flatMap((id) => (byId[id].conditions ?? []).map((shown) => [shown as string, id] as const)),
);
const reasons: Readonly<Record<string, Readonly<Record<string, ReasonText>>>> = conditionReasons;

/** The check to which a condition with this reason belongs; undefined: nothing is wrong, or others say what. */
export function checkOfCondition(type: string, reason: string): CheckId | undefined {
  return checkByCondition.get(`${type}/${reason}`);
}

/** What the status of an object, and a paymaster's policies, say. */
export function listProblems(object: AnyResource, around: Around): readonly Problem[] {
  if (object.kind === 'DashboardToken') return [];
  return [
    ...unseen(object, around),
    ...[
      ...(object.status?.conditions ?? []).map((condition) => ({ condition, part: '' })),
      ...(object.kind === 'Chain' ? profileConditions(object, around) : []),
    ].flatMap(({ condition, part }) => fromCondition(object, condition, part, around)),
    ...(object.kind === 'Paymaster' ? withoutLimit(object, around) : []),
  ];
}

/** The gravest first, then the oldest. */
export function inOrder(problems: readonly Problem[]): readonly Problem[] {
  const severityRank = ({ severity }: Problem): number => severities.indexOf(severity);
  return problems.toSorted(
    (a, b) =>
      severityRank(a) - severityRank(b) ||
      (a.since ?? '').localeCompare(b.since ?? '') ||
      a.name.localeCompare(b.name),
  );
}

/** True when somebody has to do something: a note may be meant so. */
export function isFinding({ severity }: Pick<Problem, 'severity'>): boolean {
  return severity !== 'note';
}

/** A problem of a check without a condition. */
export function problem(
  check: CheckId,
  of: Pick<Problem, 'kind' | 'name' | 'displayName' | 'namespace'>,
  message: string = checks[check].what,
): Problem {
  const { severity, what } = checks[check];
  return {
    check,
    severity,
    ...of,
    meaning: what,
    remedy: remedyOfCheck(checks[check]),
    message,
    isCurrent: true,
    runbook: runbookLink(check),
  };
}

/** What a failing check of `/readyz` of a process says. */
export function readinessProblem(
  process: string,
  { name, reason, action }: { readonly name: string; readonly reason: string; readonly action: string },
): Problem {
  const check = checkIds.find((id) => byId[id].readiness?.includes(name)) ?? 'replica-not-ready';
  const of = { kind: 'Process', name: process, displayName: process } as const;
  return { ...problem(check, of, `${name}: ${reason}`), remedy: action };
}

/** What all objects of an installation say, for the platform. */
export function problemsAmong(objects: readonly AnyResource[], now: EpochMs): readonly Problem[] {
  const limited = createLimited();
  for (const object of objects)
    if (object.kind === 'PaymasterPolicy' || object.kind === 'Organisation') limited.add(object);
  return objects.flatMap((object) => listProblems(object, { now, limited }));
}

/** An installation without an Organisation has no object that could say so. */
export function withoutOrganisation(objects: readonly AnyResource[]): readonly Problem[] {
  if (objects.some(({ kind }) => kind === 'Organisation')) return [];
  const of = { kind: 'Installation', name: 'organisations', displayName: 'organisations' } as const;
  return [
    problem('no-organisation', of, 'There is no Organisation: nobody has a token, and nothing is served.'),
  ];
}

function profileConditions({ spec, status }: Chain, { uses }: Around) {
  const used = uses?.get(spec.chainId);
  return (status?.profiles ?? [])
    .filter(({ version }) => uses === undefined || used?.has(version))
    .flatMap(({ version, conditions }) =>
      conditions.map((condition) => ({ condition, part: `version ${version}` })),
    );
}

function fromCondition(
  object: ReconciledObject,
  { type, reason, message, lastTransitionTime, observedGeneration }: Condition,
  part: string,
  { uses }: Around,
): readonly Problem[] {
  const check = checkOfCondition(type, reason);
  if (check === undefined) return [];
  const { severity, what, isOfPlatform }: Check = checks[check];
  const meaning = reasons[type]?.[reason]?.text ?? what;
  const toDo = conditionRemedy(`${type}/${reason}`) ?? remedyOfCheck(checks[check]);
  const isForeign = uses !== undefined && kindNames[object.kind].scope === 'Cluster';
  if (isForeign && isOfPlatform) return [];
  return [
    {
      check,
      severity,
      ...nameObject(object, part),
      condition: type,
      reason,
      meaning,
      remedy: isForeign ? `For the platform: ${toDo}` : toDo,
      message: isForeign ? meaning : message,
      since: lastTransitionTime,
      isCurrent: observedGeneration === object.metadata.generation,
      runbook: runbookLink(check),
    },
  ];
}

type ReconciledObject = Exclude<AnyResource, { readonly kind: 'DashboardToken' }>;

function nameObject({ kind, metadata, spec }: ReconciledObject, part = '') {
  const { namespace, name } = metadata;
  const called = 'name' in spec ? spec.name : name;
  return {
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    displayName: part === '' ? called : `${called}, ${part}`,
  };
}

function unseen(object: ReconciledObject, { now }: Around): readonly Problem[] {
  const { metadata, status } = object;
  if (status?.conditions === undefined || status.conditions.length === 0) {
    const isNew = now - (parseInstant(metadata.creationTimestamp) ?? 0) < firstLookMs;
    return [problem(isNew ? 'not-seen-yet' : 'operator-away', nameObject(object))];
  }
  const isSeen = status.conditions.some(
    ({ observedGeneration }) => observedGeneration === metadata.generation,
  );
  return isSeen ? [] : [problem('not-seen-yet', nameObject(object))];
}

function withoutLimit(paymaster: Paymaster, { limited }: Around): readonly Problem[] {
  const { spec, status } = paymaster;
  if (spec.suspended === true || limited.has(paymaster)) return [];
  // Then nothing is sponsored.
  if (findCondition(status?.conditions, 'OpenSponsorship')?.reason === 'Denied') return [];
  return [problem('no-limit', nameObject(paymaster))];
}

/** Which paymasters have an active limit, or a budget of their organisation, that counts for each of their operations. */
export type Limited = ReturnType<typeof createLimited>;

export function createLimited() {
  /** By paymaster: whether each of its campaigns has a limit; '' stands for every operation. */
  const known = new Map<string, Map<string, boolean>>();
  /** Namespace and chain of each budget. */
  const budgets = new Set<string>();

  function addPolicy({ metadata, spec }: PaymasterPolicy): void {
    const { active, enforcement, policyType, campaign = '' } = spec;
    if (active === false) return;
    const key = `${metadata.namespace}/${spec.paymasterRef.name}`;
    const campaigns = known.get(key) ?? new Map<string, boolean>();
    known.set(key, campaigns);
    const kind = findPolicyKind(policyType);
    const data = kind && findPolicyData(spec, kind);
    const counts =
      kind?.counts !== undefined &&
      enforcement !== 'Shadow' &&
      (data === undefined || kind.isCounted?.(data) !== false);
    campaigns.set(campaign, counts || campaigns.get(campaign) === true);
  }

  return {
    add(object: PaymasterPolicy | Organisation): void {
      if (object.kind === 'PaymasterPolicy') return addPolicy(object);
      for (const { chain, enforcement } of listBudgets(object))
        if (enforcement !== 'Shadow') budgets.add(`${object.spec.namespace} ${chain}`);
    },
    has({
      metadata: { namespace, name },
      spec: { chainId, withoutCampaign },
    }: Pick<Paymaster, 'metadata' | 'spec'>): boolean {
      if (budgets.has(`${namespace} ${chainId}`)) return true;
      const { '': always = false, ...campaigns } = Object.fromEntries(
        known.get(`${namespace}/${name}`) ?? [],
      );
      const each = Object.values(campaigns);
      return (
        always || (withoutCampaign !== 'Allow' && each.length > 0 && each.every((isLimited) => isLimited))
      );
    },
  };
}

/** Fewer say little. */
const fewest = 10;
/** One of so many is much. */
const oneOf = 10;

/**
 * What a paymaster's policies in Shadow would have refused. `rows`: usage by `wouldRefuse`; `sponsored`: of all operations of the
 * same time; `names`: what its policies are called, by policyId.
 */
export function shadowProblems(
  of: Pick<Problem, 'namespace' | 'name' | 'displayName'>,
  rows: readonly Pick<UsageRow, 'group' | 'sponsored'>[],
  sponsored: number,
  names: ReadonlyMap<string, string>,
): readonly Problem[] {
  const counts = new Map<string, number>();
  for (const { group = '', sponsored: count } of rows) counts.set(group, (counts.get(group) ?? 0) + count);
  return [...counts]
    .filter(([, count]) => count >= fewest && count * oneOf >= sponsored)
    .map(([id, count]) => {
      const who = id === contractsInShadow ? 'The list of contracts' : `"${names.get(id) ?? id}"`;
      const message = `${who} would have refused ${count} of the ${sponsored} operations that were sponsored in the last 24 hours.`;
      return problem('shadow-refuses-much', { kind: 'Paymaster', ...of }, message);
    });
}
