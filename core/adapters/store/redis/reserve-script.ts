import { mergeRecords } from './merge.js';
import { closeChain, openChain, replies, script } from './script.js';

/** Counters outlive their window by this, so that a clock set back finds them. */
export const graceMs = 25 * 3_600_000;
/** A window that ends later than this from now is one that never ends: its counter has no end either. */
export const endlessMs = 100 * 365 * 86_400_000;
/** How far behind the follower's last step the clock may fall; must stay below the grace. */
const clockSlackMs = 3_600_000;
/** A generation is remembered this long after it last rose: far longer than a replica serves an old config. */
export const generationMs = 30 * 86_400_000;

/**
 * The decision over everything in a request, for the requests of a turn one after the other.
 *
 *     KEYS  1 to 4 head, 5 expiries, then per request F fences, B bars, L limits, H holds, P settled uses that count for a
 *           hold as well, per account balance and promised, last its operation
 *     ARGV  1 to 5 head, 6 number of requests, then per request 1 first limit whose usage is lost (from 1; 0: none), 2 and 3 time in
 *           which the windows of the plan are the current ones, 4 depositMaxAgeMs, 5 paymasterId, 6 to 10 F, B, L, H, P,
 *           11 number of accounts, then per fence generation, per bar most, per limit threshold (-1: not enforced), cost and
 *           end of the window, per hold cost, threshold ("1000", or "2@25": 25 % of the balance of the second account),
 *           number of settled uses and 1 where it admits one alone; per account need; last validUntil and the record of a
 *           first reservation
 *
 * Every key is declared, although that means that the caller plans the windows: while a Cluster moves a slot only
 * declared keys are sure to be found, and a counter that is not found would count as empty.
 *
 * Replies [code, now, sequence, own writes or 0, verdict of each request in turn]; a code that is not `done` is about the
 * store, stands alone with `now`, and then nothing was decided.
 *
 * `read` finds what the next request is about, `judged` answers the refusal, or leaves what is taken of each limit in
 * `reserved`. Places are those of the request: in KEYS after `key`, in ARGV after `arg`.
 */
const judge = `
${openChain}
if head[2] and now < tonumber(head[2]) - ${clockSlackMs} then return {${replies.clockBack}, now} end
local reply = {${replies.done}, now, tonumber(head[3] or 0), 0}

local key, arg = 5, 6
-- Of each kind how many there are, and the place of the first less one.
local fences, bars, limits, holds, uses, accounts
local barKey, limitKey, holdKey, useKey, accountKey, lastKey
local barArg, limitArg, holdArg, needArg, lastArg
local paymasterId, found, former, record, held, oldest, reserved
local suspended, stale, raised

-- What the operation holds already of the counters and accounts that are asked for, by their place.
local function readHeld()
  record = cjson.decode(former)
  held = {}
  local places = {}
  local prefix = #KEYS[1] - 4
  for i = limitKey + 1, useKey do places[string.sub(KEYS[key + i], prefix)] = i end
  for i = accountKey + 2, lastKey - 1, 2 do places[string.sub(KEYS[key + i], prefix)] = i end
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

local function readFences()
  suspended, stale, raised = nil, nil, nil
  for i = 1, fences do
    local generation = tonumber(ARGV[arg + 11 + i])
    local kept = found[i]
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
end

-- False where the plan was made for other windows.
local function read()
  fences, bars, limits, holds, uses, accounts = tonumber(ARGV[arg + 6]), tonumber(ARGV[arg + 7]),
    tonumber(ARGV[arg + 8]), tonumber(ARGV[arg + 9]), tonumber(ARGV[arg + 10]), tonumber(ARGV[arg + 11])
  barKey = fences
  limitKey = barKey + bars
  holdKey = limitKey + limits
  useKey = holdKey + holds
  accountKey = useKey + uses
  lastKey = accountKey + 2 * accounts + 1
  barArg = 11 + fences
  limitArg = barArg + bars
  holdArg = limitArg + 3 * limits
  needArg = holdArg + 4 * holds
  lastArg = needArg + accounts + 2
  if now < tonumber(ARGV[arg + 2]) or now >= tonumber(ARGV[arg + 3]) then return false end
  paymasterId = ARGV[arg + 5]
  oldest = now - tonumber(ARGV[arg + 4])
  found = redis.call('MGET', unpack(KEYS, key + 1, key + lastKey - 1))
  former = redis.call('HGET', KEYS[key + lastKey], paymasterId)
  record, held = nil, nil
  if former then readHeld() end
  readFences()
  return true
end

-- What others hold of the hold at this index, what the operation holds, what counts as taken, and the threshold: nil where
-- the balance that it is a share of is not known well enough, with the index of that account and why.
local function holdAt(i, use)
  local at = arg + holdArg + 4 * i
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
local function judged()
  if suspended then return {${replies.suspended}, suspended - 1} end
  if stale then return {${replies.stale}, stale - 1} end
  for i = 1, bars do
    local used = tonumber(found[barKey + i] or 0)
    if used > tonumber(ARGV[arg + barArg + i]) then return {${replies.barred}, i - 1, used} end
  end
  reserved = {${replies.done}}
  local lost = tonumber(ARGV[arg + 1])
  for i = 1, limits do
    if i == lost then return {${replies.usageLost}, i - 1} end
    local at = arg + limitArg + 3 * i
    local cost = tonumber(ARGV[at - 1])
    local taken = tonumber(found[limitKey + i] or 0)
    local own = held and held[limitKey + i]
    if own then
      taken = taken - own
      if own > cost then cost = own end
    end
    local threshold = tonumber(ARGV[at - 2])
    if threshold >= 0 and taken + cost > threshold then return {${replies.limit}, i - 1, taken} end
    reserved[1 + i] = taken + cost
  end
  local use = useKey
  for i = 1, holds do
    local others, own, taken, most, account, why = holdAt(i, use)
    local at = arg + holdArg + 4 * i
    use = use + tonumber(ARGV[at - 1])
    if not most then return {${replies.depositUnknown}, account, why} end
    local cost = math.max(own, tonumber(ARGV[at - 3]))
    if taken + cost > most and not (others == 0 and ARGV[at] == '1') then
      return {${replies.held}, i - 1, taken, most}
    end
  end
  for i = 1, accounts do
    local at = accountKey + 2 * i
    if not found[at - 1] then return {${replies.depositUnknown}, i - 1, 0} end
    local colon = string.find(found[at - 1], ':', 1, true)
    if tonumber(string.sub(found[at - 1], colon + 1)) < oldest then return {${replies.depositUnknown}, i - 1, 1} end
    local balance = tonumber(string.sub(found[at - 1], 1, colon - 1))
    local need = tonumber(ARGV[arg + needArg + i])
    local promised = tonumber(found[at] or 0)
    local own = held and held[at]
    if own then
      promised = promised - own
      if own > need then need = own end
    end
    if promised + need > balance then return {${replies.deposit}, i - 1, balance, promised} end
  end
end
`;

/**
 * Decides and carries it out: each request all or nothing. A verdict is [code, …]. done: what is taken of each limit;
 * suspended, stale, usageLost: index; barred: index, used; limit: index, used by others; held: index, taken by others, most;
 * deposit: index, balance, promised to others; depositUnknown: index of the account, 1 when it was read too long ago; turned.
 */
export const reserveScript = script(`
${judge}
${mergeRecords}

-- Amounts go on as the texts that came: formatting a number is slower than a command.
local function toAdd(place, amount)
  local own = held and held[place]
  if own then return string.format('%d', math.max(0, tonumber(amount) - own)) end
  return amount
end
local function add(place, amount)
  amount = toAdd(place, amount)
  if amount ~= '0' then redis.call('INCRBY', KEYS[key + place], amount) end
end
local function addToLimit(i)
  local at = arg + limitArg + 3 * i
  local place = limitKey + i
  if found[place] then return add(place, ARGV[at - 1]) end
  local amount = toAdd(place, ARGV[at - 1])
  if amount == '0' then return end
  local ttl = tonumber(ARGV[at]) - now + ${graceMs}
  if ttl > ${endlessMs} then
    redis.call('SET', KEYS[key + place], amount)
  else
    redis.call('SET', KEYS[key + place], amount, 'PX', string.format('%d', ttl))
  end
end

local function noteRaised()
  for _, i in ipairs(raised) do
    local generation = ARGV[arg + 11 + i]
    if found[i] and not tonumber(found[i]) then
      redis.call('SET', KEYS[key + i], 'suspended:' .. generation)
    else
      redis.call('SET', KEYS[key + i], generation, 'PX', ${generationMs})
    end
  end
end

local function carryOut()
  for i = 1, limits do addToLimit(i) end
  for i = 1, holds do add(holdKey + i, ARGV[arg + holdArg + 4 * i - 3]) end
  for i = 1, accounts do add(accountKey + 2 * i, ARGV[arg + needArg + i]) end
  local operation, validUntil, asked = KEYS[key + lastKey], ARGV[arg + lastArg - 1], ARGV[arg + lastArg]
  local member = string.sub(operation, #KEYS[1] - 2) .. '/' .. paymasterId
  if not former then
    redis.call('HSET', operation, paymasterId, asked)
    redis.call('ZADD', KEYS[5], validUntil, member)
    return
  end
  -- It keeps what it holds, raised to the larger amounts: the earlier signature stays valid.
  redis.call('HSET', operation, paymasterId, merged(record, cjson.decode(asked), true))
  redis.call('ZADD', KEYS[5], 'GT', validUntil, member)
end

local hasWritten = false
for request = 1, tonumber(ARGV[6]) do
  local verdict
  if read() then
    local refusal = judged()
    if raised then noteRaised() end
    if not refusal then carryOut() end
    hasWritten = hasWritten or raised or not refusal
    verdict = refusal or reserved
  else
    verdict = {${replies.turned}}
  end
  reply[4 + request] = verdict
  key, arg = key + lastKey, arg + lastArg
end
if hasWritten then
  ${closeChain}
  reply[3], reply[4] = sequence, own
end
return reply
`);

/**
 * As above, and changes nothing. A request has no validUntil and no record; the settled uses of its limits stand behind those
 * that count for holds. Replies, instead of a verdict, [verdict as above, used and reserved by others of each limit in turn,
 * taken and threshold of each hold in turn, "balance:readAt" or "" and promised of each account in turn], or [[turned]].
 */
export const peekScript = script(
  `
${judge}
local function shown()
  local verdict = judged() or reserved
  local ofLimits, ofHolds, ofAccounts = {}, {}, {}
  for i = 1, limits do
    local used = tonumber(found[accountKey - limits + i] or 0)
    ofLimits[2 * i - 1] = used
    ofLimits[2 * i] = tonumber(found[limitKey + i] or 0) - used - (held and held[limitKey + i] or 0)
  end
  local use = useKey
  for i = 1, holds do
    local _, _, taken, most = holdAt(i, use)
    use = use + tonumber(ARGV[arg + holdArg + 4 * i - 1])
    ofHolds[2 * i - 1] = taken
    ofHolds[2 * i] = most or 0
  end
  for i = 1, accounts do
    ofAccounts[2 * i - 1] = found[accountKey + 2 * i - 1] or ''
    ofAccounts[2 * i] = tonumber(found[accountKey + 2 * i] or 0)
  end
  return {verdict, ofLimits, ofHolds, ofAccounts}
end
for request = 1, tonumber(ARGV[6]) do
  reply[4 + request] = read() and shown() or {{${replies.turned}}}
  key, arg = key + lastKey, arg + lastArg - 2
end
return reply
`,
  'no-writes',
);
