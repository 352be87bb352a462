import type { RefusalReason } from '../../core/refusal.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';

/** What a method knows about its caller besides the params. */
export type RpcContext = {
  readonly requestId: string;
  readonly paymaster: ServedPaymaster;
  /** Header `authToken`: asked for by `pm_explainSponsorship` only. */
  readonly authToken: string | undefined;
};

/** `json` is the text of the `result` member. A refusal is a result; its reason is also sent in a header and counted. */
export type RpcResult = {
  readonly json: string;
  readonly refusal?: RefusalReason;
  /** What exactly was refused, for the log only: clients are told the reason, owners ask for an explanation. */
  readonly detail?: string;
  /** Signed for a paymaster that sponsors calls to any contract; also sent in a header and counted. */
  readonly isOpen?: boolean;
  /** Set by methods that sponsor nothing. */
  readonly outcome?: 'answered';
};

export type RpcMethod = {
  /** Throws DomainError for everything that is no result. */
  handle(params: readonly unknown[], context: RpcContext): Promise<RpcResult>;
  /** True where the form of the params is one whose clients read errors from HTTP 200 answers only. */
  readonly answersErrorsWithOk?: (params: readonly unknown[]) => boolean;
};
