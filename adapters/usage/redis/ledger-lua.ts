/**
 * Room that an entry takes in the stream, in bytes: its text, and about as much as Redis needs besides. The number
 * of bytes of a chain is the sum over its stream; it is exact because it is kept by the scripts that change the stream.
 */
export const entryBytes = 64;

/** Lua: `idOf(record)` and `setId(record, id)`: the id of its first record for the ledger, nil if it has none. */
export const recordIds = `
local function idOf(record) return record[7] and record[7][#record[5] / 2 + 1] end
local function setId(record, id) record[7][#record[5] / 2 + 1] = id end
`;

/**
 * Lua, for the script that reserves. Its arguments about the ledger are the room in bytes, 1 if it signs without room, the records of
 * all requests as `formatLines` makes them, and per request the id of its record or nothing. `recorded(request, text,
 * paymasterId)` answers the id of the request's record for the ledger, and the text of its reservation; false as the id if there is no
 * room. Without room, and if it signs all the same, the promise is counted as a gap, and the reservation does not name a record that
 * is not there. Lua is slow at making texts, so the records are taken apart only where not all of them are added as they came.
 */
export const recordRoom = `
local ledgerArg = #args > 6 + requests and 7 + requests
local adds, gaps, recordCount, isChanged, lines = {}, {}, 0, false, nil
local waiting, hasRoom
if ledgerArg then
  for i = 1, requests do
    if args[ledgerArg + 2 + i] ~= '' then recordCount = recordCount + 1 end
  end
  waiting = (values[#values - 1] or 0) + 0
  hasRoom = waiting + #args[ledgerArg + 2] + recordCount * ${entryBytes} <= args[ledgerArg] + 0
end
-- The number of contexts and the contexts, then the lines of the records; and the line of each request.
local function takeApart()
  if lines then return end
  lines = {}
  for line in string.gmatch(args[ledgerArg + 2], '[^\\n]+') do lines[#lines + 1] = line end
  local place = 1 + lines[1]
  lines.of = {}
  for i = 1, requests do
    if args[ledgerArg + 2 + i] ~= '' then
      place = place + 1
      lines.of[i] = lines[place]
    end
  end
end
local function recorded(request, text, paymasterId)
  local id = args[ledgerArg + 2 + request]
  if id == '' then return nil, text end
  if hasRoom then return id, text end
  takeApart()
  local room = #lines.of[request] + ${entryBytes}
  if waiting + room <= args[ledgerArg] + 0 then
    waiting = waiting + room
    return id, text
  end
  if args[ledgerArg + 1] ~= '1' then return false end
  local number, own = string.match(lines.of[request], '^[^\\t]*\\t(%d*)\\t(.*)$')
  local isRead, context = pcall(cjson.decode, number == '' and own or lines[2 + number])
  local organisation = isRead and type(context) == 'table' and (context.organisation or context[1])
  local gap = cjson.encode({type(organisation) == 'string' and organisation or '', paymasterId})
  gaps[gap] = (gaps[gap] or 0) + 1
  local asked = cjson.decode(text)
  setId(asked, nil)
  return nil, merged(asked, asked, true)
end
local function addRecord(request, id, first)
  adds[#adds + 1], adds[#adds + 2] = request, first
  if id ~= first then isChanged = true end
end
`;

/**
 * Lua: writes the records that `addRecord` was called for, as one entry (see `formatLines`), and the gaps. It comes first, so that an
 * error there leaves nothing half done.
 */
export const addRecords = `
if adds[1] then
  local text = args[ledgerArg + 2]
  if isChanged or #adds < 2 * recordCount then
    takeApart()
    local kept = {unpack(lines, 1, 1 + lines[1])}
    for i = 1, #adds, 2 do
      local own = string.sub(lines.of[adds[i]], #args[ledgerArg + 2 + adds[i]] + 1)
      kept[#kept + 1] = adds[i + 1] .. own
    end
    text = table.concat(kept, '\\n')
  end
  call('XADD', keys[#keys - 2], '*', 't', text)
  call('INCRBY', keys[#keys - 1], string.format('%d', #text + ${entryBytes}))
end
for gap, count in pairs(gaps) do call('HINCRBY', keys[#keys], gap, count) end
`;

/**
 * Lua, for a step of the follower: `ledgerArg` is the place of the number of restored records, followed by the room in bytes,
 * id and text of each restored record, and the text of each ending or "". `noteEnding(i, id)` takes the text of an ending.
 * A text without a reservation's record is left out when there is no room: its decision is missing as well.
 */
export const endingRecords = `
local hasRecords = #ARGV > ledgerArg
local restoredRecords = hasRecords and tonumber(ARGV[ledgerArg + 1]) or 0
local adds = {}
for i = 1, restoredRecords do
  adds[2 * i - 1], adds[2 * i] = ARGV[ledgerArg + 1 + 2 * i], ARGV[ledgerArg + 2 + 2 * i]
end
local function noteEnding(i, id)
  local text = hasRecords and ARGV[ledgerArg + 2 + 2 * restoredRecords + i] or ''
  if text == '' then return end
  if not id and tonumber(redis.call('GET', keyOf['ledger-bytes']) or 0) > tonumber(ARGV[ledgerArg + 2]) then return end
  adds[#adds + 1], adds[#adds + 2] = id or '', text
end
`;

/** Lua: adds them. */
export const addEndingRecords = `
if adds[1] then
  local room = 0
  for i = 1, #adds, 2 do
    if adds[i] == '' then
      redis.call('XADD', keyOf['ledger'], '*', 't', adds[i + 1])
    else
      redis.call('XADD', keyOf['ledger'], '*', 'r', adds[i], 't', adds[i + 1])
    end
    room = room + #adds[i + 1] + ${entryBytes}
  end
  redis.call('INCRBY', keyOf['ledger-bytes'], string.format('%d', room))
end
`;
