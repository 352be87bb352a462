import type { ErrorCode } from '../../core/error-codes.js';
import type { TokenScope } from '../../core/resources/dashboard-token.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { JsonSchema } from '../../core/schema/json-schema.js';
import type { StructuralSchema } from '../../core/schema/structural.js';
import type { Call, PaymasterCall, PlatformCall, Reply } from './call.js';
import type { Cost } from './costs.js';
import type { Tools } from './deps.js';
import type { Parameters } from './parameters.js';
import type { Parse } from './parse.js';
import { published } from './schemas.js';

/**
 * One endpoint of REST: everything that is known about it. Authentication, limits, the reading of query and body, the forms of
 * the answer and the OpenAPI document follow from its row.
 */
type Row<S extends Scope, P extends Parameters, B> = Documented & {
  /** Whose it is: `organisation` takes `authToken`, `paymaster` also `apiKey`; `platform` takes a token of the platform alone. */
  readonly scope: S;
  /** Of the query. Absent: none. */
  readonly parameters?: P;
  /** Absent: no body is read. */
  readonly body?: Body<B>;
  readonly handle: (
    tools: Tools,
    call: S extends 'paymaster' ? PaymasterCall<B, P> : S extends 'platform' ? PlatformCall<P> : Call<B, P>,
  ) => Promise<Reply>;
};

type Scope = 'organisation' | 'paymaster' | 'platform';

type Documented = {
  readonly operationId: string;
  /** A token with any of these scopes may call it, and one with `write` everything. Absent: only `write`. */
  readonly needs?: readonly TokenScope[];
  readonly summary: string;
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Below the prefix of its table; parameters as `:name`. */
  readonly path: string;
  /**
   * Fixed message of success. The endpoints of the service document have one: they answer in its envelope, their paths have two
   * spellings, and what they do not know of a query or body is ignored.
   */
  readonly message?: string;
  /** Of the answer's data; absent: none is answered. */
  readonly schema?: JsonSchema;
  readonly example?: unknown;
  /** What a caller may ask for instead of one JSON answer. */
  readonly form?: 'table';
  /** HTTP status of the answer. Default 200. */
  readonly status?: number;
  /** What it answers besides the errors of every endpoint. */
  readonly errors?: Readonly<Record<number, string>>;
  /** The answer holds a secret: it is kept nowhere. */
  readonly isSecret?: true;
  /** Default: that of one call. */
  readonly cost?: Cost;
  /** The document names both headers, though only one is read. */
  readonly namesBothHeaders?: true;
  /** Answer to a wrong header, where the document gives a different one from the 401 of a missing header. */
  readonly wrongToken?: ErrorCode;
  readonly wrongKey?: ErrorCode;
};

export type Body<B> = {
  /** The body is as one of these. */
  readonly schemas: readonly JsonSchema[];
  readonly example: object;
  /** A request may have none. */
  readonly isOptional?: true;
  /** Undefined for a request without a body. Throws INVALID_INPUT. */
  readonly parse: (tools: Tools, body: unknown) => B;
  /** The schema for a body, whose unknown fields become warnings. Absent: they are refused. */
  readonly schemaOf?: (body: unknown) => StructuralSchema;
};

/** Any row, once {@link endpoint} has tied its handler to what it takes. */
export type Endpoint = Documented & {
  readonly scope: Scope;
  readonly parameters?: Parameters;
  readonly body?: Body<unknown>;
  readonly handle: (tools: Tools, call: Call & { readonly paymaster?: Paymaster }) => Promise<Reply>;
};

/** Ties scope, parameters and body of an endpoint to the call that its handler gets. */
export function endpoint<S extends Scope, const P extends Parameters, B>(row: Row<S, P, B>): Endpoint {
  return row as unknown as Endpoint;
}

/** What most readings of an organisation have. */
export const reading = { method: 'get', scope: 'organisation', needs: ['read'], cost: 'reading' } as const;

/** A body of the service document. */
export function documentBody<B>(
  schema: StructuralSchema,
  parserOf: (parsers: Tools['parse']) => Parse<B>,
  example: object,
): Body<B> {
  const parse: Body<B>['parse'] = (tools, body) => parserOf(tools.parse)(body);
  return { schemas: [published(schema)], example, parse, schemaOf: () => schema };
}
