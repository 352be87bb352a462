import type { Problem } from '../errors.js';
import type { ObjectMeta } from '../meta/meta.js';
import type { Verdict } from '../refusal.js';
import type { PrinterColumn } from '../schema/crd.js';
import type { JsonSchema } from '../schema/json-schema.js';
import type { SchemaOf } from '../schema/structural.js';
import type { AddressKey } from '../units/address.js';
import type { EpochMs } from '../units/time.js';
import type { OperationCost } from '../usage/unit.js';
import type { CounterId, Mode } from '../usage/reservation.js';
import type { CounterState, LimitShare } from '../usage/reserve-request.js';
import type { UserOperation } from '../entry-point/user-operation.js';
import type { DecodedCalls } from '../userop/call-data.js';
import type { AddressList } from './address-list.js';
import type { Budget } from './budget.js';
import type { AllowList } from './rules/allow-list/compile.js';
import type { NamedMethods } from './methods/methods.js';
import type { HostOutcome, HostPolicy } from './policy-hosts.js';
import type { Shadow } from './shadow.js';
import type { WorkLeft } from './steps-left.js';
import type { CycleStatus } from './spending-limit/schema.js';
import type { WebhookUrlRules } from './webhook/webhook-url.js';

/**
 * The complete definition of one kind of policy. The resource's schema, the compiled config, the dashboard's request
 * and response bodies, OpenAPI, the decision and its explanation are built from the rows of `kinds.ts`. Functions are
 * methods, so that a list of rows can be used without knowing the data type of each.
 *
 * `Spec` is the data in the resource, `Config` the compiled form of one policy, `Part` the member of the compiled
 * config that holds all policies of the kind, `Served` its form for requests, `Body` the `policyData` of a dashboard
 * request.
 */
export type PolicyKind<
  Spec extends object = object,
  Config extends PolicyIdentity = PolicyIdentity,
  Part extends object = object,
  Served extends object = object,
  Body extends object = object,
> = {
  /** Member of the resource's spec that holds the data. */
  readonly member: string;
  readonly schema: SchemaOf<Spec>;
  /**
   * How many policies of a paymaster count, paused ones included, because every request pays for each. `name` is in
   * the plural.
   */
  readonly most: {
    readonly count: number;
    readonly name: string;
    /** A bound on what all of them hold together; one that does not fit keeps what is served for it. */
    readonly items?: { readonly count: number; readonly name: string; of(spec: Spec): number };
  };
  /** Columns that `kubectl get` shows besides those of all policies. */
  readonly columns?: readonly PrinterColumn[];
  /** What the chain lacks that a valid spec needs, as a sentence: NoNativePrice. */
  lacks?(spec: Spec, chain: { readonly nativePrice?: object }): string | undefined;
  /** What is wrong with a spec, as a sentence. Schemas refuse most mistakes earlier, but not in every store. */
  problem?(spec: Spec, rules: PolicyRules & MethodsNamed): string | undefined;
  /** Signatures of methods that it names, which the compiler looks up in the contracts of the paymaster; absent: none. */
  methodsNamed?(spec: Spec): readonly string[];
  compile(policy: PolicyToCompile<Spec>, known: PolicyHistory<Config>): CompiledOfKind<Config>;
  readonly config: ConfigPart<Config, Part, Served>;
  /** The policy permits what nothing else does, so it cannot be in Shadow. */
  readonly isPermission?: true;
  /** Modes of a policy that can judge in mode ERC20; absent: SPONSORED alone. */
  modesOf?(spec: Spec): readonly Mode[];
  /** Absent when a decision needs more than the operation: see `counts` and `asks`. */
  readonly decision?: PolicyDecision<Served>;
  /** Absent: an operation takes nothing from its policies. */
  readonly counts?: PolicyCounts<Served>;
  /** Whether operations take something from this policy of a kind with `counts`; absent: from each. */
  isCounted?(spec: Spec): boolean;
  /** Absent: no budget of an organisation becomes a policy of the kind. */
  readonly budgets?: PolicyBudgets<Config>;
  /** Absent: nobody is asked. */
  readonly asks?: PolicyAsks<Served>;
  /** Each policy of the kind, and what it says at a time, and about a request if there is one. */
  glance(served: Served, at: GlanceAt): readonly Glance[];
  readonly record: PolicyRecord<Spec, Body>;
};

export type PolicyIdentity = {
  readonly policyId: string;
  readonly name: string;
  /** Judges and counts, and never refuses. */
  readonly shadow?: true;
  /** Judges only requests that name it. */
  readonly campaign?: string;
};

/** Modes in which a policy judges; absent: SPONSORED alone. */
export type AppliesTo = { readonly appliesTo?: readonly Mode[] };

/** What the platform allows policies to do. */
export type PolicyRules = { readonly webhookUrls: WebhookUrlRules };

/** Methods of accepted contracts that the paymaster's policies name. */
export type MethodsNamed = { readonly methods: NamedMethods };

type PolicyToCompile<Spec> = PolicyIdentity & {
  readonly spec: Spec;
  /** As the status records it. */
  readonly cycle: CycleStatus | undefined;
};

/** The cycle that a status or a config records for a policy that counts by cycles. */
export type RecordedCycle = CycleStatus;

/** What is known about a policy from before. */
type PolicyHistory<Config> = MethodsNamed & {
  readonly now: EpochMs;
  /** The form in which it is served. */
  readonly served: Config | undefined;
  /** For a limit that was deleted and made again with the same name. */
  readonly lastingCycle: CycleStatus | undefined;
  /** The highest generation that a signing key of this name has had. */
  readonly keyGeneration: number;
};

export type CompiledOfKind<Config> = {
  readonly config: Config;
  /** The list of addresses that `config` names. */
  readonly list?: AddressList;
  /** The cycle to record in the status. */
  readonly cycle?: CycleStatus;
  /** The generation of the signing key in force. */
  readonly keyGeneration?: number;
};

/** The active policies of the kind in the compiled config, which is plain JSON. */
type ConfigPart<Config, Part, Served> = {
  write(configs: readonly Config[]): Part;
  /** What the config serves for one policy. `wasProgrammed`: its status says that it was served. */
  read(part: Part, policy: PolicyIdentity & { readonly wasProgrammed: boolean }): Config | undefined;
  /** The form for requests. Throws RangeError or SyntaxError on data that no operator writes. */
  serve(part: Part): Served;
  /** The cycle of each policy in it; absent: the kind has none. */
  cycles?(part: Part): readonly (RecordedCycle & Pick<PolicyIdentity, 'policyId'>)[];
  /** Hashes of the lists of addresses that it names; absent: none. */
  lists?(part: Part): readonly string[];
};

/** Policies whose use the usage store counts, and judges in the step that reserves. */
type PolicyCounts<Served> = {
  /** Modes in which its policies judge; in others they are not consulted. */
  readonly modes: readonly Mode[];
  policies(served: Served): readonly PolicyIdentity[];
  /** What an operation takes of which policy, in the windows of `now`. */
  shares(served: Served, request: ShareRequest): readonly PolicyShare[];
};

/** How budgets of an Organisation become policies of each of its paymasters. */
export type PolicyBudgets<Config> = {
  /** What is wrong with a budget, as a sentence. `where`: its place in the spec. */
  problem(budget: Budget, where: string): string | undefined;
  compile(budget: Budget, policyId: string): Config;
};

/**
 * Policies about which hosts are asked, in mode SPONSORED, once the operation is known as it will be signed. The port of
 * `policy-hosts.ts` calls them, all of a kind at the same time.
 */
export type PolicyAsks<Served> = {
  /** Name of the step that `pm_explainSponsorship` shows. */
  readonly step: string;
  /** Of the step that asks those in Shadow, beside the request. */
  readonly shadowStep: string;
  policies(served: Served): readonly HostPolicy[];
  shadows(served: Served): readonly HostPolicy[];
  /** Judges the answers, which are in the order of the policies. */
  decide(policies: readonly HostPolicy[], outcomes: readonly HostOutcome[]): Verdict;
};

export type ShareRequest = {
  readonly sender: AddressKey;
  readonly cost: OperationCost;
  readonly now: EpochMs;
};

/** `perSender`: each sender has a separate counter. */
export type PolicyShare = LimitShare & { readonly policy: CountedPolicy };

/** `isBudget`: it is the organisation's, which no tenant can change. */
export type CountedPolicy = PolicyIdentity & { readonly perSender: boolean; readonly isBudget?: true };

/** Who shares the counter of a limit. */
export const countedScopes = ['PAYMASTER', 'SMART_ACCOUNT', 'ORGANISATION'] as const;

export function countedScope({ isBudget, perSender }: CountedPolicy): (typeof countedScopes)[number] {
  if (isBudget === true) return 'ORGANISATION';
  return perSender ? 'SMART_ACCOUNT' : 'PAYMASTER';
}

export type PolicyDecision<Served> = {
  /** Name of the step that `pm_explainSponsorship` shows. */
  readonly step: string;
  /** Modes in which the kind judges; it is not consulted in others. */
  readonly modes: readonly Mode[];
  /** False when there is nothing to decide; absent: there always is. */
  applies?(served: Served, mode: Mode): boolean;
  /** Decides all policies of the kind together; there may be none. */
  decide(served: Served, facts: PolicyFacts): Verdict;
  /** Decides what needs the cost, in a later step of the same name; absent: nothing does. */
  readonly late?: {
    /** Whether a policy of the paymaster needs it. */
    applies(served: Served, mode: Mode): boolean;
    decide(served: Served, facts: PolicyFacts): Verdict;
  };
  /** When what is signed now has to have expired; absent, and undefined: at no time. */
  endsAt?(served: Served, mode: Mode): EpochMs | undefined;
};

/** What policies are asked for a glance. */
export type GlanceAt = {
  readonly now: EpochMs;
  /** About a request; absent: about none. */
  readonly facts?: PolicyFacts;
  /** The account whose counters of limits per account are shown; default: that of the request. */
  readonly sender?: AddressKey;
  /** A counter that was read; absent or undefined: it was not. */
  readonly used?: (counter: CounterId) => CounterState | undefined;
};

/** One policy at a glance, for people: `says` is e.g. "open until 2027-01-01T00:00:00.000Z". */
export type Glance = Omit<PolicyIdentity, 'policyId'> &
  AppliesTo & {
    /** Absent: all policies of the kind are served as one. */
    readonly policyId?: string;
    readonly says: string;
    /** Whether it lets the request pass, or any request at this time; absent: that depends on the request. */
    readonly verdict?: 'pass' | 'refuse';
    /** What is left of a limit, e.g. "0.05 ether". */
    readonly remaining?: string;
    /** When `says` changes by itself. */
    readonly turnsAt?: EpochMs;
  };

/**
 * What a policy can know about a request without waiting. Gas limits are undefined while they are not estimated yet.
 */
export type PolicyFacts = {
  readonly mode: Mode;
  readonly chainId: number;
  readonly op: UserOperation;
  /** What callData makes the account do. */
  readonly calls: DecodedCalls;
  readonly allowList: AllowList;
  /** Undefined while gas limits are not known. */
  readonly cost: OperationCost | undefined;
  readonly now: EpochMs;
  /** The list of addresses with this hash; undefined where this replica does not have it. */
  listOf(hash: string): ReadonlySet<AddressKey> | undefined;
  /** Takes what policies in Shadow would refuse; see `decideEach`. */
  readonly shadow: Pick<Shadow, 'note'>;
  readonly workLeft: WorkLeft;
};

/** `policyData` of the dashboard, in requests and in answers. */
export type PolicyRecord<Spec, Body> = {
  /** Absent, as `specOf` is: the service document does not know the kind, so endpoint 9 does not create it. */
  readonly body?: SchemaOf<Body>;
  /** Converts other forms that clients send into that of `body`. */
  normalise?(data: unknown): unknown;
  /** Problems that the schema cannot find; `prefix` goes before the names of fields. */
  problems?(data: unknown, prefix: string, rules: PolicyRules): readonly Problem[];
  specOf?(body: Body, now: EpochMs): Spec;
  render(policy: PolicyToRender<Spec>): Readonly<Record<string, unknown>>;
  /** Members of the answer that `render` builds. */
  readonly answer: Members;
  /** Policies of a kind of the service document that have what it cannot say. They are listed under another type. */
  readonly beyond?: { readonly type: string; covers(spec: Spec): boolean; readonly answer: Members };
  /** Members that appear only in the answer to creating the policy. */
  readonly once?: {
    readonly answer: Readonly<Record<string, JsonSchema>>;
    render(secret: {
      readonly webhookMaster: Uint8Array;
      readonly policyId: string;
      readonly keyGeneration: number | undefined;
    }): Readonly<Record<string, unknown>>;
  };
};

type Members = {
  readonly required: Readonly<Record<string, JsonSchema>>;
  readonly optional?: Readonly<Record<string, JsonSchema>>;
};

export type PolicyToRender<Spec> = {
  readonly spec: Spec;
  readonly metadata: Pick<ObjectMeta, 'creationTimestamp'>;
  readonly status?: { readonly cycle?: CycleStatus };
};
