import type { Socket } from 'node:net';
import pg from 'pg';
import { DomainError } from '../../core/errors.js';
import { withinDeadline } from '../within-deadline.js';
import { clientConfig, createClientClass, type ClientOptions } from './client.js';

/** A statement with a name is planned once for each connection. */
export type Statement = {
  readonly name: string;
  readonly text: string;
  readonly values?: readonly unknown[];
};
export type Answer = { readonly rows: readonly Readonly<Record<string, unknown>>[]; readonly tag: string };

/**
 * One connection, whose statements are sent together and answered together: a trip is one round trip to the server. Integers of 64 bits
 * are numbers, since everything that decides is below 2^53.
 */
export type Pipeline = {
  readonly isOpen: boolean;
  /**
   * Answers all statements in their order. Rejects with the first error, after the last statement has ended; with
   * {@link ConnectionLost} when the server has not answered all of them in time. `notices`: those that came meanwhile.
   */
  trip(
    statements: readonly Statement[],
    timeoutMs: number,
  ): Promise<{ readonly answers: readonly Answer[]; readonly notices: number }>;
  /** Closes the connection without a word to the server, which rolls back what is open. */
  destroy(): void;
  end(): Promise<void>;
};

/** Nobody knows whether the server has carried out what was sent last. */
export class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super('the connection to PostgreSQL was lost', { cause });
    this.name = 'ConnectionLost';
  }
}

/** SQLSTATE of an error that the server has answered; undefined for any other. */
export function findSqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

const int8 = 20;
const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === int8 ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
};

/** Connects, and sets what holds for the whole session. Throws UNAVAILABLE. */
export async function openPipeline(
  options: ClientOptions,
  {
    settings,
    connectTimeoutMs,
  }: { readonly settings: Readonly<Record<string, string | number>>; readonly connectTimeoutMs: number },
): Promise<Pipeline> {
  const Client = createClientClass(options);
  const client = new Client({
    ...clientConfig(options),
    types,
    pipeline: true,
    connectionTimeoutMillis: connectTimeoutMs,
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  } as pg.ClientConfig);
  const stream = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection
    .stream;
  let isOpen = false;
  let notices = 0;
  // A signal, not a promise: a race with a promise that lives as long as the connection keeps every answer until then.
  const gone = new AbortController();
  const close = (cause: unknown): void => {
    isOpen = false;
    gone.abort(new ConnectionLost(cause));
  };
  client.on('error', close);
  client.on('end', () => close(new Error('the server closed the connection')));
  client.on('notice', () => {
    notices += 1;
  });
  const destroy = (): void => {
    stream.destroy();
    close(new Error('the connection was given up'));
  };
  try {
    await client.connect();
  } catch (cause) {
    destroy();
    throw new DomainError('UNAVAILABLE', 'PostgreSQL does not accept a connection', {
      cause,
      reason: 'USAGE_STORE_DOWN',
    });
  }
  isOpen = true;
  return {
    get isOpen() {
      return isOpen;
    },
    async trip(statements, timeoutMs) {
      if (!isOpen) throw new ConnectionLost(new Error('not connected'));
      const before = notices;
      stream.cork();
      const sent = statements.map(({ name, text, values = [] }) =>
        client.query<Record<string, unknown>>({ name, text, values: [...values] }),
      );
      stream.uncork();
      const timer = setTimeout(destroy, timeoutMs);
      try {
        const settled = await withinDeadline(gone.signal, Promise.allSettled(sent));
        const failed = settled.find((one) => one.status === 'rejected');
        if (failed !== undefined) {
          // An answer of the server; anything else is about the connection.
          if (findSqlState(failed.reason) === undefined) throw new ConnectionLost(failed.reason);
          throw failed.reason;
        }
        return {
          answers: settled.flatMap((one) =>
            one.status === 'fulfilled' ? [{ rows: one.value.rows, tag: one.value.command ?? '' }] : [],
          ),
          notices: notices - before,
        };
      } finally {
        clearTimeout(timer);
      }
    },
    destroy,
    async end() {
      if (!isOpen) return;
      isOpen = false;
      await client.end();
    },
  };
}
