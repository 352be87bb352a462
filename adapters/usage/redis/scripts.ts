import { closeChain, openChain, readClock, replies, script } from './script.js';
import { generationMs } from './reserve-script.js';

/**
 * KEYS 1 to 4 head, 5 balance, 6 accounts; ARGV 1 to 5 head, 6 account name, 7 value. Replies [done, now, sequence, own
 * writes], as the scripts below do.
 */
export const addBalanceScript = script(`
${openChain}
if redis.call('EXISTS', KEYS[5]) == 1 then return {${replies.done}, now, tonumber(head[3] or 0)} end
redis.call('SET', KEYS[5], ARGV[7])
redis.call('SADD', KEYS[6], ARGV[6])
${closeChain}
return {${replies.done}, now, sequence, own}
`);

/** KEYS 1 to 4 head, 5 accounts, then per account balance and promised; ARGV 1 to 5 head, account names. */
export const forgetAccountsScript = script(
  `
${openChain}
for i = 1, #ARGV - 5 do
  if tonumber(redis.call('GET', KEYS[5 + 2 * i]) or 0) == 0 then
    redis.call('DEL', KEYS[4 + 2 * i], KEYS[5 + 2 * i])
    redis.call('SREM', KEYS[5], ARGV[5 + i])
  end
end
${closeChain}
return {${replies.done}, now, sequence, own}
`,
  'allow-oom',
);

/**
 * KEYS 1 to 4 head, then fences; ARGV 1 to 5 head, then generations. The number of paymasters bounds what it adds, and
 * it must be possible to stop a paymaster while memory is full.
 */
export const noteGenerationsScript = script(
  `
${openChain}
local isNewer = false
for i = 5, #KEYS do
  local kept = redis.call('GET', KEYS[i])
  local newest = tonumber(kept or 0)
  local isSuspended = not newest
  if isSuspended then newest = tonumber(string.sub(kept, 11)) end
  if tonumber(ARGV[i + 1]) > newest then
    isNewer = true
    if isSuspended then
      redis.call('SET', KEYS[i], 'suspended:' .. ARGV[i + 1])
    else
      redis.call('SET', KEYS[i], ARGV[i + 1], 'PX', ${generationMs})
    end
  end
end
if not isNewer then return {${replies.done}, now, tonumber(head[3] or 0)} end
${closeChain}
return {${replies.done}, now, sequence, own}
`,
  'allow-oom',
);

/** KEYS 1 to 4 head, 5 fence, 6 suspended; ARGV 1 to 5 head, 6 id, 7 "1" to suspend it, "0" to resume. */
export const suspendScript = script(
  `
${openChain}
local kept = redis.call('GET', KEYS[5]) or '0'
local generation = tonumber(kept) and kept or string.sub(kept, 11)
if ARGV[7] == '1' then
  redis.call('SET', KEYS[5], 'suspended:' .. generation)
  redis.call('SADD', KEYS[6], ARGV[6])
else
  redis.call('SREM', KEYS[6], ARGV[6])
  if generation == '0' then
    redis.call('DEL', KEYS[5])
  else
    redis.call('SET', KEYS[5], generation, 'PX', ${generationMs})
  end
end
${closeChain}
return {${replies.done}, now, sequence, own}
`,
  'allow-oom',
);

/**
 * KEYS operations; ARGV paymasterIds. Replies the records, false for a missing one: one command instead of hundreds.
 */
export const readRecordsScript = script(
  `
local records = {}
for i = 1, #KEYS do records[i] = redis.call('HGET', KEYS[i], ARGV[i]) end
return records
`,
  'no-writes',
);

/** KEYS any. Replies the remaining lifetime of each in milliseconds, as PTTL. */
export const readTtlsScript = script(
  `
local ttls = {}
for i = 1, #KEYS do ttls[i] = redis.call('PTTL', KEYS[i]) end
return ttls
`,
  'no-writes',
);

/** KEYS 1 message; ARGV 1 now or 0, 2 text, 3 end in milliseconds. A message is kept as its end and its text. */
export const putMessageScript = script(`
${readClock}
local ttl = tonumber(ARGV[3]) - now
if ttl <= 0 then redis.call('DEL', KEYS[1]) return 0 end
redis.call('SET', KEYS[1], ARGV[3] .. ':' .. ARGV[2], 'PX', ttl)
return 1
`);

const liveMessage = `
${readClock}
local kept = redis.call('GET', KEYS[1])
if not kept then return false end
local at = string.find(kept, ':', 1, true)
if tonumber(string.sub(kept, 1, at - 1)) <= now then return false end
local text = string.sub(kept, at + 1)
`;

/** KEYS 1 message; ARGV 1 now or 0. Replies the live message, or false. */
export const readMessageScript = script(`${liveMessage} return text`, 'no-writes');

/** KEYS 1 message; ARGV 1 now or 0, 2 the text that must be live. Uses it up and replies it, or false. */
export const consumeMessageScript = script(
  `
${liveMessage}
if text ~= ARGV[2] then return false end
redis.call('DEL', KEYS[1])
return text
`,
  'allow-oom',
);

/** KEYS 1 epoch, 2 sequence, 3 longest expiry; ARGV 1 now or 0. Replies [epoch or "", sequence, longest expiry, now]. */
export const readEpochScript = script(
  `
${readClock}
local kept = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
return {kept[1] or '', tonumber(kept[2] or 0), tonumber(kept[3] or 0), now}
`,
  'no-writes',
);

/**
 * KEYS as above; ARGV 1 now or 0, 2 the value it must have now or "", 3 its new value, in which %now is the time.
 * Replies as above, with the values after the call.
 */
export const writeEpochScript = script(
  `
${readClock}
if (redis.call('GET', KEYS[1]) or '') == ARGV[2] then
  redis.call('SET', KEYS[1], (string.gsub(ARGV[3], '%%now', string.format('%.0f', now))))
  redis.call('INCR', KEYS[2])
end
local kept = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
return {kept[1], tonumber(kept[2] or 0), tonumber(kept[3] or 0), now}
`,
  'allow-oom',
);

/** KEYS as above; ARGV 1 the epoch that must be stored, 2 the longest expiry. */
export const noteExpiryScript = script(
  `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[3], ARGV[2]) end
return 1
`,
  'allow-oom',
);

/**
 * KEYS 1 lease; ARGV 1 holder, 2 milliseconds; 0 gives it back. Replies 1 when the holder has it, or had it. A holder
 * whose name does not have the present form is of a version that can no longer read the data: its lease is taken from
 * it.
 */
export const leaseScript = script(
  `
local holder = redis.call('GET', KEYS[1])
local isOurs = holder and string.sub(holder, 1, 2) == '2:'
if isOurs and holder ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then
  if isOurs then redis.call('DEL', KEYS[1]) end
  return 1
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`,
  'allow-oom',
);

// For the conversion of data of the first format; see convert.ts. Both scripts end with an error when the conversion is
// over.
const whileConverting = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('the usage data are converted by another process') end
`;

/** KEYS 1 epoch, then operations; ARGV 1 the stored text of the epoch, then per operation paymasterId and record. */
export const convertRecordsScript = script(
  `
${whileConverting}
for i = 2, #KEYS do
  redis.call('HSET', KEYS[i], ARGV[2 * i - 2], ARGV[2 * i - 1])
  redis.call('HDEL', KEYS[i], ARGV[2 * i - 2] .. '/hash')
end
return 1
`,
  'allow-oom',
);

/**
 * KEYS 1 epoch, then counters; ARGV 1 the stored text of the epoch, then per counter value (0: deleted) and
 * milliseconds to keep it (0: without end).
 */
export const setCountersScript = script(
  `
${whileConverting}
for i = 2, #KEYS do
  if ARGV[2 * i - 2] == '0' then
    redis.call('DEL', KEYS[i])
  elseif ARGV[2 * i - 1] == '0' then
    redis.call('SET', KEYS[i], ARGV[2 * i - 2])
  else
    redis.call('SET', KEYS[i], ARGV[2 * i - 2], 'PX', ARGV[2 * i - 1])
  end
end
return 1
`,
  'allow-oom',
);
