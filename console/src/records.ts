/** What this application reads of the answers; OpenAPI describes all of it. */

export type Paymaster = { readonly name: string; readonly chainId: number; readonly apiKey: string };

export type UsageRow = {
  readonly from: string;
  readonly group: string | null;
  readonly method: string | null;
  readonly sponsored: number;
  readonly refused: number;
  readonly mined: number;
  readonly reverted: number;
  readonly expired: number;
  readonly promised: string;
  readonly spent: string;
  readonly spentWei: string;
};

export type Usage = {
  readonly from: string;
  readonly to: string;
  readonly step: string;
  readonly additive: boolean;
  readonly rows: readonly UsageRow[];
};

export type Account = {
  readonly account: string;
  readonly kind: 'deposit' | 'wallet';
  readonly chainId: number;
  readonly balance: string | null;
  readonly promised: string;
  readonly burnPerHour: string;
  readonly hoursLeft: number | null;
};

export type Limit = {
  readonly paymasterId: string;
  readonly policy: string;
  readonly name: string;
  readonly scope: string;
  readonly unit: string;
  readonly threshold: number | string;
  readonly used: number | string | null;
  readonly reserved: number | string | null;
  readonly remaining: number | string | null;
  readonly resetsAt: string | null;
  readonly rendered: {
    readonly threshold: string;
    readonly used: string | null;
    readonly reserved: string | null;
    readonly remaining: string | null;
  } | null;
};

/** One of `/manage/v1/paymasters/{name}/rules`. */
export type Rule = {
  readonly policyType: string;
  readonly name: string;
  readonly enforcement: 'Enforce' | 'Shadow';
  readonly campaign?: string;
  readonly appliesTo: readonly string[];
  readonly says: string;
  readonly verdict?: 'pass' | 'refuse';
  readonly remaining?: string;
  readonly turnsAt?: string;
};

export type Call = {
  readonly target: string;
  readonly selector: string;
  readonly name: string | null;
  readonly contractId: string | null;
};

export type Decision = {
  readonly id: string;
  readonly at: string;
  readonly verdict: string;
  readonly reason: string | null;
  readonly detail: string | null;
  readonly method: string;
  readonly requestId: string;
  readonly callerRequestId: string | null;
  readonly paymasterId: string;
  readonly chainId: number;
  readonly mode: string | null;
  readonly sender: string;
  readonly nonce: string;
  readonly userOpHash: string | null;
  readonly calls: readonly Call[];
  readonly maxCost: string | null;
  readonly validUntil: string | null;
  readonly settlement: {
    readonly outcome: string;
    readonly at: string;
    readonly transactionHash: string | null;
    readonly actualGasCost: string;
    readonly actualGasUsed: string;
    readonly success: boolean | null;
    readonly blockNumber: number | null;
    readonly token: {
      readonly address: string;
      readonly amount: string;
      readonly rendered: string | null;
    } | null;
  } | null;
};

export type Step = {
  readonly step: string;
  readonly verdict: string;
  readonly policyId?: string;
  readonly reason?: string;
  readonly detail?: string;
  readonly remedy?: string;
};

export type TracedDecision = Decision & { readonly trace: readonly Step[] };

/** An object as `/manage/v1` shows it. */
export type Managed<Spec> = {
  readonly name: string;
  readonly id: string;
  readonly createdBy: string;
  readonly spec: Spec;
  readonly status: {
    readonly methods?: readonly string[];
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
};

export type PaymasterSpec = {
  readonly name: string;
  readonly chainId: number;
  readonly version: string;
  readonly suspended?: boolean;
  readonly funding?: { readonly address: string };
};

export type ContractSpec = {
  readonly name: string;
  readonly address: string;
  readonly abi: string;
  readonly whitelistedMethods?: readonly string[];
};

export type PolicySpec = { readonly name: string; readonly policyType: string; readonly active?: boolean };
