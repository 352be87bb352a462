import type { Budget } from './budget.js';
import { isObject } from '../schema/json-value.js';
import type { CelRule, Infer } from '../schema/structural.js';
import type { Mode } from '../usage/reservation.js';
import type {
  AppliesTo,
  Glance,
  GlanceAt,
  PolicyAsks,
  PolicyDecision,
  PolicyIdentity,
  PolicyKind,
  PolicyShare,
  ShareRequest,
} from './kind.js';
import { policyKinds, type PolicyType } from './kinds.js';

// What follows from the table of kinds, for code that treats all kinds alike. The casts in this file state in one
// place that a value built from the rows has the type built from the types of the rows.

type Kinds = typeof policyKinds;

export const policyTypes = Object.keys(policyKinds) as readonly PolicyType[];

const rows: readonly (readonly [PolicyType, PolicyKind])[] = policyTypes.map((type) => [
  type,
  policyKinds[type],
]);

/** The row of a kind; undefined for a text that is not a `policyType`. */
export function findPolicyKind(type: unknown): PolicyKind | undefined {
  return isPolicyType(type) ? policyKinds[type] : undefined;
}

export function isPolicyType(type: unknown): type is PolicyType {
  return typeof type === 'string' && Object.hasOwn(policyKinds, type);
}

/** Members of a policy's spec; only the one that belongs to its `policyType` is set. */
export type PolicyMembers = { readonly [T in PolicyType as Kinds[T]['member']]?: Infer<Kinds[T]['schema']> };

export const memberSchemas = Object.fromEntries(rows.map(([, { member, schema }]) => [member, schema])) as {
  readonly [T in PolicyType as Kinds[T]['member']]: Kinds[T]['schema'];
};

/** Exactly the member that goes with `policyType` is set. */
export const memberRules: readonly CelRule[] = rows.map(([type, { member }]) => ({
  rule: `(self.policyType == '${type}') == has(self.${member})`,
  message: `must be set when policyType is ${type}, and left out otherwise`,
  fieldPath: `.${member}`,
}));

/** A permission that only judges would permit nothing, and say so to nobody. */
export const shadowRules: readonly CelRule[] = rows.flatMap(([type, { isPermission }]) =>
  isPermission === undefined
    ? []
    : [
        {
          rule: `self.policyType != '${type}' || !has(self.enforcement)`,
          message: `must be left out for policyType ${type}, which is a permission`,
          fieldPath: '.enforcement' as const,
        },
      ],
);

export const policyColumns = rows.flatMap(([, { columns = [] }]) => columns);

/** The data of a policy of any kind; undefined when its member is missing. */
export function findPolicyData(
  spec: PolicyMembers,
  { member }: Pick<PolicyKind, 'member'>,
): object | undefined {
  return new Map<string, object | undefined>(Object.entries(spec)).get(member);
}

/** The spec's member of a kind. */
export function toPolicyMember({ member }: Pick<PolicyKind, 'member'>, data: object): PolicyMembers {
  return { [member]: data };
}

type Intersection<U> = (U extends unknown ? (value: U) => void : never) extends (value: infer I) => void
  ? I
  : never;

/** Members of a compiled config: what is served for policies. */
export type PolicyParts = Intersection<ReturnType<Kinds[PolicyType]['config']['write']>>;

export type ConfigOfPolicy = { readonly policyType: PolicyType; readonly config: PolicyIdentity };

export function writeParts(served: readonly ConfigOfPolicy[]): PolicyParts {
  const parts = rows.map(([type, { config }]) =>
    config.write(served.filter(({ policyType }) => policyType === type).map((policy) => policy.config)),
  );
  return Object.assign({}, ...parts) as PolicyParts;
}

/** What a config serves for one policy. `programmed`: the policy's type, if its status says that it was served. */
export function readParts(
  parts: PolicyParts,
  identity: PolicyIdentity,
  programmed?: PolicyType,
): ConfigOfPolicy | undefined {
  for (const [policyType, kind] of rows) {
    const config = kind.config.read(parts, { ...identity, wasProgrammed: programmed === policyType });
    if (config !== undefined) return { policyType, config };
  }
  return undefined;
}

/** The cycles of all policies in a config. */
export function cyclesIn(parts: PolicyParts): ReturnType<NonNullable<PolicyKind['config']['cycles']>> {
  return rows.flatMap(([, { config }]) => config.cycles?.(parts) ?? []);
}

/** Hashes of the lists of addresses that a config names. */
export function listsIn(parts: PolicyParts): readonly string[] {
  return rows.flatMap(([, { config }]) => config.lists?.(parts) ?? []);
}

/** The parts of a config that serves no policy. */
export const noPolicies: PolicyParts = writeParts([]);

/** All policies of a config. */
export function policiesIn(parts: PolicyParts): readonly PolicyIdentity[] {
  return Object.values<unknown>(parts).flatMap((part) => readPolicies(part) ?? []);
}

/** All policies of a config that have a campaign. */
export function campaignPolicies(parts: PolicyParts): readonly (PolicyIdentity & AppliesTo)[] {
  return Object.values<unknown>(parts).flatMap(
    (part) => readPolicies(part)?.filter(({ campaign }) => campaign !== undefined) ?? [],
  );
}

/** A config with the policies that `isMeant` lets pass; those without a campaign are asked too. */
export function partsWith<Parts extends PolicyParts>(
  parts: Parts,
  isMeant: (policy: PolicyIdentity) => boolean,
): Parts {
  const members = Object.entries<unknown>(parts).map(([name, part]) => [
    name,
    readPolicies(part)?.filter(isMeant) ?? part,
  ]);
  return Object.fromEntries(members) as Parts;
}

/** The same members as requests need them. */
export type ServedPolicies = Intersection<ReturnType<Kinds[PolicyType]['config']['serve']>>;

export function serveParts(parts: PolicyParts): ServedPolicies {
  const served = {};
  // A loop, because this runs for each of a hundred thousand paymasters when a process starts.
  for (const [, { config }] of rows) Object.assign(served, config.serve(parts));
  return served as ServedPolicies;
}

/** The type under which a policy is listed. */
export function listedType(spec: PolicyMembers & { readonly policyType: PolicyType }): string {
  const kind = findPolicyKind(spec.policyType);
  const data = kind && findPolicyData(spec, kind);
  const beyond = kind?.record.beyond;
  return data !== undefined && beyond?.covers(data) === true ? beyond.type : spec.policyType;
}

/** Kinds of the service document: endpoint 9 creates them. */
export const documentedTypes: readonly PolicyType[] = rows.flatMap(([type, { record }]) =>
  record.body === undefined ? [] : [type],
);

/** Only policies have an id. */
function readPolicies(part: unknown): readonly (PolicyIdentity & AppliesTo)[] | undefined {
  const list: readonly unknown[] = Array.isArray(part) ? part : [];
  return list.length > 0 && list.every((each) => isObject(each) && 'policyId' in each)
    ? (list as readonly PolicyIdentity[])
    : undefined;
}

/** What is wrong with a budget of an Organisation, as a sentence. */
export function budgetProblem(budget: Budget, where: string): string | undefined {
  return rows.map(([, { budgets }]) => budgets?.problem(budget, where)).find((each) => each !== undefined);
}

/** The policies that a budget becomes. */
export function policiesOfBudget(budget: Budget, policyId: string): readonly ConfigOfPolicy[] {
  return rows.flatMap(([policyType, { budgets }]) =>
    budgets === undefined ? [] : [{ policyType, config: budgets.compile(budget, policyId) }],
  );
}

const counting = rows.flatMap(([, { counts }]) => counts ?? []);

/** What an operation takes of which policy, in the order of the table. */
export function listPolicyShares(
  served: ServedPolicies,
  mode: Mode,
  request: ShareRequest,
): readonly PolicyShare[] {
  let all: readonly PolicyShare[] = [];
  for (const counts of counting) {
    if (!counts.modes.includes(mode)) continue;
    const shares = counts.shares(served, request);
    all = all.length === 0 ? shares : [...all, ...shares];
  }
  return all;
}

/** The policies that an operation takes something from. */
export function countedPolicies(served: ServedPolicies, mode: Mode): readonly PolicyIdentity[] {
  return counting.flatMap(({ modes, policies }) => (modes.includes(mode) ? policies(served) : []));
}

/** Kinds that ask hosts, in the order of the table. */
export const asking = rows.flatMap(([, { asks }]) => asks ?? []) as readonly PolicyAsks<ServedPolicies>[];

const decisions = rows.flatMap(
  ([, { decision }]) => decision ?? [],
) as readonly PolicyDecision<ServedPolicies>[];

/** Kinds that can be decided from the request alone in a mode, in the order of the table. */
export function decisionsIn(mode: Mode): readonly PolicyDecision<ServedPolicies>[] {
  return decisions.filter(({ modes }) => modes.includes(mode));
}

/** When what is signed now has to have expired; Infinity: at no time. */
export function policiesEndAt(served: ServedPolicies, mode: Mode): number {
  return ends.reduce((end, kind) => Math.min(end, kind.endsAt?.(served, mode) ?? end), Infinity);
}

/** All policies at a glance. */
export function glanceAt(
  served: ServedPolicies,
  at: GlanceAt,
): readonly (Glance & { readonly policyType: PolicyType })[] {
  return rows.flatMap(([policyType, kind]) =>
    kind.glance(served, at).map((glance) => ({ policyType, ...glance })),
  );
}

const ends = decisions.filter(({ endsAt }) => endsAt !== undefined);

/** Whether a policy judges in a mode. */
export function decidesIn(spec: PolicyMembers & { readonly policyType: PolicyType }, mode: Mode): boolean {
  const kind = findPolicyKind(spec.policyType);
  const data = kind && findPolicyData(spec, kind);
  return ((data && kind.modesOf?.(data)) ?? ['SPONSORED']).includes(mode);
}

/** Signatures of methods that a policy names. */
export function methodsNamedBy(spec: PolicyMembers & { readonly policyType: PolicyType }): readonly string[] {
  const kind = findPolicyKind(spec.policyType);
  const data = kind && findPolicyData(spec, kind);
  return (data && kind.methodsNamed?.(data)) ?? [];
}
