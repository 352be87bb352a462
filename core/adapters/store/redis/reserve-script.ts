import { mergeRecords } from './merge.js';
import { closeChain, readClock, replies, script } from './script.js';

/** Counters outlive their window by this, so that a clock set back finds them. */
export const graceMs = 25 * 3_600_000;
/** A window that ends later than this from now is one that never ends: its counter has no end either. */
export const endlessMs = 100 * 365 * 86_400_000;
/** How far behind the follower's last step the clock may fall; must stay below the grace. */
const clockSlackMs = 3_600_000;
/** A generation is remembered this long after it last rose: far longer than a replica serves an old config. */
export const generationMs = 30 * 86_400_000;

/**
 * The decision over everything in a request.
 *
 *     KEYS  1 to 4 head, then F fences, B bars, L limits, H holds, P settled uses that count for a hold as well,
 *           per account balance and promised; last operation, expiries
 *     ARGV  1 to 5 head, 6 and 7 time in which the windows of the plan are the current ones, 8 first limit whose usage is
 *           lost (from 1; 0: none), 9 depositMaxAgeMs, 10 paymasterId, 11 to 15 F, B, L, H, P,
 *           then per fence generation, per bar most, per limit threshold (-1: not enforced), cost and end of the window,
 *           per hold cost, threshold ("1000", or "2@25": 25 % of the balance of the second account), number of settled
 *           uses and 1 where it admits one alone; per account need; for the script that reserves then validUntil,
 *           expiry member, and the record of a first reservation
 *
 * Every key is declared, although that means that the caller plans the windows: while a Cluster moves a slot only
 * declared keys are sure to be found, and a counter that is not found would count as empty.
 *
 * `judged()` answers the refusal, or leaves what is taken of each limit in `reply`. One that is about the store or the plan ends
 * the script: [code, now].
 */
const judge = `
${readClock}
local found = redis.call('MGET', unpack(KEYS, 1, #KEYS - 2))
if found[1] ~= ARGV[2] then return {${replies.epochLost}, now} end
local sequence = tonumber(found[3] or 0)
if sequence < tonumber(ARGV[3]) or tonumber(found[4] or 0) < tonumber(ARGV[4]) then return {${replies.behind}, now} end
if found[2] and now < tonumber(found[2]) - ${clockSlackMs} then return {${replies.clockBack}, now} end
if now < tonumber(ARGV[6]) or now >= tonumber(ARGV[7]) then return {${replies.turned}, now, sequence} end

-- Places of the first of each kind less one: in KEYS, and in ARGV.
local fences, bars, limits, holds, uses =
  tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15])
local barKey = 4 + fences
local limitKey = barKey + bars
local holdKey = limitKey + limits
local useKey = holdKey + holds
local accountKey = useKey + uses
local accounts = (#KEYS - 2 - accountKey) / 2
local barArg = 15 + fences
local limitArg = barArg + bars
local holdArg = limitArg + 3 * limits
local needArg = holdArg + 4 * holds

local suspended, stale, raised
for i = 1, fences do
  local generation = tonumber(ARGV[15 + i])
  local kept = found[4 + i]
  local newest = tonumber(kept or 0)
  if not newest then
    suspended = suspended or i
    newest = tonumber(string.sub(kept, 11))
  end
  if generation < newest then stale = stale or i end
  if generation > newest then
    raised = raised or {}
    raised[#raised + 1] = i
  end
end

-- What the operation holds already of the counters and accounts that are asked for, by their place in KEYS.
local operation = KEYS[#KEYS - 1]
local former = redis.call('HGET', operation, ARGV[10])
local record, held
if former then
  record = cjson.decode(former)
  held = {}
  local places = {}
  local prefix = #KEYS[1] - 4
  for i = limitKey + 1, useKey do places[string.sub(KEYS[i], prefix)] = i end
  for i = accountKey + 2, #KEYS - 2, 2 do places[string.sub(KEYS[i], prefix)] = i end
  local function hold(kind, list)
    for i = 1, #list, 2 do
      local place = places[kind .. list[i]]
      if place then held[place] = list[i + 1] end
    end
  end
  hold('c:', record[5])
  hold('p:', record[6])
  hold('c:', record[8])
end

local oldest = now - tonumber(ARGV[9])
-- What others hold of the hold at this index, what the operation holds, what counts as taken, and the threshold: nil where
-- the balance that it is a share of is not known well enough, with the index of that account and why.
local function holdAt(i, use)
  local at = holdArg + 4 * i
  local own = held and held[holdKey + i] or 0
  local others = tonumber(found[holdKey + i] or 0) - own
  local taken = others
  for place = use + 1, use + tonumber(ARGV[at - 1]) do taken = taken + tonumber(found[place] or 0) end
  local most = tonumber(ARGV[at - 2])
  if most then return others, own, taken, most end
  local account, percent = string.match(ARGV[at - 2], '^(%d+)@(%d+)$')
  local kept = found[accountKey + 2 * account - 1]
  if not kept then return others, own, taken, nil, account - 1, 0 end
  local balance, readAt = string.match(kept, '^(%d+):(%d+)$')
  if tonumber(readAt) < oldest then return others, own, taken, nil, account - 1, 1 end
  -- Exact, where balance * percent may not be.
  local rest = balance % 100
  return others, own, taken, (balance - rest) / 100 * percent + math.floor(rest * percent / 100)
end

-- The first reason decides.
local reply = {${replies.done}, now, sequence, 0}
local function judged()
  if suspended then return {${replies.suspended}, now, sequence, suspended - 1} end
  if stale then return {${replies.stale}, now, sequence, stale - 1} end
  for i = 1, bars do
    local used = tonumber(found[barKey + i] or 0)
    if used > tonumber(ARGV[barArg + i]) then return {${replies.barred}, now, sequence, i - 1, used} end
  end
  local lost = tonumber(ARGV[8])
  for i = 1, limits do
    if i == lost then return {${replies.usageLost}, now, sequence, i - 1} end
    local at = limitArg + 3 * i
    local cost = tonumber(ARGV[at - 1])
    local taken = tonumber(found[limitKey + i] or 0)
    local own = held and held[limitKey + i]
    if own then
      taken = taken - own
      if own > cost then cost = own end
    end
    local threshold = tonumber(ARGV[at - 2])
    if threshold >= 0 and taken + cost > threshold then return {${replies.limit}, now, sequence, i - 1, taken} end
    reply[4 + i] = taken + cost
  end
  local use = useKey
  for i = 1, holds do
    local others, own, taken, most, account, why = holdAt(i, use)
    use = use + tonumber(ARGV[holdArg + 4 * i - 1])
    if not most then return {${replies.depositUnknown}, now, sequence, account, why} end
    local cost = math.max(own, tonumber(ARGV[holdArg + 4 * i - 3]))
    if taken + cost > most and not (others == 0 and ARGV[holdArg + 4 * i] == '1') then
      return {${replies.held}, now, sequence, i - 1, taken, most}
    end
  end
  for i = 1, accounts do
    local at = accountKey + 2 * i
    if not found[at - 1] then return {${replies.depositUnknown}, now, sequence, i - 1, 0} end
    local colon = string.find(found[at - 1], ':', 1, true)
    if tonumber(string.sub(found[at - 1], colon + 1)) < oldest then
      return {${replies.depositUnknown}, now, sequence, i - 1, 1}
    end
    local balance = tonumber(string.sub(found[at - 1], 1, colon - 1))
    local need = tonumber(ARGV[needArg + i])
    local promised = tonumber(found[at] or 0)
    local own = held and held[at]
    if own then
      promised = promised - own
      if own > need then need = own end
    end
    if promised + need > balance then return {${replies.deposit}, now, sequence, i - 1, balance, promised} end
  end
end
`;

/**
 * Decides and carries it out: all or nothing. Replies [code, now, sequence, …]. done: own writes, what is taken of each limit; suspended,
 * stale, usageLost: index; barred: index, used; limit: index, used by others; held: index, taken by others, most;
 * deposit: index, balance, promised to others; depositUnknown: index of the account, 1 when it was read too long ago.
 */
export const reserveScript = script(`
${judge}
local refusal = judged()
if raised then
  for _, i in ipairs(raised) do
    if found[4 + i] and not tonumber(found[4 + i]) then
      redis.call('SET', KEYS[4 + i], 'suspended:' .. ARGV[15 + i])
    else
      redis.call('SET', KEYS[4 + i], ARGV[15 + i], 'PX', ${generationMs})
    end
  end
end
if refusal and not raised then return refusal end
${closeChain}
if refusal then
  refusal[3] = sequence
  return refusal
end
reply[3], reply[4] = sequence, own

-- Amounts go on as the texts that came: formatting a number is slower than a command.
for i = 1, limits do
  local amount = ARGV[limitArg + 3 * i - 1]
  local own = held and held[limitKey + i]
  if own then amount = string.format('%d', math.max(0, tonumber(amount) - own)) end
  if amount ~= '0' then
    if found[limitKey + i] then
      redis.call('INCRBY', KEYS[limitKey + i], amount)
    else
      local ttl = tonumber(ARGV[limitArg + 3 * i]) - now + ${graceMs}
      if ttl > ${endlessMs} then
        redis.call('SET', KEYS[limitKey + i], amount)
      else
        redis.call('SET', KEYS[limitKey + i], amount, 'PX', string.format('%d', ttl))
      end
    end
  end
end
local function add(place, amount)
  local own = held and held[place]
  if own then amount = string.format('%d', math.max(0, tonumber(amount) - own)) end
  if amount ~= '0' then redis.call('INCRBY', KEYS[place], amount) end
end
for i = 1, holds do add(holdKey + i, ARGV[holdArg + 4 * i - 3]) end
for i = 1, accounts do add(accountKey + 2 * i, ARGV[needArg + i]) end

local validUntil, member, asked = ARGV[needArg + accounts + 1], ARGV[needArg + accounts + 2], ARGV[needArg + accounts + 3]
if not former then
  redis.call('HSET', operation, ARGV[10], asked)
  redis.call('ZADD', KEYS[#KEYS], validUntil, member)
  return reply
end
${mergeRecords}
-- It keeps what it holds, raised to the larger amounts: the earlier signature stays valid.
redis.call('HSET', operation, ARGV[10], merged(record, cjson.decode(asked), true))
redis.call('ZADD', KEYS[#KEYS], 'GT', validUntil, member)
return reply
`);

/**
 * As above, and changes nothing. KEYS and ARGV as above up to the needs; the settled uses of the limits stand behind those
 * that count for holds. Replies [verdict as above, used and reserved by others of each limit in turn, taken and threshold of
 * each hold in turn, "balance:readAt" or "" and promised of each account in turn], or [code, now, …] alone where it is about
 * the store or the plan.
 */
export const peekScript = script(
  `
${judge}
local refusal = judged()
local ofLimits, ofHolds, ofAccounts = {}, {}, {}
for i = 1, limits do
  local used = tonumber(found[accountKey - limits + i] or 0)
  ofLimits[2 * i - 1] = used
  ofLimits[2 * i] = tonumber(found[limitKey + i] or 0) - used - (held and held[limitKey + i] or 0)
end
local use = useKey
for i = 1, holds do
  local _, _, taken, most = holdAt(i, use)
  use = use + tonumber(ARGV[holdArg + 4 * i - 1])
  ofHolds[2 * i - 1] = taken
  ofHolds[2 * i] = most or 0
end
for i = 1, accounts do
  ofAccounts[2 * i - 1] = found[accountKey + 2 * i - 1] or ''
  ofAccounts[2 * i] = tonumber(found[accountKey + 2 * i] or 0)
end
return {refusal or reply, ofLimits, ofHolds, ofAccounts}
`,
  'no-writes',
);
