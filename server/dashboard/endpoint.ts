import type { ErrorCode } from '../../core/errors.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { StructuralSchema } from '../../core/schema/structural.js';
import type { Principal } from './auth.js';

/** One row of the endpoint table of the service document. */
export type Endpoint = OrganisationEndpoint | PaymasterEndpoint;

/** Takes `authToken` only. */
export type OrganisationEndpoint = Documented & {
  readonly scope: 'organisation';
  readonly handle: (call: Call) => Promise<Reply>;
};

/** Takes `authToken` and `apiKey`. */
export type PaymasterEndpoint = Documented & {
  readonly scope: 'paymaster';
  readonly handle: (call: PaymasterCall) => Promise<Reply>;
};

type Documented = {
  /** Number in the service document. */
  readonly number: number;
  readonly operationId: string;
  readonly summary: string;
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /** Below the prefix, in the short spelling; parameters as `:name`. */
  readonly path: string;
  /** It lists, and takes `limit` and `cursor`. */
  readonly isList?: true;
  /** Fixed message of success. */
  readonly message: string;
  /** Shapes of the body; absent if the endpoint takes no body. */
  readonly bodies?: readonly StructuralSchema[];
  /** Answer to a wrong header, where the document gives a different one from the 401 of a missing header. */
  readonly wrongToken?: ErrorCode;
  readonly wrongKey?: ErrorCode;
};

export type Call = {
  /** Which page of a list. Throws INVALID_INPUT. */
  readonly page: () => PageQuery;
  readonly principal: Principal;
  /** Aborted when the client is no longer there. */
  readonly gone: AbortSignal;
  /** Parsed JSON; undefined for a request without a body. */
  readonly body: unknown;
  /** Parameters of the path. */
  readonly params: Readonly<Record<string, string>>;
};

export type PaymasterCall = Call & { readonly paymaster: Paymaster };

export type Reply = {
  readonly data?: unknown;
  /** Instead of `data`: read when the organisation has not too many lists open, and written record by record. */
  readonly list?: () => Promise<List>;
  /** Set on writes: whether the operator has programmed the change; header `X-Programmed`. */
  readonly programmed?: boolean;
  /** Set on writes: the object that was written, for the log. */
  readonly object?: WrittenObject;
  /** What the caller should know although the request has succeeded. */
  readonly warnings?: readonly string[];
};

/** The records as JSON, one by one, and for a page where the next one begins. */
export type List = {
  readonly records: AsyncIterable<string> | readonly string[];
  /** Undefined: not a page. Null: it is the last one. */
  readonly cursor?: string | null;
};

export type PageQuery = { readonly limit?: number; readonly cursor?: string };

export type WrittenObject = { readonly kind: string; readonly metadata: { readonly name: string } };
