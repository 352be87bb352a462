import type { ConnectionOptions } from 'node:tls';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { readText } from '../read-text.js';
import type { RedisAddress } from './address.js';

/** Files of a TLS client; the system's authorities are trusted unless `caFile` names others. */
export type RedisTls = {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  /** Name that the server's certificate must have. Default: the host of the address. */
  readonly serverName?: string;
};

/** Mounted files, read again before each connection, so that a rotated password is found. */
export type RedisCredentials = {
  readonly usernameFile?: string;
  readonly passwordFile?: string;
  readonly sentinelUsernameFile?: string;
  readonly sentinelPasswordFile?: string;
};

export type ClientOptions = {
  readonly address: RedisAddress;
  readonly tls?: RedisTls | undefined;
  readonly credentials?: RedisCredentials | undefined;
  /** Longest wait for an answer. */
  readonly timeoutMs: number;
  /** Once it is aborted, no connection is made any longer. */
  readonly stopped: AbortSignal;
};

const longestBackoffMs = 2_000;
const mostRedirections = 3;

/**
 * A client that never waits for a connection and never sends anything twice. While there is no connection, every call
 * fails at once. A call whose connection breaks fails too.
 */
export function createClient(options: ClientOptions): Redis | Cluster {
  const { address } = options;
  const common = commonOptions(options);
  const retry = retryUntil(options.stopped);
  switch (address.kind) {
    case 'standalone':
      return new Redis({ ...common, ...address.node, db: address.database });
    case 'sentinel':
      return new Redis({
        ...common,
        ...sentinelCredentials(options.credentials),
        sentinels: address.nodes.map((node) => ({ ...node })),
        name: address.name,
        role: 'master',
        sentinelCommandTimeout: options.timeoutMs,
        sentinelRetryStrategy: retry,
        // Checked after each reconnection: a master that was demoted closes its connections or answers READONLY.
        failoverDetector: true,
        sentinelReconnectStrategy: retry,
        ...(common.tls === undefined ? {} : { enableTLSForSentinelMode: true, sentinelTLS: common.tls }),
      });
    case 'cluster': {
      const { retryStrategy: _, enableOfflineQueue: __, ...redisOptions } = common;
      return new Cluster(
        address.nodes.map((node) => ({ ...node })),
        {
          redisOptions,
          enableOfflineQueue: false,
          lazyConnect: true,
          scaleReads: 'master',
          maxRedirections: mostRedirections,
          retryDelayOnFailover: 50,
          retryDelayOnClusterDown: 50,
          retryDelayOnTryAgain: 20,
          slotsRefreshTimeout: options.timeoutMs,
          clusterRetryStrategy: retry,
          // Certificates name hosts; nodes announce addresses. With TLS the name is checked as serverName.
          dnsLookup: (host, callback) => callback(null, host),
        },
      );
    }
  }
}

/** Reads the mounted credentials again into the options of a client, for its next connection. */
export function refreshCredentials(client: Redis | Cluster, credentials: RedisCredentials | undefined): void {
  const fresh = dataCredentials(credentials);
  if (client instanceof Redis) Object.assign(client.options, fresh, sentinelCredentials(credentials));
  if (client instanceof Cluster) {
    Object.assign(client.options.redisOptions ?? {}, fresh);
    for (const node of client.nodes('all')) Object.assign(node.options, fresh);
  }
}

function commonOptions(options: ClientOptions): Omit<RedisOptions, 'replyMapping'> {
  const { tls, credentials, timeoutMs, address, stopped } = options;
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: Math.max(timeoutMs, 2_000),
    disconnectTimeout: 500,
    commandTimeout: timeoutMs,
    // A peer that has vanished does not answer, and TCP would only notice after a quarter of an hour.
    socketTimeout: 3 * timeoutMs,
    retryStrategy: retryUntil(stopped),
    // 1: connect again, and do not repeat the command.
    reconnectOnError: (error) => (/^(READONLY|LOADING|NOAUTH)/.test(error.message) ? 1 : false),
    disableClientInfo: true,
    protocol: 2,
    ...dataCredentials(credentials),
    ...(address.isTls ? { tls: tlsOptions(tls) } : {}),
  };
}

function retryUntil(stopped: AbortSignal): (attempt: number) => number | null {
  return (attempt) => {
    if (stopped.aborted) return null;
    return Math.min(longestBackoffMs, 25 * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);
  };
}

function dataCredentials(files: RedisCredentials = {}): Pick<RedisOptions, 'username' | 'password'> {
  return {
    ...read('username', 'usernameFile', files.usernameFile),
    ...read('password', 'passwordFile', files.passwordFile),
  };
}

function sentinelCredentials(
  files: RedisCredentials = {},
): Pick<RedisOptions, 'sentinelUsername' | 'sentinelPassword'> {
  return {
    ...read('sentinelUsername', 'sentinelUsernameFile', files.sentinelUsernameFile),
    ...read('sentinelPassword', 'sentinelPasswordFile', files.sentinelPasswordFile),
  };
}

function tlsOptions(files: RedisTls = {}): ConnectionOptions {
  return {
    ...read('ca', 'tls.caFile', files.caFile),
    ...read('cert', 'tls.certFile', files.certFile),
    ...read('key', 'tls.keyFile', files.keyFile),
    ...(files.serverName === undefined ? {} : { servername: files.serverName }),
  };
}

/** {name: content}, without the line break that editors add; nothing when no file is named. */
function read<K extends string>(name: K, field: string, path: string | undefined): { [P in K]?: string } {
  const result: { [P in K]?: string } = {};
  if (path !== undefined) result[name] = readText(field, path);
  return result;
}
