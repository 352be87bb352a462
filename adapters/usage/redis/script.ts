import { createHash } from 'node:crypto';

/** A Lua script and the name by which Redis knows it once it was sent. */
export type Script = { readonly lua: string; readonly sha: string };

/**
 * `allow-oom`: for scripts that shrink, or overwrite a little, so that a full Redis can be freed. `no-writes`: for reads,
 * which a full Redis would refuse otherwise.
 */
type Flag = 'allow-oom' | 'no-writes';

/**
 * Every script starts with `#!lua`: Redis then refuses to start it when memory, disk or role do not allow a write, so
 * that none of them can stop half-way.
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
  /** The plan was made for other windows than those of the server's time. */
  turned: 6,
  epochLost: 7,
  clockBack: 8,
  /** The data are older than what this process has seen of them. */
  behind: 9,
  suspended: 10,
  barred: 11,
  held: 12,
  /** Of the follower's step: the cursor is another. */
  otherCursor: 13,
  /** Of the follower's step: records name keys that were not declared. */
  contested: 14,
  /** Of the follower's step: an earlier one was not carried out to its end. */
  unfinished: 15,
  /** Of one request among several: an error, for example of a record that is not one of ours. */
  failed: 16,
} as const;

/**
 * Sets `now`, in milliseconds: the time of Redis, so that replicas need not agree on theirs; ARGV[1] where it is not 0.
 */
export const readClock = `
local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/**
 * What a script that writes to a chain begins with. KEYS 1 epoch, 2 seen, 3 sequence, 4 own writes; ARGV 1 now or 0, 2 epoch,
 * 3 highest sequence that this process has seen, 4 highest number of its own writes (0: forgotten), 5 "1" where that number
 * is to be kept anew. Sets `head`, the values of the four keys, and `now`.
 */
export const openChain = `
${readClock}
local head = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
if head[1] ~= ARGV[2] then return {${replies.epochLost}, now} end
if tonumber(head[3] or 0) < tonumber(ARGV[3]) or tonumber(head[4] or 0) < tonumber(ARGV[4]) then
  return {${replies.behind}, now}
end
`;

/** How long the number of a process' own writes is kept; see chain-scripts.ts. */
export const ownWritesMs = 86_400_000;

/** What it ends with, once it has written: sets `sequence` and `own`, the third and the fourth element of its reply. */
export const closeChain = `
local sequence = redis.call('INCR', KEYS[3])
local own = redis.call('INCR', KEYS[4])
if own == 1 or ARGV[5] == '1' then redis.call('PEXPIRE', KEYS[4], ${ownWritesMs}) end
`;
