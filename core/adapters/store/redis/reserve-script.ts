import { readClock, script } from './script.js';

/** Counters outlive their window by this, so that a clock set back finds them. */
const graceMs = 25 * 3_600_000;
/** How far behind the follower's last step the clock may fall; must stay below the grace. */
const clockSlackMs = 3_600_000;
/** A config generation is remembered this long after it last rose: far longer than a replica serves an old config. */
const generationMs = 30 * 86_400_000;

/** First element of the reply. */
export const replies = {
  reserved: 0,
  stale: 1,
  limit: 2,
  usageLost: 3,
  deposit: 4,
  depositUnknown: 5,
  /** The plan was made for other windows than those of the server's time, the second element: plan again. */
  turned: 6,
  epochLost: 7,
  clockBack: 8,
} as const;

/**
 * The decision over all limits and accounts of a request, and carrying it out: all or nothing.
 *
 *     KEYS  1 operation, 2 expiries, 3 epoch, 4 seen, 5 generation, then L counters, then per account balance and promised
 *     ARGV  1 now or 0, 2 epoch, 3 "1" to carry it out, 4 generation, 5 paymasterId, 6 validUntil, 7 expiry member,
 *           8 record of a first reservation, 9 depositMaxAgeMs, 10 and 11 time in which the windows of the plan are the
 *           current ones, 12 first limit whose usage is lost (from 1; 0: none), 13 L,
 *           then per limit end of window, threshold and cost, then per account need
 *
 * Every key is declared, although that means that the caller plans the windows: while a Cluster moves a slot only
 * declared keys are sure to be found, and a counter that is not found would count as empty.
 *
 * Replies: [code, now, …]. reserved: and what is taken of each limit; limit: index, used by others;
 * usageLost: index; deposit: index, balance, promised to others; depositUnknown: index, 1 when it was read too long ago.
 * With ARGV[3] "0": [that, used by others of each limit, "balance:readAt" or "" and promised of each account in turn],
 * or [that] where it is about the store or the plan and not about the request.
 */
export const reserveScript = script(`
${readClock}
local isReal = ARGV[3] == '1'
local function unjudged(code)
  if isReal then return {code, now} end
  return {{code, now}}
end
local found = redis.call('MGET', unpack(KEYS, 3))
if found[1] ~= ARGV[2] then return unjudged(${replies.epochLost}) end
if found[2] and now < tonumber(found[2]) - ${clockSlackMs} then return unjudged(${replies.clockBack}) end
if now < tonumber(ARGV[10]) or now >= tonumber(ARGV[11]) then return unjudged(${replies.turned}) end

local limits = tonumber(ARGV[13])
local accounts = (#KEYS - 5 - limits) / 2
local firstNeed = 14 + 3 * limits

local generation, newest = tonumber(ARGV[4]), tonumber(found[3] or 0)
if isReal and generation > newest then redis.call('SET', KEYS[5], ARGV[4], 'PX', ${generationMs}) end

-- What the operation holds already of the counters and accounts that are asked for, by their place in KEYS.
local former = redis.call('HGET', KEYS[1], ARGV[5])
local record, held
if former then
  record = cjson.decode(former)
  held = {}
  local places = {}
  local prefix = #KEYS[3] - 5
  for i = 6, #KEYS do places[string.sub(KEYS[i], prefix + 1)] = i end
  for i = 1, #record[5], 2 do
    local place = places['c:' .. record[5][i]]
    if place then held[place] = record[5][i + 1] end
  end
  for i = 1, #record[6], 2 do
    local place = places['p:' .. record[6][i]]
    if place then held[place] = record[6][i + 1] end
  end
end

-- Judge: the first reason decides.
local refusal
local reply = {${replies.reserved}, now}
repeat
  if generation < newest then refusal = {${replies.stale}, now} break end
  local lost = tonumber(ARGV[12])
  for i = 1, limits do
    if i == lost then refusal = {${replies.usageLost}, now, i - 1} break end
    local cost = tonumber(ARGV[13 + 3 * i])
    local taken = tonumber(found[3 + i] or 0)
    local own = held and held[5 + i]
    if own then
      taken = taken - own
      if own > cost then cost = own end
    end
    if taken + cost > tonumber(ARGV[12 + 3 * i]) then refusal = {${replies.limit}, now, i - 1, taken} break end
    reply[2 + i] = taken + cost
  end
  if refusal then break end
  local oldest = now - tonumber(ARGV[9])
  for i = 1, accounts do
    local at = 2 + limits + 2 * i
    if not found[at] then refusal = {${replies.depositUnknown}, now, i - 1, 0} break end
    local colon = string.find(found[at], ':', 1, true)
    if tonumber(string.sub(found[at], colon + 1)) < oldest then
      refusal = {${replies.depositUnknown}, now, i - 1, 1}
      break
    end
    local balance = tonumber(string.sub(found[at], 1, colon - 1))
    local need = tonumber(ARGV[firstNeed + i - 1])
    local promised = tonumber(found[at + 1] or 0)
    local own = held and held[5 + limits + 2 * i]
    if own then
      promised = promised - own
      if own > need then need = own end
    end
    if promised + need > balance then
      refusal = {${replies.deposit}, now, i - 1, balance, promised}
      break
    end
  end
until true

if not isReal then
  local used, shown = {}, {}
  for i = 1, limits do used[i] = tonumber(found[3 + i] or 0) - (held and held[5 + i] or 0) end
  for i = 1, accounts do
    shown[2 * i - 1] = found[2 + limits + 2 * i] or ''
    shown[2 * i] = tonumber(found[3 + limits + 2 * i] or 0)
  end
  return {refusal or reply, used, shown}
end
if refusal then return refusal end

-- Carry out. Amounts go on as the texts that came: formatting a number is slower than a command.
for i = 1, limits do
  local amount = ARGV[13 + 3 * i]
  local own = held and held[5 + i]
  if own then amount = string.format('%d', math.max(0, tonumber(amount) - own)) end
  if found[3 + i] then
    redis.call('INCRBY', KEYS[5 + i], amount)
  else
    local ttl = tonumber(ARGV[11 + 3 * i]) - now + ${graceMs}
    redis.call('SET', KEYS[5 + i], amount, 'PX', string.format('%d', ttl))
  end
end
for i = 1, accounts do
  local amount = ARGV[firstNeed + i - 1]
  local own = held and held[5 + limits + 2 * i]
  if own then amount = string.format('%d', math.max(0, tonumber(amount) - own)) end
  redis.call('INCRBY', KEYS[5 + limits + 2 * i], amount)
end
if not former then
  redis.call('HSET', KEYS[1], ARGV[5], ARGV[8])
  redis.call('ZADD', KEYS[2], ARGV[6], ARGV[7])
  return reply
end

-- It keeps what it holds, raised to the larger amounts: the earlier signature stays valid.
local asked = cjson.decode(ARGV[8])
local function union(old, new)
  local order, amounts = {}, {}
  for _, list in ipairs({old, new}) do
    for i = 1, #list, 2 do
      local known = amounts[list[i]]
      if not known then order[#order + 1] = list[i] end
      if not known or known < list[i + 1] then amounts[list[i]] = list[i + 1] end
    end
  end
  for i, name in ipairs(order) do order[i] = cjson.encode(name) .. ',' .. string.format('%d', amounts[name]) end
  return '[' .. table.concat(order, ',') .. ']'
end
local validUntil = string.format('%d', math.max(record[1], asked[1]))
local parts = {validUntil, cjson.encode(asked[2]), cjson.encode(asked[3]), cjson.encode(asked[4])}
parts[5] = union(record[5], asked[5])
parts[6] = union(record[6], asked[6])
redis.call('HSET', KEYS[1], ARGV[5], '[' .. table.concat(parts, ',') .. ']')
redis.call('ZADD', KEYS[2], validUntil, ARGV[7])
return reply
`);
