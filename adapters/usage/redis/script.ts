import { createHash } from 'node:crypto';

/** A Lua script, and the hash by which Redis knows it once it has been sent. */
export type Script = { readonly lua: string; readonly sha: string };

/**
 * `allow-oom`: for scripts that free memory or overwrite a little, so that a full Redis can be freed. `no-writes`: for
 * reads, which a full Redis would refuse otherwise.
 */
type Flag = 'allow-oom' | 'no-writes';

/**
 * Every script starts with `#!lua`. Redis then refuses to start it when memory, disk or role do not allow a write, so
 * that no script can stop half-way.
 */
export function script(body: string, flag?: Flag): Script {
  const lua = `#!lua${flag === undefined ? '' : ` flags=${flag}`}\n${body.trim()}\n`;
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}

/** First element of a reply. Each script says which of them it may answer. */
export const replies = {
  done: 0,
  stale: 1,
  limit: 2,
  usageLost: 3,
  deposit: 4,
  depositUnknown: 5,
  /** The plan was made for other windows than those at the server's time. */
  turned: 6,
  epochLost: 7,
  clockBack: 8,
  /** The data are older than this process has already seen. */
  behind: 9,
  suspended: 10,
  barred: 11,
  held: 12,
  /** Of the follower's step: the cursor is another one. */
  otherCursor: 13,
  /** Of the follower's step: records name keys that were not declared. */
  contested: 14,
  /** Of the follower's step: an earlier step was not finished. */
  unfinished: 15,
  /** Of one request among several: an error, for example because a record is not one of ours. */
  failed: 16,
  notCommitted: 17,
  /** The stream of the ledger has used up its room. */
  ledgerFull: 18,
} as const;

/**
 * Sets `now`, in milliseconds: the time of Redis, so that the clocks of replicas need not agree. ARGV[1] is used
 * instead when it is not 0.
 */
export const readClock = `
local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/**
 * The beginning of a script that writes to a chain. KEYS 1 epoch, 2 seen, 3 sequence, 4 own writes; ARGV 1 now or 0, 2
 * epoch, 3 highest sequence that this process has seen, 4 highest number of its own writes (0: forgotten), 5 "1" to
 * renew the lifetime of that number. Sets `head`, the values of the four keys, and `now`.
 */
export const openChain = `
${readClock}
local head = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
if head[1] ~= ARGV[2] then return {${replies.epochLost}, now} end
if tonumber(head[3] or 0) < tonumber(ARGV[3]) or tonumber(head[4] or 0) < tonumber(ARGV[4]) then
  return {${replies.behind}, now}
end
`;

/** How long Redis keeps the number of a process' own writes; see chain-scripts.ts. */
export const ownWritesMs = 86_400_000;

/**
 * The end of such a script after it has written: sets `sequence` and `own`, the third and fourth element of its reply.
 */
export const closeChain = `
local sequence = redis.call('INCR', KEYS[3])
local own = redis.call('INCR', KEYS[4])
if own == 1 or ARGV[5] == '1' then redis.call('PEXPIRE', KEYS[4], ${ownWritesMs}) end
`;
