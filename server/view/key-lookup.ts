import { inTime } from '../../adapters/within-deadline.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { DomainError } from '../../core/errors.js';
import type { RateLimit } from '../../core/resources/schema-parts.js';
import type { Clock } from '../../core/units/time.js';
import { createRateLimiter, limited } from '../http/rate-limit.js';
import type { ServedPaymaster } from './served-paymaster.js';

const lookupsPerSecond = 20;
const lookupsOfClient: RateLimit = { requests: 4, perSeconds: 1 };
const maxWaiting = 100;
const maxWaitingOfClient = 10;
const deadlineMs = 3_000;
const rememberMs = 10_000;
const maxRemembered = 10_000;

type CachedKey = { readonly until: number; readonly paymaster: ServedPaymaster };

/**
 * Looks up keys that the watch has not delivered, without letting strangers cause load with wrong keys:
 *
 * - One look-up per key at a time, for all callers together.
 * - At most 20 look-ups per second in this process, 4 of them for one client. Beyond that it is not known whether the key exists, so
 *   the answer is RATE_LIMITED. The answer is the same when 100 requests, or 10 of one client, already wait for a look-up.
 * - A look-up that takes longer than 3 seconds is UNAVAILABLE.
 * - A key that was not found is not looked up again for ten seconds. A key that was found is remembered for the same time,
 *   because the watch delivers its paymaster before that.
 */
export function createKeyLookup(deps: {
  readonly configs: Pick<ConfigStore, 'findByKey'>;
  readonly clock: Clock;
}) {
  const { configs, clock } = deps;
  const unknownUntil = new Map<string, number>();
  // Has at most 200 entries (20 a second for ten seconds), so a watch event may search all of them.
  const found = new Map<string, CachedKey>();
  const inFlight = new Map<string, Promise<ServedPaymaster | undefined>>();
  // Paymasters with a watch event during a look-up: the look-up's answer may be older than the event.
  const changed = new Set<string>();
  const clients = createRateLimiter({ clock });
  const waitingCounts = new Map<string, number>();
  let waiting = 0;
  let tokens = lookupsPerSecond;
  let refilledAt = clock.now();

  function takeToken(client: string): void {
    const now = clock.now();
    tokens = Math.min(lookupsPerSecond, tokens + (Math.max(0, now - refilledAt) * lookupsPerSecond) / 1000);
    refilledAt = now;
    if (tokens < 1 || clients.take(client, lookupsOfClient) > 0) throw tooMany();
    tokens -= 1;
  }

  /** Bounds the number of waiting requests, since each holds a socket and the data that node has read from it. */
  async function wait<T>(client: string, lookup: Promise<T>): Promise<T> {
    const others = waitingCounts.get(client) ?? 0;
    if (waiting >= maxWaiting || others >= maxWaitingOfClient) throw tooMany();
    waiting += 1;
    waitingCounts.set(client, others + 1);
    try {
      return await lookup;
    } finally {
      waiting -= 1;
      const left = (waitingCounts.get(client) ?? 1) - 1;
      if (left > 0) waitingCounts.set(client, left);
      else waitingCounts.delete(client);
    }
  }

  function remember(sha256: string, paymaster: ServedPaymaster | undefined): void {
    const until = clock.now() + rememberMs;
    if (paymaster === undefined) unknownUntil.set(sha256, until);
    else found.set(sha256, { until, paymaster });
    for (const oldest of unknownUntil.keys()) {
      if (unknownUntil.size <= maxRemembered) break;
      unknownUntil.delete(oldest);
    }
    for (const [key, entry] of found) if (entry.until <= clock.now()) found.delete(key);
  }

  async function ask(
    sha256: string,
    compile: (config: PaymasterConfig) => ServedPaymaster | undefined,
  ): Promise<ServedPaymaster | undefined> {
    try {
      const config = await inTime(deadlineMs, configs.findByKey(sha256), tooSlow);
      const paymaster = config === undefined || changed.has(config.paymasterId) ? undefined : compile(config);
      remember(sha256, paymaster);
      return paymaster;
    } finally {
      inFlight.delete(sha256);
      if (inFlight.size === 0) changed.clear();
    }
  }

  return {
    async find(
      sha256: string,
      client: string,
      compile: (config: PaymasterConfig) => ServedPaymaster | undefined,
    ): Promise<ServedPaymaster | undefined> {
      const now = clock.now();
      if (now < (unknownUntil.get(sha256) ?? 0)) return undefined;
      const known = found.get(sha256);
      if (known !== undefined && now < known.until) return known.paymaster;
      const running = inFlight.get(sha256);
      if (running !== undefined) return wait(client, running);
      takeToken(client);
      const lookup = ask(sha256, compile);
      inFlight.set(sha256, lookup);
      return wait(client, lookup);
    },
    /** Discards looked-up results for this paymaster, since a watch event about it is newer. */
    noteChange(paymasterId: string): void {
      if (inFlight.size > 0) changed.add(paymasterId);
      for (const [sha256, { paymaster }] of found)
        if (paymaster.paymasterId === paymasterId) found.delete(sha256);
    },
  };
}

function tooMany(): DomainError {
  return limited('KEY_LOOKUPS', 'Too many look-ups of unknown API keys: try again in a second.');
}

function tooSlow(): DomainError {
  return new DomainError('UNAVAILABLE', `The config store did not answer within ${deadlineMs} ms.`, {
    reason: 'KEY_LOOKUPS',
    retryAfterSeconds: 1,
  });
}
