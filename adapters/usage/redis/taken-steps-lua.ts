import { mostTakenEndings, mostTakenSteps } from '../../../core/usage/taken-step.js';

// The last steps of the follower, so that they can be taken back. The sorted set has one entry per call of a step: "NUMBER COUNT FROM
// NEXT", scored by its number; numbers have no gaps, and NEXT is empty but for the last call of a step. The hash has the COUNT parts of
// each entry as a JSON list, by NUMBER, and `last` and `count` over all entries. Only commands are used for which users of Redis had
// rights before, so that an upgrade needs no others.
//
// Steps free memory for promises, so none is kept while memory is scarce: then the kept ones are dropped too, and `gap` is the cursor
// from which the step leads that is not kept. A step of several calls is then left out whole.
//
//     part   ["s", "r" or "f", OPERATION/PM, actual cost or "", record] or ["c", counter, amount, end of its window]

/** Steps are kept while less than this share of `maxmemory` is used. */
const mostUsedMemory = 0.9;

/** Lua: `keepPart(part)` notes a part of this call, if the step is kept. Values are texts, since numbers would be rounded. */
export const keepParts = `
local function isMemoryScarce()
  local memory = redis.pcall('INFO', 'memory')
  if type(memory) ~= 'string' then return true end
  local function bytes(field) return tonumber(string.match(memory, '\\n' .. field .. ':(%d+)') or 0) end
  return bytes('maxmemory') > 0 and bytes('used_memory') > ${mostUsedMemory} * bytes('maxmemory')
end
local isKept = ARGV[15] == '+' and redis.call('HGET', keyOf['taken-parts'], 'gap') ~= ARGV[6]
if isKept and isMemoryScarce() then
  redis.call('DEL', keyOf['taken'], keyOf['taken-parts'])
  redis.call('HSET', keyOf['taken-parts'], 'gap', ARGV[6])
  isKept = false
end
local kept = {}
local function keepPart(part)
  if isKept then kept[#kept + 1] = part end
end
`;

/**
 * Lua: writes them. ARGV 6 cursor, 7 next cursor or "", 8 "" for a step of one call, 15 "+" to keep the step, a block to forget the
 * steps after it, or "". Steps are dropped whole.
 */
export const writeTakenSteps = `
local takesBackAfter = tonumber(ARGV[15])
local isMoved = ARGV[7] ~= '' and (ARGV[7] ~= ARGV[6] or ARGV[8] ~= '')
if takesBackAfter or (isKept and (#kept > 0 or isMoved)) then
  local taken, parts = keyOf['taken'], keyOf['taken-parts']
  local last = tonumber(redis.call('HGET', parts, 'last') or 0)
  local count = tonumber(redis.call('HGET', parts, 'count') or 0)
  local function drop(entry)
    local number, size = string.match(entry, '^(%d+) (%d+)')
    redis.call('ZREM', taken, entry)
    redis.call('HDEL', parts, number)
    count = count - size
  end
  while takesBackAfter do
    local entry = redis.call('ZRANGEBYSCORE', taken, last, last)[1]
    local block = entry and string.match(entry, '^%d+ %d+ %S* (%d*)')
    if not block or (block ~= '' and tonumber(block) <= takesBackAfter) then break end
    drop(entry)
    last = last - 1
  end
  if not takesBackAfter then
    last = last + 1
    count = count + #kept
    redis.call('ZADD', taken, last, string.format('%d %d %s %s', last, #kept, ARGV[6], ARGV[7]))
    if #kept > 0 then redis.call('HSET', parts, last, cjson.encode(kept)) end
    local isWhole = ARGV[7] ~= ''
    while isWhole and (redis.call('ZCARD', taken) > ${mostTakenSteps} or count > ${mostTakenEndings}) do
      local entry
      repeat
        entry = redis.call('ZRANGEBYSCORE', taken, '-inf', '+inf', 'LIMIT', 0, 1)[1]
        drop(entry)
      until string.sub(entry, -1) ~= ' '
    end
  end
  redis.call('HSET', parts, 'last', last, 'count', count)
end
`;
