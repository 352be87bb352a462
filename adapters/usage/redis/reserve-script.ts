import { commitChecks, phasedRecords, writePhased } from './commit-lua.js';
import { addRecords, recordIds, recordRoom } from './ledger-lua.js';
import { mergeRecords } from './merge.js';
import { closeChain, openChain, replies, script } from './script.js';

/** Counters are kept this much longer than their window, so that they are still there when a clock is set back. */
export const graceMs = 25 * 3_600_000;
/** A window that ends later than this from now counts as endless: its counter does not expire either. */
export const endlessMs = 100 * 365 * 86_400_000;
/** How far behind the follower's last step the clock may fall; must stay below the grace. */
const clockSlackMs = 3_600_000;
/** A generation is remembered this long after it last rose: far longer than a replica serves an old config. */
export const generationMs = 30 * 86_400_000;

/**
 * Decides over everything in a request, for the requests of a turn one after the other.
 *
 *     KEYS  1 to 4 head, 5 expiries, then per request its operation, then all other keys of the requests, each once: fences,
 *           counters, settled uses, balances, promised sums;
 *           last, if there are records for the ledger, its three keys
 *     ARGV  1 to 5 head, 6 terms, then per request the record of a first reservation; with records for the ledger what
 *           ledger-lua.ts says
 *
 * The terms are one JSON list, because separate arguments cost several times as much each. They are the number of
 * requests, then per request 1 first limit whose usage is lost (from 1; 0: none), 2 and 3 time in which the windows of
 * the plan are the current ones, 4 depositMaxAgeMs, 5 paymasterId, 6 to 11 numbers of fences, bars, limits, holds,
 * settled uses, and accounts, 12 validUntil as a text, 13 phase: 0, or [1 commit or 2 finalize, commitment, nonce, digest]; then per fence generation, per bar most, per limit threshold
 * (-1: not enforced), cost and end of the window, per hold cost, threshold (1000, or [2, 25]: 25 % of the balance of
 * the second account), number of settled uses and 1 if it admits one alone, per account need; last the places of its
 * keys among the others: of its fences, bars, limits and holds, of the uses that also count for its holds, in turn, and
 * per account of balance and promised sum; with a phase, of the sender's commits and of all commits.
 *
 * Every key is declared, although the caller must plan the windows for that: while a Cluster moves a slot, only
 * declared keys are sure to be found, and a counter that is not found would count as empty.
 *
 * Replies [code, now, sequence, own writes or 0, verdict of each request in turn]. A code other than `done` is about
 * the store: only `now` follows it, and nothing was decided.
 *
 * Each key is read once. The amounts that a request takes are added to `amounts`, where later requests of the turn find
 * them, and written at the end. So an error in the middle of a request has taken nothing, and fails that request alone.
 *
 * `judged` returns the refusal of a request, or nothing. It leaves the amounts to take in `takePlaces` and
 * `takeAmounts`, and the amount then taken of each limit in `reserved`. It is one function, and few functions share its
 * variables: a script creates its functions for every call.
 */
const judge = `
${openChain}
local keys, args, call = KEYS, ARGV, redis.call
if head[2] and now < tonumber(head[2]) - ${clockSlackMs} then return {${replies.clockBack}, now} end
local reply = {${replies.done}, now, tonumber(head[3] or 0), 0}
local terms = cjson.decode(args[6])
local requests = terms[1]

-- By place: texts as they were read, numbers with what this turn has taken, what it has added to them, and of limits the
-- ends of their windows.
local firstPlace = 5 + requests
local values, amounts, added, ends = {}, {}, {}, {}
if #keys > firstPlace then values = call('MGET', unpack(keys, firstPlace + 1)) end
for place = 1, #values do
  amounts[place], added[place], ends[place] = false, 0, false
end
-- When a balance was read; which fence is suspended, and which generations have risen; records of this turn, by member.
local readAts, suspensions, generations, records = {}, {}, {}, {}

-- Of the last request: terms and places less one of some kinds, what it holds already, by key, and how often it takes.
local holdTerm, limitPlace, holdPlace, usePlace, accountPlace, nextTerm
local former, record, held, oldest, member, reserved
local takes, takePlaces, takeAmounts = 0, {}, {}

-- Adding 0 reads a text once, where tonumber does so twice.
local function amountOf(place)
  local amount = amounts[place]
  if not amount then
    amount = (values[place] or 0) + 0
    amounts[place] = amount
  end
  return amount
end

-- And when it was read; nil where it never was.
local function balanceOf(place)
  local kept = values[place]
  if not kept then return end
  local readAt = readAts[place]
  if not readAt then
    local colon = string.find(kept, ':', 1, true)
    readAt = string.sub(kept, colon + 1) + 0
    amounts[place] = string.sub(kept, 1, colon - 1) + 0
    readAts[place] = readAt
  end
  return amounts[place], readAt
end

-- What others hold of the hold at this index, what the operation holds, what counts as taken, and the threshold: nil where
-- the balance that it is a share of is not known well enough, with the index of that account and why.
local function holdAt(i, use)
  local term, place = holdTerm + 4 * i, terms[holdPlace + i]
  local own = held and held[keys[firstPlace + place]] or 0
  local others = amountOf(place) - own
  local taken = others
  for j = use + 1, use + terms[term - 1] do taken = taken + amountOf(terms[j]) end
  local most = terms[term - 2]
  if type(most) == 'number' then return others, own, taken, most end
  local account, percent = most[1], most[2]
  local balance, readAt = balanceOf(terms[accountPlace + 2 * account - 1])
  if not balance then return others, own, taken, nil, account - 1, 0 end
  if readAt < oldest then return others, own, taken, nil, account - 1, 1 end
  -- Exact, where balance * percent may not be.
  local rest = balance % 100
  return others, own, taken, (balance - rest) / 100 * percent + math.floor(rest * percent / 100)
end

-- The first reason decides.
local function judged(request, at)
  local terms, amountOf = terms, amountOf
  local fences, bars, limits, holds, accounts =
    terms[at + 6], terms[at + 7], terms[at + 8], terms[at + 9], terms[at + 11]
  local barTerm = at + 13 + fences
  local limitTerm = barTerm + bars
  holdTerm = limitTerm + 3 * limits
  local needTerm = holdTerm + 4 * holds
  local fencePlace = needTerm + accounts
  local barPlace = fencePlace + fences
  limitPlace = barPlace + bars
  holdPlace = limitPlace + limits
  usePlace = holdPlace + holds
  accountPlace = usePlace + terms[at + 10]
  nextTerm = accountPlace + 2 * accounts
  if terms[at + 13] ~= 0 then nextTerm = nextTerm + 2 end
  takes = 0
  if now < terms[at + 2] or now >= terms[at + 3] then return {${replies.turned}} end

  local operation, paymasterId = keys[5 + request], terms[at + 5]
  oldest = now - terms[at + 4]
  member = string.sub(operation, #keys[1] - 2) .. '/' .. paymasterId
  former, record, held = records[member] or call('HGET', operation, paymasterId), nil, nil
  if former then
    record, held = cjson.decode(former), {}
    local prefix = string.sub(keys[1], 1, -6)
    for kind, list in pairs({[prefix .. 'p:'] = record[6], [prefix .. 'c:'] = record[5]}) do
      for i = 1, #list, 2 do held[kind .. list[i]] = list[i + 1] end
    end
    for i = 1, #record[8], 2 do held[prefix .. 'c:' .. record[8][i]] = record[8][i + 1] end
  end

  local suspended, stale
  for i = 1, fences do
    local generation, place = terms[at + 13 + i], terms[fencePlace + i]
    local newest = amounts[place]
    if not newest then
      newest = tonumber(values[place] or 0)
      if not newest then
        newest = tonumber(string.sub(values[place], 11))
        suspensions[place] = true
      end
      amounts[place] = newest
    end
    if suspensions[place] then suspended = suspended or i end
    if generation < newest then stale = stale or i end
    if generation > newest then amounts[place], generations[place] = generation, generation end
  end
  if suspended then return {${replies.suspended}, suspended - 1} end
  if stale then return {${replies.stale}, stale - 1} end

  for i = 1, bars do
    local used = amountOf(terms[barPlace + i])
    if used > terms[barTerm + i] then return {${replies.barred}, i - 1, used} end
  end

  reserved = {${replies.done}}
  local lost = terms[at + 1]
  for i = 1, limits do
    if i == lost then return {${replies.usageLost}, i - 1} end
    local term, place = limitTerm + 3 * i, terms[limitPlace + i]
    local own = held and held[keys[firstPlace + place]] or 0
    local cost, taken, threshold = terms[term - 1], amountOf(place) - own, terms[term - 2]
    if own > cost then cost = own end
    if threshold >= 0 and taken + cost > threshold then return {${replies.limit}, i - 1, taken} end
    ends[place] = terms[term]
    reserved[1 + i] = taken + cost
    takePlaces[i], takeAmounts[i] = place, cost - own
  end
  takes = limits

  local use = usePlace
  for i = 1, holds do
    local others, own, taken, most, account, why = holdAt(i, use)
    local term = holdTerm + 4 * i
    use = use + terms[term - 1]
    if not most then return {${replies.depositUnknown}, account, why} end
    local cost = terms[term - 3]
    if own > cost then cost = own end
    if taken + cost > most and not (others == 0 and terms[term] == 1) then
      return {${replies.held}, i - 1, taken, most}
    end
    takes = takes + 1
    takePlaces[takes], takeAmounts[takes] = terms[holdPlace + i], cost - own
  end

  for i = 1, accounts do
    local place = terms[accountPlace + 2 * i]
    local balance, readAt = balanceOf(terms[accountPlace + 2 * i - 1])
    if not balance then return {${replies.depositUnknown}, i - 1, 0} end
    if readAt < oldest then return {${replies.depositUnknown}, i - 1, 1} end
    local own, need = held and held[keys[firstPlace + place]] or 0, terms[needTerm + i]
    if own > need then need = own end
    local promised = amountOf(place) - own
    if promised + need > balance then return {${replies.deposit}, i - 1, balance, promised} end
    takes = takes + 1
    takePlaces[takes], takeAmounts[takes] = place, need - own
  end
${commitChecks}
end
`;

/**
 * The verdict of each request in turn, in reply. The script defines `decide(request, term)`, which must call `judged`.
 */
const decideAll = `
local term = 1
for request = 1, requests do
  local isDecided, verdict = pcall(decide, request, term)
  if not isDecided then
    verdict = {${replies.failed}, type(verdict) == 'table' and verdict.err or tostring(verdict)}
  end
  reply[4 + request] = verdict
  term = nextTerm
end
`;

/**
 * Decides and reserves, each request all or nothing; an operation with a commit: see commit-lua.ts. A verdict is [code, …]. done: amount taken of each limit;
 * notCommitted; ledgerFull; suspended, stale, usageLost: index; barred: index, used; limit: index, used by others; held: index, taken by others,
 * most; deposit: index, balance, promised to others; depositUnknown: index of the account, 1 when it was read too long
 * ago; turned; failed: why it could not be decided.
 */
export const reserveScript = script(`
${judge}
${recordIds}
${mergeRecords}
${phasedRecords}
${recordRoom}

-- An operation, a paymaster and a record in turn; an expiry and a member in turn.
local writes, expiries = {}, {}

local function decide(request, at)
  local refusal = judged(request, at)
  if refusal then return refusal end
  local text, paymasterId = args[6 + request], terms[at + 5]
  local expiry = terms[at + 12]
  local id
  if ledgerArg then
    -- Finalized before: nothing is added.
    local isRepeated = terms[at + 13] ~= 0 and terms[at + 13][1] == 2 and record[11][3] == 1
    if not isRepeated then id, text = recorded(request, text, paymasterId) end
    if id == false then return {${replies.ledgerFull}} end
  end
  if terms[at + 13] ~= 0 or (record and record[11]) then
    text, expiry = phased(request, at, text)
    -- Finalized before: it holds its amounts already.
    if not text then return reserved end
  elseif former then
    -- It keeps what it holds, raised to the larger amounts: the earlier signature stays valid.
    text = merged(record, cjson.decode(text), true)
  end
  for i = 1, takes do
    local place, amount = takePlaces[i], takeAmounts[i]
    amounts[place] = amounts[place] + amount
    added[place] = added[place] + amount
  end
  if id then addRecord(request, id, record and idOf(record) or id) end
  records[member] = text
  local last = #writes
  writes[last + 1], writes[last + 2], writes[last + 3] = keys[5 + request], paymasterId, text
  last = #expiries
  expiries[last + 1], expiries[last + 2] = expiry, member
  return reserved
end
${decideAll}
if not writes[1] and not next(generations) then return reply end
${addRecords}

-- Formatting a number is slow, and most are the same.
local texts = {}
local function textOf(number)
  local text = texts[number]
  if not text then
    text = string.format('%d', number)
    texts[number] = text
  end
  return text
end

for place, generation in pairs(generations) do
  if suspensions[place] then
    call('SET', keys[firstPlace + place], 'suspended:' .. textOf(generation))
  else
    call('SET', keys[firstPlace + place], textOf(generation), 'PX', ${generationMs})
  end
end
for place = 1, #values do
  if added[place] > 0 then
    local name, amount, ttl = keys[firstPlace + place], textOf(added[place])
    if ends[place] and not values[place] then ttl = ends[place] - now + ${graceMs} end
    if not ttl then
      call('INCRBY', name, amount)
    elseif ttl > ${endlessMs} then
      call('SET', name, amount)
    else
      call('SET', name, amount, 'PX', textOf(ttl))
    end
  end
end
for i = 1, #writes, 3 do call('HSET', writes[i], writes[i + 1], writes[i + 2]) end
${writePhased}
if expiries[1] then call('ZADD', keys[5], 'GT', unpack(expiries)) end
${closeChain}
reply[3], reply[4] = sequence, own
return reply
`);

/**
 * Like the script above, but changes nothing. Records are empty; the settled uses of its limits follow those that count
 * for holds. Instead of a verdict it replies [verdict as above, used and reserved by others of each limit in turn,
 * taken and threshold of each hold in turn, "balance:readAt" or "" and promised of each account in turn], or
 * [[turned]], [[failed, why]].
 */
export const peekScript = script(
  `
${judge}
local function decide(request, at)
  local verdict = judged(request, at) or reserved
  if verdict[1] == ${replies.turned} then return {verdict} end
  local ofLimits, ofHolds, ofAccounts = {}, {}, {}
  local limits = terms[at + 8]
  for i = 1, limits do
    local used, place = amountOf(terms[accountPlace - limits + i]), terms[limitPlace + i]
    ofLimits[2 * i - 1] = used
    ofLimits[2 * i] = amountOf(place) - used - (held and held[keys[firstPlace + place]] or 0)
  end
  local use = usePlace
  for i = 1, terms[at + 9] do
    local _, _, taken, most = holdAt(i, use)
    use = use + terms[holdTerm + 4 * i - 1]
    ofHolds[2 * i - 1] = taken
    ofHolds[2 * i] = most or 0
  end
  for i = 1, terms[at + 11] do
    ofAccounts[2 * i - 1] = values[terms[accountPlace + 2 * i - 1]] or ''
    ofAccounts[2 * i] = amountOf(terms[accountPlace + 2 * i])
  end
  return {verdict, ofLimits, ofHolds, ofAccounts}
end
${decideAll}
return reply
`,
  'no-writes',
);
