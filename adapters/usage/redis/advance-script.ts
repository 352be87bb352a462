import { addAmounts, closeCommits, declaresNames } from './commit-lua.js';
import { addEndingRecords, endingRecords, recordIds } from './ledger-lua.js';
import { mergeRecords } from './merge.js';
import { endlessMs, graceMs } from './reserve-script.js';
import { closeChain, openChain, replies, script } from './script.js';
import { keepParts, writeTakenSteps } from './taken-steps-lua.js';

/**
 * One call of a step of the follower: the whole step, or a part of a step that needs several calls.
 *
 *     KEYS  1 to 4 head, 5 cursor, 6 step, 7 step-body, 8 expiries, 9 accounts, then operations of E endings and R restored
 *           reservations, then in any order taken, taken-parts and what records, charges and balances name: c:, u:, p:, b:, k:,
 *           commits, ledger, ledger-bytes
 *     ARGV  1 to 5 head, 6 expected cursor or "", 7 cursor to be written or "" (not yet), 8 id of the unfinished step or "",
 *           9 id of the step that begins with this call or "", 10 its body, 11 to 14 E, R, charges, balances,
 *           15 whether the step is kept, see taken-steps-lua.ts,
 *           then per ending paymasterId, expiry member, "s", "r" or "f", and actual cost or latest validUntil or "",
 *           per restored one paymasterId, expiry member, record, per charge counter, amount and end of its window,
 *           per balance account and value; with records for the ledger what ledger-lua.ts says
 *
 * Endings are computed from the present records, so a new request for the same operation meanwhile does not affect
 * them. A record that names undeclared keys is left unchanged and reported; a call that writes the cursor is then not
 * taken. A commit ends with its reservation, and spends nothing. Replies [done, now, sequence, own writes, indexes of endings that were left, index and record of each that has
 * ended, …], or [code, now]: otherCursor, contested, unfinished.
 *
 * The script runs while memory is full, because nothing else frees any. It adds less than it frees: a settled use
 * replaces a record, and an earlier step freed the memory of restored reservations. Records for the ledger may take more: they are
 * bounded by the reservations that were made while there was room. So may the steps
 * that are kept, up to their number; none is kept while memory is scarce.
 */
export const advanceScript = script(
  `
${openChain}
if (redis.call('GET', KEYS[5]) or '') ~= ARGV[6] then return {${replies.otherCursor}, now} end
if (redis.call('GET', KEYS[6]) or '') ~= ARGV[8] then return {${replies.unfinished}, now} end
local endings, restored, charges, balances = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14])
local restoredArg = 15 + 4 * endings
local chargeArg = restoredArg + 3 * restored
local balanceArg = chargeArg + 3 * charges
local ledgerArg = balanceArg + 2 * balances
local keyOf = {}
local prefix = #KEYS[1] - 4
for i = 10 + endings + restored, #KEYS do keyOf[string.sub(KEYS[i], prefix)] = KEYS[i] end

-- Judge: what ends, and whether all that it names is declared.
${declaresNames}
${closeCommits}
${recordIds}
${endingRecords}
${keepParts}
local ending, left, was = {}, {}, {}
for i = 1, endings do
  local text = redis.call('HGET', KEYS[9 + i], ARGV[12 + 4 * i])
  if text then
    local record = cjson.decode(text)
    local latest = ARGV[14 + 4 * i] == 'r' and tonumber(ARGV[15 + 4 * i])
    if not latest or record[1] <= latest then
      local isDeclared = not record[11] or keyOf[commitsOf(ARGV[13 + 4 * i])]
      if isDeclared and declares('c:', record[5]) and declares('p:', record[6]) and declares('c:', record[8]) then
        ending[#ending + 1] = {i, record}
        local signed = text
        if record[11] then signed = record[11][4] end
        if signed ~= '' then
          was[#was + 1] = i - 1
          was[#was + 1] = signed
          noteEnding(i, idOf(record))
          keepPart({ARGV[14 + 4 * i], ARGV[13 + 4 * i], ARGV[15 + 4 * i], signed})
        end
      else
        left[#left + 1] = i - 1
      end
    end
  end
end
if #left > 0 and ARGV[7] ~= '' then return {${replies.contested}, now} end

-- Carry out.
${addEndingRecords}${addAmounts('KEYS[9]')}local function grow(name, amount, untilMs)
  if redis.call('EXISTS', keyOf[name]) == 1 then
    redis.call('INCRBY', keyOf[name], string.format('%d', amount))
    return
  end
  local ttl = untilMs - now + ${graceMs}
  if ttl > ${endlessMs} then
    redis.call('SET', keyOf[name], string.format('%d', amount))
  elseif ttl > 0 then
    redis.call('SET', keyOf[name], string.format('%d', amount), 'PX', string.format('%d', ttl))
  end
end

${mergeRecords}
for i = 1, restored do
  local at = restoredArg + 3 * i - 2
  local operation, paymasterId, text = KEYS[9 + endings + i], ARGV[at], ARGV[at + 2]
  local record = cjson.decode(text)
  local former = redis.call('HGET', operation, paymasterId)
  local held = {}
  if former then
    former = cjson.decode(former)
    local kept = former[11] and former[11][4] ~= '' and cjson.decode(former[11][4])
    local id, other = idOf(former), idOf(record)
    if other and (not id or other < id) then id = other end
    if id then
      setId(former, id)
      setId(record, id)
      if kept then setId(kept, id) end
    end
    for kind, list in pairs({c = former[5], h = former[8], p = former[6]}) do
      for j = 1, #list, 2 do held[kind .. list[j]] = list[j + 1] end
    end
    local commit = former[11]
    text = merged(former, record, false)
    if commit then
      local signed = merged(kept or record, record, false)
      text = string.sub(text, 1, -2) .. ',[' .. cjson.encode(commit[1]) .. ',' .. string.format('%d', commit[2]) .. ','
        .. commit[3] .. ',' .. cjson.encode(signed) .. ']]'
    end
  end
  local function take(kind, list, name, untils)
    for j = 1, #list, 2 do
      local more = list[j + 1] - (held[kind .. list[j]] or 0)
      if more > 0 then grow(name .. list[j], more, untils and untils[(j + 1) / 2] or ${Number.MAX_SAFE_INTEGER}) end
    end
  end
  take('c', record[5], 'c:', record[7])
  take('h', record[8], 'c:')
  take('p', record[6], 'p:')
  for j = 1, #record[6], 2 do redis.call('SADD', KEYS[9], record[6][j]) end
  redis.call('HSET', operation, paymasterId, text)
  redis.call('ZADD', KEYS[8], 'GT', string.format('%d', record[1]), ARGV[at + 1])
end

local sums, uses, untils = {}, {}, {}
local function sum(name, amount) sums[name] = (sums[name] or 0) + amount end
for _, one in ipairs(ending) do
  local i, record = one[1], one[2]
  local how, cost = ARGV[14 + 4 * i], tonumber(ARGV[15 + 4 * i])
  local signed = nil
  if record[11] then
    signed = {}
    local costs = record[11][4] ~= '' and cjson.decode(record[11][4])[5] or {}
    for j = 1, #costs, 2 do signed[costs[j]] = costs[j + 1] end
    closeCommit(ARGV[13 + 4 * i])
  end
  for j = 1, #record[5], 2 do
    local name, reserved = record[5][j], record[5][j + 1]
    local spent, most = 0, reserved
    if signed then most = signed[name] or 0 end
    if how == 'f' then spent = most end
    if how == 's' and cost then
      -- A mined operation counts as one, whatever it cost.
      spent = string.sub(name, -2) == '/c' and most or math.min(cost, most)
    end
    sum('c:' .. name, spent - reserved)
    if spent > 0 then
      uses[name] = (uses[name] or 0) + spent
      untils[name] = record[7][(j + 1) / 2]
    end
  end
  for j = 1, #record[8], 2 do sum('c:' .. record[8][j], -record[8][j + 1]) end
  for j = 1, #record[6], 2 do sum('p:' .. record[6][j], -record[6][j + 1]) end
  -- The first data format kept a hash beside the record, and its last versions may have written one since.
  redis.call('HDEL', KEYS[9 + i], ARGV[12 + 4 * i], ARGV[12 + 4 * i] .. '/hash')
  redis.call('ZREM', KEYS[8], ARGV[13 + 4 * i])
end
for name, amount in pairs(uses) do
  if redis.call('EXISTS', keyOf['c:' .. name]) == 1 then grow('u:' .. name, amount, untils[name]) end
end
for name, amount in pairs(sums) do add(name, amount) end

for i = 1, charges do
  local at = chargeArg + 3 * i - 2
  local name, amount, untilMs = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  keepPart({'c', name, ARGV[at + 1], ARGV[at + 2]})
  if amount > 0 then
    grow('c:' .. name, amount, untilMs)
    grow('u:' .. name, amount, untilMs)
  else
    local back = math.min(-amount, tonumber(redis.call('GET', keyOf['u:' .. name]) or 0))
    add('u:' .. name, -back)
    add('c:' .. name, -back)
  end
end
for i = 1, balances do
  local account = ARGV[balanceArg + 2 * i - 1]
  redis.call('SET', keyOf['b:' .. account], ARGV[balanceArg + 2 * i])
  redis.call('SADD', KEYS[9], account)
end
${writeTakenSteps}
if ARGV[9] ~= '' then
  redis.call('SET', KEYS[6], ARGV[9])
  redis.call('SET', KEYS[7], ARGV[10])
end
if ARGV[7] ~= '' then
  redis.call('SET', KEYS[5], ARGV[7])
  redis.call('DEL', KEYS[6], KEYS[7])
  if now > tonumber(head[2] or 0) then redis.call('SET', KEYS[2], string.format('%.0f', now)) end
end
${closeChain}
return {${replies.done}, now, sequence, own, left, was}
`,
  'allow-oom',
);
