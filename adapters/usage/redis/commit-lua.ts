import { commitMs, openCommitsPerSender } from '../../../core/usage/usage-store.js';
import { replies } from './script.js';

/** A sender's open commits are kept at least this long; a commit is over much earlier, and says so itself. */
const listMs = 3_600_000;

/** Lua, at the end of `judged`: refuses a finalize without its commit, and takes nothing for one that was signed before. */
export const commitChecks = `
  local phase = terms[at + 13]
  if phase == 0 or phase[1] == 1 then return end
  local commit, list = record and record[11], values[terms[nextTerm - 1]]
  if not commit or not list or commit[1] ~= phase[2] or now >= commit[2] then return {${replies.notCommitted}} end
  local isListed = false
  for i, value in ipairs(cjson.decode(list)) do
    if i % 3 == 1 and value == phase[3] then isListed = true end
  end
  if not isListed then return {${replies.notCommitted}} end
  if commit[3] == 0 then return end
  takes = 0
  for _, one in ipairs(record[9]) do
    if one[1] == phase[4] then return end
  end
  return {${replies.notCommitted}}
`;

/**
 * Lua: `phased(request, at, text)` for a request that is a commit or a finalize, or whose operation has a commit. Uses
 * the variables of reserve-script.ts after `judged`. Returns the new text of the record and the end of its reservation;
 * false when nothing changes. It leaves in `lists` the open commits of senders by place, and in `dues` ends
 * and members in turn.
 *
 * Its helpers are inside it: a script creates its functions for every call, and few calls have a commit.
 */
export const phasedRecords = `
local lists, dues, duesKey = {}, {}, nil
local function phased(request, at, text)
  local phase, commit = terms[at + 13], record and record[11]
  local signed = commit and commit[4] or former or ''
  local asked = cjson.decode(text)
  -- All forms of a record name the same first record for the ledger.
  local id = record and idOf(record) or idOf(asked)
  if id and id ~= idOf(asked) then
    setId(asked, id)
    text = merged(asked, asked, true)
  end
  if id and signed ~= '' and not idOf(record) then
    local kept = cjson.decode(signed)
    setId(kept, id)
    signed = merged(kept, kept, true)
  end

  local function withCommit(held, commitment, untilMs, isSigned)
    return string.sub(held, 1, -2) .. ',[' .. cjson.encode(commitment) .. ',' .. string.format('%d', untilMs) .. ','
      .. isSigned .. ',' .. cjson.encode(signed) .. ']]'
  end
  -- A promise is signed beside the commit, or for it.
  local function promised(isSigned)
    signed = signed == '' and text or merged(cjson.decode(signed), asked, true)
    return withCommit(merged(record, asked, true), commit[1], commit[2], isSigned), terms[at + 12]
  end
  if phase == 0 then return promised(commit[3]) end

  -- Of the sender: nonce, end and 1 when it is signed, in turn.
  local place, commitment, nonce = terms[nextTerm - 1], phase[2], phase[3]
  local list = values[place] and cjson.decode(values[place]) or {}
  local function keep(open)
    values[place] = cjson.encode(open)
    lists[place] = values[place]
  end

  if phase[1] == 2 then
    if commit[3] == 1 then return false end
    for i = 1, #list, 3 do
      if list[i] == nonce then list[i + 2] = 1 end
    end
    keep(list)
    return promised(1)
  end

  duesKey = keys[firstPlace + terms[nextTerm]]
  local operation = keys[5 + request]
  local sender = string.sub(operation, #keys[1] - 2, -1 - #nonce)
  local function close(other)
    dues[#dues + 1] = now
    dues[#dues + 1] = sender .. other .. '/' .. terms[at + 5]
  end
  local function isBefore(a, b)
    if a[3] ~= b[3] then return a[3] > b[3] end
    if a[2] ~= b[2] then return a[2] < b[2] end
    if #a[1] ~= #b[1] then return #a[1] < #b[1] end
    return a[1] < b[1]
  end
  local open = {}
  for i = 1, #list, 3 do
    if list[i] ~= nonce and list[i + 1] > now then
      if string.sub(list[i], 1, -17) == string.sub(nonce, 1, -17) then
        close(list[i])
      else
        open[#open + 1] = {list[i], list[i + 1], list[i + 2]}
      end
    end
  end
  table.sort(open, isBefore)
  while #open >= ${openCommitsPerSender} do close(table.remove(open, 1)[1]) end

  local untilMs = math.min(now + ${commitMs}, terms[at + 12] * 1000)
  local kept = {}
  open[#open + 1] = {nonce, untilMs, 0}
  for i, one in ipairs(open) do
    for part = 1, 3 do kept[3 * i - 3 + part] = one[part] end
  end
  keep(kept)
  dues[#dues + 1] = untilMs
  dues[#dues + 1] = member
  asked[1] = math.ceil(untilMs / 1000)
  local ends = string.format('%d', asked[1])
  local held
  if record then
    held = merged(record, asked, false)
  else
    local comma = string.find(text, ',', 1, true)
    held = '[' .. ends .. string.sub(text, comma)
  end
  return withCommit(held, commitment, untilMs, 0), ends
end
`;

/** Lua: writes what `phased` has left. */
export const writePhased = `
for place, list in pairs(lists) do call('SET', keys[firstPlace + place], list, 'PX', ${listMs}) end
for i = 1, #dues, 2 do call('ZADD', duesKey, string.format('%d', dues[i]), dues[i + 1]) end
`;

/**
 * Lua, for scripts that end commits: `keyOf` has the declared keys by name. `commitsOf(member)`: the names of the list of the
 * sender's commits and of the nonce in it. `closeCommit(member)` forgets the commit of a reservation.
 */
export const closeCommits = `
local function commitsOf(member)
  local entryPoint, sender, nonce, paymasterId = string.match(member, '^([^/]*)/([^/]*)/([^/]*)/(.*)$')
  return 'k:' .. entryPoint .. '/' .. sender .. '/' .. paymasterId, nonce
end
local function closeCommit(member)
  local name, nonce = commitsOf(member)
  redis.call('ZREM', keyOf['commits'], member)
  local list = redis.call('GET', keyOf[name])
  if not list then return end
  list = cjson.decode(list)
  for i = #list - 2, 1, -3 do
    if list[i] == nonce then
      for _ = 1, 3 do table.remove(list, i) end
    end
  end
  if list[1] then
    redis.call('SET', keyOf[name], cjson.encode(list), 'KEEPTTL')
  else
    redis.call('DEL', keyOf[name])
  end
end
`;

/**
 * Lua: `add(name, amount)` adds to a counter or promised sum among the declared keys. A counter that has gone with its window is not
 * brought back, and one that reaches 0 is deleted. `accountsKey` is a Lua expression.
 */
export function addAmounts(accountsKey: string): string {
  return `
local function add(name, amount)
  if amount == 0 or redis.call('EXISTS', keyOf[name]) == 0 then return end
  if redis.call('INCRBY', keyOf[name], string.format('%d', amount)) > 0 then return end
  redis.call('DEL', keyOf[name])
  local account = string.sub(name, 1, 2) == 'p:' and string.sub(name, 3)
  -- Known by its promises alone.
  if account and redis.call('EXISTS', keyOf['b:' .. account]) == 0 then redis.call('SREM', ${accountsKey}, account) end
end
`;
}

/** Lua: `declares(kind, list)`: whether all that a list of names and amounts in turn names is among `keyOf`. */
export const declaresNames = `
local function declares(kind, list)
  for i = 1, #list, 2 do
    if not keyOf[kind .. list[i]] then return false end
  end
  return true
end
`;
