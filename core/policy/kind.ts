import type { Problem } from '../errors.js';
import type { ObjectMeta } from '../meta/meta.js';
import type { Verdict } from '../refusal.js';
import type { PrinterColumn } from '../schema/crd.js';
import type { JsonSchema } from '../schema/json-schema.js';
import type { SchemaOf } from '../schema/structural.js';
import type { EpochMs } from '../units/time.js';
import type { UserOperation } from '../entry-point/user-operation.js';
import type { DecodedCalls } from '../userop/call-data.js';
import type { AllowList } from './rules/allow-list/compile.js';
import type { CycleStatus } from './spending-limit/spec.js';
import type { WebhookUrlRules } from './webhook/webhook-url.js';

/**
 * All that a kind of policies is. The resource's schema, the compiled config, the dashboard's bodies and answers, OpenAPI,
 * the decision and its explanation are made from the rows of `kinds.ts`. Functions are methods, so that a list of rows can be
 * used without knowing the data of each.
 *
 * `Spec` is the data in the resource, `Config` what is compiled of one policy, `Part` the member of the compiled config that
 * holds all of the kind, `Served` its form for requests, `Body` the `policyData` of a dashboard request.
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
  /** How many of a paymaster count, paused ones included: every request pays for each. `name` in the plural. */
  readonly most: { readonly count: number; readonly name: string };
  /** What `kubectl get` shows beside what all policies show. */
  readonly columns?: readonly PrinterColumn[];
  /** What is wrong with a spec, as a sentence; schemas refuse most of it before, but not in every store. */
  problem?(spec: Spec, rules: PolicyRules): string | undefined;
  compile(policy: PolicyToCompile<Spec>, known: KnownPolicy<Config>): CompiledOfKind<Config>;
  readonly config: ConfigPart<Config, Part, Served>;
  /** Absent where deciding needs more than the operation: a store or a host, which `server/decision` asks. */
  readonly decision?: PolicyDecision<Served>;
  readonly record: PolicyRecord<Spec, Body>;
};

export type PolicyIdentity = { readonly policyId: string; readonly name: string };

/** What the platform lets policies do. */
export type PolicyRules = { readonly webhookUrls: WebhookUrlRules };

export type PolicyToCompile<Spec> = PolicyIdentity & {
  readonly spec: Spec;
  /** As the status records it. */
  readonly cycle: CycleStatus | undefined;
};

/** What is known of a policy from before. */
export type KnownPolicy<Config> = {
  readonly now: EpochMs;
  /** As it is served. */
  readonly served: Config | undefined;
  /** Of a limit that was deleted and made again under its name. */
  readonly lastingCycle: CycleStatus | undefined;
  /** The highest generation that a signing key of this name had. */
  readonly keyGeneration: number;
};

export type CompiledOfKind<Config> = {
  readonly config: Config;
  /** To be recorded in the status. */
  readonly cycle?: CycleStatus;
  /** The generation of the signing key in force. */
  readonly keyGeneration?: number;
};

/** How the active policies of the kind stand in the compiled config, which is plain JSON. */
export type ConfigPart<Config, Part, Served> = {
  write(configs: readonly Config[]): Part;
  /** What the config has of one policy. `wasProgrammed`: its status says that it was served. */
  read(part: Part, policy: PolicyIdentity & { readonly wasProgrammed: boolean }): Config | undefined;
  /** For requests. Throws RangeError or SyntaxError on what no operator writes. */
  serve(part: Part): Served;
};

export type PolicyDecision<Served> = {
  /** Name of the step that `pm_explainSponsorship` shows. */
  readonly step: string;
  /** Of all policies of the kind at once; there may be none. */
  decide(served: Served, facts: PolicyFacts): Verdict;
};

/** What a policy can know of a request without waiting. Gas limits are undefined where they are still to be found. */
export type PolicyFacts = {
  readonly op: UserOperation;
  /** What callData makes the account do. */
  readonly calls: DecodedCalls;
  readonly allowList: AllowList;
  readonly now: EpochMs;
};

/** `policyData` of the dashboard, in and out. */
export type PolicyRecord<Spec, Body> = {
  readonly body: SchemaOf<Body>;
  /** Brings other forms that clients send into that of `body`. */
  normalise?(data: unknown): unknown;
  /** What the schema cannot judge; `prefix` goes before the names of fields. */
  problems?(data: unknown, prefix: string, rules: PolicyRules): readonly Problem[];
  specOf(body: Body, now: EpochMs): Spec;
  render(policy: PolicyToRender<Spec>): Readonly<Record<string, unknown>>;
  /** Members of what `render` answers. */
  readonly answer: Members;
  /** What only the answer to creating it holds. */
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
