import type { Pace } from '../../../adapters/pace.js';
import type { ConfigStore } from '../../../core/config/config-store.js';
import type { ResourceStore } from '../../../core/resources/resource-store.js';
import type { JsonSchema } from '../../../core/schema/json-schema.js';
import type { Clock } from '../../../core/units/time.js';
import type { UsageReading } from '../../../core/usage/usage-store.js';
import type { ProposalDeps } from '../../replay/proposal.js';
import type { Replays } from '../../replay/replays.js';
import type { Principal } from '../auth.js';
import type { LastSeen } from '../last-seen.js';
import type { FairLedger } from './fair-ledger.js';
import type { Given, Parameters } from './parameters.js';

/** What the endpoints below `/manage/v1` use. */
export type LedgerTools = {
  /** Undefined: no ledger is kept. */
  readonly ledger: FairLedger | undefined;
  readonly usage: UsageReading;
  readonly configs: Pick<ConfigStore, 'getPaymaster'>;
  /** Undefined where no ledger is kept. */
  readonly replays: Replays | undefined;
  readonly proposals: ProposalDeps;
  readonly resources: Pick<ResourceStore, 'list'>;
  /** Readings go on with it while the API server is away. */
  readonly lastSeen: Pick<LastSeen, 'of'>;
  readonly clock: Clock;
  /** For long work: names of methods are read from ABIs. */
  readonly pace: Pace;
};

/** A question about the organisation of the caller's authToken. */
export type LedgerEndpoint<P extends Parameters = Parameters> = {
  readonly operationId: string;
  readonly summary: string;
  /** Default `get`. */
  readonly method?: 'get' | 'post' | 'delete';
  /** Below `/manage/v1`; parameters as `:name`. */
  readonly path: string;
  readonly parameters: P;
  readonly schema: JsonSchema;
  readonly example: object;
  /** JSON that the request carries. Absent: none is read. */
  readonly body?: { readonly schema: JsonSchema; readonly example: object };
  /** What a caller may ask for instead of one JSON answer. Default: a table. */
  readonly form?: 'table' | 'lines' | 'none';
  /** HTTP status of the answer. Default 200. */
  readonly status?: number;
  /** What it answers besides the errors of every endpoint. */
  readonly errors?: Readonly<Record<number, string>>;
  readonly answer: (tools: LedgerTools, asked: Asked<P>) => Promise<LedgerAnswer>;
};

export type Asked<P extends Parameters> = {
  readonly principal: Principal;
  readonly given: Given<P>;
  /** Parameters of the path. */
  readonly params: Readonly<Record<string, string>>;
  /** Not checked yet; undefined without {@link LedgerEndpoint.body}. */
  readonly body: unknown;
  /** Aborts when the caller no longer waits. */
  readonly gone: AbortSignal;
};

export type LedgerAnswer = {
  readonly data: object;
  /**
   * The answer and how it goes on, for a caller who prefers lines of JSON; absent: it does not go on. `gone`: the caller is
   * no longer there.
   */
  readonly lines?: (gone: AbortSignal) => AsyncIterable<object>;
  /** The same as a table; absent: JSON only. */
  readonly table?: Table;
};

export type Table = {
  readonly columns: readonly string[];
  /** Page by page, so that a long table needs no memory. */
  readonly pages: () => AsyncIterable<readonly (readonly unknown[])[]>;
};

/** Keeps the parameters of an endpoint tied to the values that its handler gets. */
export function endpoint<const P extends Parameters>(row: LedgerEndpoint<P>): LedgerEndpoint {
  return row as unknown as LedgerEndpoint;
}

/** The table of records that are all known; columns are members. */
export function tableOf(columns: readonly string[], records: readonly object[]): Table {
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
