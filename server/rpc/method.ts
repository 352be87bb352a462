import type { Later } from '../../core/pending.js';
import type { RefusalReason } from '../../core/refusal.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import type { CallKind } from './call-turns.js';

/** What a method knows about its caller besides the params. */
export type RpcContext = {
  readonly requestId: string;
  /** Header `X-Request-Id` of the caller, who may repeat it; see `cleanRequestId`. */
  readonly callerRequestId: string | undefined;
  /** The name by which this method was called. */
  readonly method: string;
  readonly paymaster: ServedPaymaster;
  /** Only `pm_explainSponsorship` looks at these: the hash of the authToken, and the pass of a dashboard. */
  readonly credential: string | undefined;
  readonly pass: string | undefined;
};

/** Where a request comes from, for its records. */
export type RequestOrigin = Pick<RpcContext, 'requestId' | 'callerRequestId' | 'method'>;

/** `json` is the text of the `result` member. A refusal is a result; its reason is also sent in a header and counted. */
export type RpcResult = {
  readonly json: string;
  readonly refusal?: RefusalReason;
  /** What exactly was refused, for the log only: clients see the reason, and owners can ask for an explanation. */
  readonly detail?: string;
  /** True when data was signed for a paymaster that sponsors calls to any contract; also sent in a header and counted. */
  readonly isOpen?: boolean;
  /** Set by methods that sponsor nothing, and by a commit, which signs nothing yet. */
  readonly outcome?: 'answered' | 'committed';
};

/**
 * A method that sponsors nothing, of clients that read errors from HTTP 200 answers only. `ask` answers the result.
 */
export function answering(ask: (params: readonly unknown[], context: RpcContext) => unknown): RpcMethod {
  return {
    async handle(params, context) {
      return { json: JSON.stringify(await ask(params, context)), outcome: 'answered' };
    },
    answersErrorsWithOk: () => true,
  };
}

export type RpcMethod = {
  /** Throws DomainError for every outcome that is not a result. */
  handle(params: readonly unknown[], context: RpcContext): Later<RpcResult>;
  /** `aside`: it does much more than a request and nobody waits for it to pay; see `call-turns.ts`. Default: ordinary. */
  readonly kind?: CallKind;
  /** True if clients that send this form of params read errors from HTTP 200 answers only. */
  readonly answersErrorsWithOk?: (params: readonly unknown[]) => boolean;
};
