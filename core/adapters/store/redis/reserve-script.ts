import { readClock, script } from './script.js';

/** Counters outlive their window by this, so that a clock set back finds them. */
export const graceMs = 25 * 3_600_000;
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
 * With ARGV[3] "0": [that, used by others of each limit, "balance:readAt" or "" and promised of each account in turn].
 */
export const reserveScript = script(`
${readClock}
local found = redis.call('MGET', unpack(KEYS, 3))
if found[1] ~= ARGV[2] then return {${replies.epochLost}, now} end
if found[2] and now < tonumber(found[2]) - ${clockSlackMs} then return {${replies.clockBack}, now} end
if now < tonumber(ARGV[10]) or now >= tonumber(ARGV[11]) then return {${replies.turned}, now} end

local isReal = ARGV[3] == '1'
local paymaster = ARGV[5]
local limits = tonumber(ARGV[13])
local accounts = (#KEYS - 5 - limits) / 2
local newNeeds = 13 + 3 * limits

-- What the operation holds already, by the name of counter or account.
local former = redis.call('HGET', KEYS[1], paymaster)
local record, heldCosts, heldNeeds
local prefix = #KEYS[3] - 5
local function name(key) return string.sub(key, prefix + 3) end
local function amounts(list)
  local byName = {}
  for i = 1, #list, 2 do byName[list[i]] = list[i + 1] end
  return byName
end
if former then
  record = cjson.decode(former)
  heldCosts, heldNeeds = amounts(record[5]), amounts(record[6])
end

local totals = {}
local function judge()
  local generation, newest = tonumber(ARGV[4]), tonumber(found[3] or 0)
  if generation < newest then return {${replies.stale}, now} end
  if isReal and generation > newest then
    redis.call('SET', KEYS[5], ARGV[4], 'PX', ${generationMs})
  end
  local lost = tonumber(ARGV[12])
  for i = 1, limits do
    if i == lost then return {${replies.usageLost}, now, i - 1} end
    local at = 14 + 3 * (i - 1)
    local cost = tonumber(ARGV[at + 2])
    local taken = tonumber(found[3 + i] or 0)
    if former then
      local held = heldCosts[name(KEYS[5 + i])] or 0
      taken = taken - held
      if held > cost then cost = held end
    end
    if taken + cost > tonumber(ARGV[at + 1]) then return {${replies.limit}, now, i - 1, taken} end
    totals[i] = taken + cost
  end
  local oldest = now - tonumber(ARGV[9])
  for i = 1, accounts do
    local at = 3 + limits + 2 * i - 1
    if not found[at] then return {${replies.depositUnknown}, now, i - 1, 0} end
    local balance, readAt = string.match(found[at], '^(%d+):(%d+)$')
    if tonumber(readAt) < oldest then return {${replies.depositUnknown}, now, i - 1, 1} end
    balance = tonumber(balance)
    local need = tonumber(ARGV[newNeeds + i])
    local promised = tonumber(found[at + 1] or 0)
    if former then
      local held = heldNeeds[name(KEYS[5 + limits + 2 * i])] or 0
      promised = promised - held
      if held > need then need = held end
    end
    if promised + need > balance then return {${replies.deposit}, now, i - 1, balance, promised} end
    totals[limits + i] = promised + need
  end
end
local refusal = judge()

if not isReal then
  local used, shown = {}, {}
  for i = 1, limits do
    used[i] = tonumber(found[3 + i] or 0) - (former and heldCosts[name(KEYS[5 + i])] or 0)
  end
  for i = 1, accounts do
    local at = 3 + limits + 2 * i - 1
    shown[2 * i - 1] = found[at] or ''
    shown[2 * i] = tonumber(found[at + 1] or 0)
  end
  return {refusal or {${replies.reserved}, now}, used, shown}
end
if refusal then return refusal end

for i = 1, limits do
  local ttl = tonumber(ARGV[14 + 3 * (i - 1)]) - now + ${graceMs}
  redis.call('SET', KEYS[5 + i], totals[i], 'PX', ttl)
end
for i = 1, accounts do
  redis.call('SET', KEYS[5 + limits + 2 * i], totals[limits + i])
end
if not former then
  redis.call('HSET', KEYS[1], paymaster, ARGV[8])
  redis.call('ZADD', KEYS[2], ARGV[6], ARGV[7])
else
  -- It keeps what it holds, raised to the larger amounts: the earlier signature stays valid.
  local asked = cjson.decode(ARGV[8])
  local function union(held, byName, more)
    for i = 1, #more, 2 do
      if not byName[more[i]] then
        held[#held + 1] = more[i]
        held[#held + 1] = more[i + 1]
      end
    end
    local larger = amounts(more)
    local parts = {}
    for i = 1, #held, 2 do
      local amount = held[i + 1]
      if larger[held[i]] and larger[held[i]] > amount then amount = larger[held[i]] end
      parts[#parts + 1] = cjson.encode(held[i]) .. ',' .. string.format('%.0f', amount)
    end
    return '[' .. table.concat(parts, ',') .. ']'
  end
  local validUntil = math.max(record[1], asked[1])
  local head = string.format('%.0f', validUntil)
  for i = 2, 4 do head = head .. ',' .. cjson.encode(asked[i]) end
  local costs = union(record[5], heldCosts, asked[5])
  local needs = union(record[6], heldNeeds, asked[6])
  redis.call('HSET', KEYS[1], paymaster, '[' .. head .. ',' .. costs .. ',' .. needs .. ']')
  redis.call('ZADD', KEYS[2], string.format('%.0f', validUntil), ARGV[7])
end
totals[limits + 1] = nil
return {${replies.reserved}, now, unpack(totals, 1, limits)}
`);
