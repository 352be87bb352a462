import type { Answers } from './answers.js';

export type Me = Answers['getMe'];
export type Scope = Me['token']['scopes'][number];
export type Usage = Answers['getUsage'];
export type UsageRow = Usage['items'][number];
export type Account = Answers['getFunds']['items'][number];
export type Limit = Answers['getLimits']['items'][number];
export type Rule = Answers['listRules']['items'][number];
export type Decision = Answers['listDecisions']['items'][number];
export type Call = Decision['calls'][number];
export type TracedDecision = Answers['getDecision'];

/** Of a decision that is recorded, or only explained. */
export type Step = {
  readonly step: string;
  readonly verdict: string;
  readonly policyId?: string;
  readonly reason?: string;
  readonly detail?: string;
  readonly remedy?: string;
};

/** What would be decided about an operation: of what JSON-RPC servers answer, what is shown. */
export type Explanation = {
  /** Null: webhooks that were not asked decide. */
  readonly sponsored: boolean | null;
  readonly undecided?: readonly string[];
  readonly reason?: string;
  readonly steps: readonly Step[];
  readonly calls?: readonly {
    readonly target: string;
    readonly selector: string;
    readonly contract?: string;
  }[];
  readonly gas?: Readonly<Record<string, unknown>>;
  readonly limits?: readonly {
    readonly name: string;
    readonly threshold: string;
    readonly left: string;
    readonly needed?: string;
  }[];
};

/** Objects by their noun below `/manage/v1`. */
export type Objects = {
  readonly paymasters: Answers['listObjectsPaymaster']['items'][number];
  readonly contracts: Answers['listObjectsContract']['items'][number];
  readonly policies: Answers['listObjectsPolicy']['items'][number];
};
export type Contract = Objects['contracts'];
export type Policy = Objects['policies'];
