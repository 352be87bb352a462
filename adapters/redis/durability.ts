import type { Redis } from 'ioredis';
import { DomainError } from '../../core/errors.js';
import { textsOf } from './reply.js';

/** `always`: a promise survives a power loss. `none` is for trials: a crash of Redis loses promises. */
export type RedisDurability = 'always' | 'none';

/** Bytes; `maxmemory` is 0 when it has no bound. */
export type RedisMemory = { readonly used: number; readonly maxmemory: number };

/** Scripts have flags since this version. */
const oldestMajor = 7;

const required = {
  'maxmemory-policy': { value: 'noeviction', why: 'a counter that is evicted counts as empty' },
  appendonly: { value: 'yes', why: 'a restart would lose what is promised' },
  appendfsync: { value: 'always', why: 'a crash would lose what was promised last' },
} as const;
const settings = Object.keys(required);

/**
 * Refuses a server that is too old or may lose data: throws UNAVAILABLE, reason USAGE_STORE_UNSAFE, naming each wrong
 * setting and the value to set. Also refuses a replica, which would not see its master's newest counters. Returns how
 * full the server is.
 */
export async function checkServer(
  redis: Redis,
  name: string,
  durability: RedisDurability,
): Promise<RedisMemory> {
  const info = infoOf(await redis.info());
  const version = info.get('redis_version') ?? '';
  if (!(Number.parseInt(version, 10) >= oldestMajor))
    throw unsafe(
      `${name} is Redis ${version || 'of an unknown version'}: the usage store needs 7.0 or later`,
    );
  if (info.get('role') !== 'master')
    throw unsafe(`${name} is a replica: the usage store must talk to the master`);
  const found = await configOf(redis, name);
  const wrong = settings.flatMap((setting) => problemOf(setting, found.get(setting), durability));
  if (wrong.length > 0) throw unsafe(`${name} must not be used as usage store: ${wrong.join('; ')}`);
  return { used: Number(info.get('used_memory') ?? 0), maxmemory: Number(info.get('maxmemory') ?? 0) };
}

/** Lines "field:value" of INFO. */
function infoOf(text: string): ReadonlyMap<string, string> {
  const lines = text.split(/\r?\n/).map((line) => [line, line.indexOf(':')] as const);
  return new Map(
    lines.filter(([, at]) => at > 0).map(([line, at]) => [line.slice(0, at), line.slice(at + 1)]),
  );
}

function problemOf(setting: string, value: string | undefined, durability: RedisDurability): string[] {
  const rule = Object.entries(required).find(([key]) => key === setting)?.[1];
  if (rule === undefined || value === rule.value) return [];
  if (durability === 'none' && setting !== 'maxmemory-policy') return [];
  return [`${setting} must be "${rule.value}", got "${value ?? ''}" (${rule.why})`];
}

async function configOf(redis: Redis, name: string): Promise<ReadonlyMap<string, string>> {
  let reply: unknown;
  try {
    reply = await redis.call('CONFIG', 'GET', ...settings);
  } catch (error) {
    if (error instanceof Error && /NOPERM|unknown command/i.test(error.message))
      throw unsafe(
        `the settings of ${name} cannot be read, so it is not known whether it may forget: allow +config|get`,
      );
    throw error;
  }
  const list = textsOf(reply);
  const found = new Map<string, string>();
  for (let i = 0; i + 1 < list.length; i += 2) found.set(list[i] ?? '', list[i + 1] ?? '');
  return found;
}

function unsafe(message: string): DomainError {
  return new DomainError('UNAVAILABLE', message, { reason: 'USAGE_STORE_UNSAFE', retryAfterSeconds: 5 });
}
