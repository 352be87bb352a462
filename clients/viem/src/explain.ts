import type { Address } from 'viem';

/** One check, in the order in which a request goes through them. */
export type ExplanationStep = {
  readonly step: string;
  readonly verdict: 'pass' | 'refuse' | 'skipped';
  readonly reason?: string;
  readonly detail?: string;
  /** What would make the operation pass. */
  readonly remedy?: string;
};

/** Why an operation would be sponsored or not; the service's `/openrpc.json` describes the members that are not listed here. */
export type Explanation = {
  readonly mode: 'SPONSORED' | 'ERC20';
  /** Null where only something that was not asked, e.g. a webhook, could say. */
  readonly sponsored: boolean | null;
  /** Of the first refusal. */
  readonly reason?: string;
  readonly steps: readonly ExplanationStep[];
  readonly [member: string]: unknown;
};

export type ExplainOptions = {
  /** The account would pay in this token; otherwise the paymaster pays. */
  readonly token?: Address;
  /** Also call the webhooks of the paymaster, which may count the call. Default: false. */
  readonly callWebhook?: boolean;
};

/** The mode object of `pm_explainSponsorship`. */
export function explainMode({ token, callWebhook = false }: ExplainOptions): object {
  const mode =
    token === undefined ? { mode: 'SPONSORED' } : { mode: 'ERC20', tokenInfo: { feeTokenAddress: token } };
  return { ...mode, callWebhook };
}
