import { readClock, script } from './script.js';

/**
 * One step of the follower, or nothing.
 *
 *     KEYS  1 epoch, 2 cursor, 3 seen, 4 expiries, 5 accounts, then balances, promised sums, counters, operations
 *     ARGV  1 now or 0, 2 epoch, 3 expected cursor or "", 4 next cursor, 5…7 numbers of balances, promised sums, counters,
 *           then per balance account name and value, per promised sum and counter what to add,
 *           per operation paymasterId, its hash field, SHA-1 of the record that the sums were made from, expiry member
 *
 * Replies [code, now]: 1 done; 0 the cursor is another; 2 a record has changed since it was read; 7 as in the reserve script.
 */
export const advanceScript = script(`
${readClock}
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return {7, now} end
if (redis.call('GET', KEYS[2]) or '') ~= ARGV[3] then return {0, now} end
local balances, sums, counters = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local firstSum = 5 + balances
local firstCounter = firstSum + sums
local firstOperation = firstCounter + counters
local deltas = 7 + 2 * balances
local records = deltas + sums + counters
for i = 1, #KEYS - firstOperation do
  local at = records + 4 * (i - 1)
  local record = redis.call('HGET', KEYS[firstOperation + i], ARGV[at + 1])
  if not record or redis.sha1hex(record) ~= ARGV[at + 3] then return {2, now} end
end

for i = 1, balances do
  redis.call('SET', KEYS[5 + i], ARGV[7 + 2 * i])
  redis.call('SADD', KEYS[5], ARGV[6 + 2 * i])
end
for i = 1, sums do redis.call('INCRBY', KEYS[firstSum + i], ARGV[deltas + i]) end
for i = 1, counters do
  -- One that has gone with its window is not brought back.
  if redis.call('EXISTS', KEYS[firstCounter + i]) == 1 then
    redis.call('INCRBY', KEYS[firstCounter + i], ARGV[deltas + sums + i])
  end
end
for i = 1, #KEYS - firstOperation do
  local at = records + 4 * (i - 1)
  redis.call('HDEL', KEYS[firstOperation + i], ARGV[at + 1], ARGV[at + 2])
  redis.call('ZREM', KEYS[4], ARGV[at + 4])
end
redis.call('SET', KEYS[2], ARGV[4])
if now > tonumber(redis.call('GET', KEYS[3]) or 0) then redis.call('SET', KEYS[3], now) end
return {1, now}
`);

/** KEYS 1 epoch, 2 balance, 3 accounts; ARGV 1 0, 2 epoch, 3 account name, 4 value. Replies [1, now], or 7 instead. */
export const addBalanceScript = script(`
${readClock}
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return {7, now} end
if redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('SET', KEYS[2], ARGV[4])
  redis.call('SADD', KEYS[3], ARGV[3])
end
return {1, now}
`);

/** KEYS operations; ARGV per operation paymasterId, its hash field, userOpHash. Only reservations that live get one. */
export const noteSignedScript = script(`
for i = 1, #KEYS do
  local at = 3 * (i - 1)
  if redis.call('HEXISTS', KEYS[i], ARGV[at + 1]) == 1 then
    redis.call('HSET', KEYS[i], ARGV[at + 2], ARGV[at + 3])
  end
end
return 1
`);

/** KEYS 1 message; ARGV 1 now or 0, 2 text, 3 end in milliseconds. A message is kept as its end and its text. */
export const putMessageScript = script(`
${readClock}
local ttl = tonumber(ARGV[3]) - now
if ttl <= 0 then redis.call('DEL', KEYS[1]) return 0 end
redis.call('SET', KEYS[1], ARGV[3] .. ':' .. ARGV[2], 'PX', ttl)
return 1
`);

/** KEYS 1 message; ARGV 1 now or 0, 2 "" to read it, or the text that must be live to use it up. Replies it, or false. */
export const readMessageScript = script(`
${readClock}
local kept = redis.call('GET', KEYS[1])
if not kept then return false end
local at = string.find(kept, ':', 1, true)
if tonumber(string.sub(kept, 1, at - 1)) <= now then return false end
local text = string.sub(kept, at + 1)
if ARGV[2] == '' then return text end
if text ~= ARGV[2] then return false end
redis.call('DEL', KEYS[1])
return text
`);

/** KEYS 1 epoch; ARGV 1 now or 0, 2 the value it must have now or "", 3 id, 4 "1" for the beginning of all usage, else "0".
 *  Writes id:since and replies what is kept then, and now. */
export const writeEpochScript = script(`
${readClock}
local kept = redis.call('GET', KEYS[1]) or ''
if kept == ARGV[2] then
  kept = ARGV[3] .. ':' .. (ARGV[4] == '1' and '0' or string.format('%.0f', now))
  redis.call('SET', KEYS[1], kept)
end
return {kept, now}
`);

/** KEYS 1 lease; ARGV 1 holder, 2 milliseconds; 0 gives it back. Replies 1 when the holder has it, or had it. */
export const leaseScript = script(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) return 1 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`);
