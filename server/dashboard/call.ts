import type { Paymaster } from '../../core/resources/paymaster.js';
import type { Principal } from './auth.js';
import type { Given, Parameters } from './parameters.js';

/** Of what the service document has not. The command line needs it, and nothing else of this. */
export const managePrefix = '/manage/v1';

/** What the handler of an endpoint gets. */
export type Call<B = unknown, P extends Parameters = Parameters> = {
  readonly principal: Principal;
  /** Parameters of the query. */
  readonly given: Given<P>;
  /** Parameters of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly body: B;
  readonly requestId: string;
  /** Header If-Match. */
  readonly ifMatch?: string;
  /** Header If-None-Match, of a change. */
  readonly ifNoneMatch?: string;
  /** Aborted when the client has left. */
  readonly gone: AbortSignal;
};

export type PaymasterCall<B = unknown, P extends Parameters = Parameters> = Call<B, P> & {
  readonly paymaster: Paymaster;
};

/** Of the platform. It has no organisation: a handler that looks for one does not compile. */
export type PlatformCall<P extends Parameters = Parameters> = Pick<Call<unknown, P>, 'given' | 'params'>;

export type Reply = {
  readonly data?: unknown;
  /** Instead of `data`: written record by record. */
  readonly list?: List;
  /** The same as a table; absent: JSON only. */
  readonly table?: Table;
  /** Of the object that is answered, instead of one of the answer itself. */
  readonly etag?: string;
  /** HTTP status, where it is not that of the row. */
  readonly status?: number;
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

export type Table = {
  readonly columns: readonly string[];
  /** Page by page, so that a long table needs no memory. */
  readonly pages: () => AsyncIterable<readonly (readonly unknown[])[]>;
};

type WrittenObject = { readonly kind: string; readonly metadata: { readonly name: string } };

/** The table of records that are all known; columns are members. */
export function toTable(columns: readonly string[], records: readonly object[]): Table {
  const rows = records.map((record) => {
    const members: Readonly<Record<string, unknown>> = { ...record };
    return columns.map((column) => members[column]);
  });
  return {
    columns,
    async *pages() {
      yield rows;
    },
  };
}
