import { entryBytes } from './ledger-lua.js';
import { script } from './script.js';

// The consumer group of a chain's records. What it has acknowledged is not confirmed by replicas: if a failover loses that, entries are
// read once more, which a ledger ignores.

const group = 'ledger';

/**
 * KEYS 1 records, 2 bytes, 3 gaps; ARGV 1 consumer, 2 most entries, 3 idle time in milliseconds after which entries are taken
 * over, 4 where to look for those, 5 gaps are read while the records take at most so many bytes. The first call makes the group,
 * from the first entry on. Replies [where to look next, [id, reservation or "", text, …], [gap, count, …]].
 */
export const readRecordsOfGroup = script(
  `
local function claimed()
  return redis.pcall('XAUTOCLAIM', KEYS[1], '${group}', ARGV[1], ARGV[3], ARGV[4], 'COUNT', ARGV[2])
end
local reply = claimed()
if reply.err and string.find(reply.err, 'NOGROUP', 1, true) then
  redis.call('XGROUP', 'CREATE', KEYS[1], '${group}', '0', 'MKSTREAM')
  reply = claimed()
end
if reply.err then return redis.error_reply(reply.err) end
local found = {}
local function add(entries)
  for _, entry in ipairs(entries) do
    local values = {}
    for i = 1, #entry[2], 2 do values[entry[2][i]] = entry[2][i + 1] end
    found[#found + 1] = entry[1]
    found[#found + 1] = values.r or ''
    found[#found + 1] = values.t or ''
  end
end
add(reply[2])
local rest = tonumber(ARGV[2]) - #reply[2]
if rest > 0 then
  local streams = redis.call('XREADGROUP', 'GROUP', '${group}', ARGV[1], 'COUNT', rest, 'STREAMS', KEYS[1], '>')
  if streams then add(streams[1][2]) end
end
-- Whatever was counted, for example before the stream was deleted.
if #found == 0 and redis.call('XLEN', KEYS[1]) == 0 then redis.call('DEL', KEYS[2]) end
local gaps = {}
if tonumber(redis.call('GET', KEYS[2]) or 0) <= tonumber(ARGV[5]) then gaps = redis.call('HGETALL', KEYS[3]) end
return {reply[1], found, gaps}
`,
  'allow-oom',
);

/**
 * KEYS 1 records, 2 bytes; ARGV id and bytes of the text of each entry in turn. Removes these entries and no others. An
 * empty stream takes no room, whatever was counted. Replies 1.
 */
export const acknowledgeScript = script(
  `
local freed = 0
for i = 1, #ARGV, 2 do
  redis.call('XACK', KEYS[1], '${group}', ARGV[i])
  if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 then freed = freed + tonumber(ARGV[i + 1]) + ${entryBytes} end
end
if redis.call('XLEN', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[2])
elseif freed > 0 then
  redis.call('INCRBY', KEYS[2], string.format('%d', -freed))
end
return 1
`,
  'allow-oom',
);

/** KEYS 1 records, 2 bytes; ARGV 1 room in bytes, then texts. Replies 1, or 0 without room for all of them. */
export const offerScript = script(`
local room = 0
for i = 2, #ARGV do room = room + #ARGV[i] + ${entryBytes} end
if tonumber(redis.call('GET', KEYS[2]) or 0) + room > tonumber(ARGV[1]) then return 0 end
for i = 2, #ARGV do redis.call('XADD', KEYS[1], '*', 't', ARGV[i]) end
redis.call('INCRBY', KEYS[2], string.format('%d', room))
return 1
`);

/** KEYS 1 records, 2 bytes, 3 gaps; ARGV per gap its name, its count and its record. A gap whose count is another one stays. */
export const recordGapsScript = script(`
for i = 1, #ARGV, 3 do
  if redis.call('HGET', KEYS[3], ARGV[i]) == ARGV[i + 1] then
    redis.call('HDEL', KEYS[3], ARGV[i])
    redis.call('XADD', KEYS[1], '*', 't', ARGV[i + 2])
    redis.call('INCRBY', KEYS[2], string.format('%d', #ARGV[i + 2] + ${entryBytes}))
  end
end
return 1
`);

/** KEYS 1 records, 2 bytes. Replies [entries, bytes, age of the oldest in milliseconds]. */
export const stateOfRecords = script(
  `
local length = redis.call('XLEN', KEYS[1])
if length == 0 then return {0, 0, 0} end
local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1][1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local at = tonumber(string.match(oldest, '^%d+'))
return {length, tonumber(redis.call('GET', KEYS[2]) or 0), math.max(0, now - at)}
`,
  'no-writes',
);

/**
 * KEYS 1 records; ARGV 1 own name, 2 milliseconds. Forgets consumers that have been idle for so long. One with entries that it has
 * not acknowledged stays: they would be forgotten with it.
 */
export const forgetConsumersScript = script(
  `
local consumers = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], '${group}')
-- Nobody has read this chain yet.
if consumers.err then return 0 end
for _, fields in ipairs(consumers) do
  local consumer = {}
  for i = 1, #fields, 2 do consumer[fields[i]] = fields[i + 1] end
  if consumer.name ~= ARGV[1] and consumer.pending == 0 and consumer.idle >= tonumber(ARGV[2]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], '${group}', consumer.name)
  end
end
return 1
`,
  'allow-oom',
);

/** KEYS 1 list of chains; ARGV 1 chain. */
export const listChainScript = script(`return redis.call('SADD', KEYS[1], ARGV[1])`, 'allow-oom');
