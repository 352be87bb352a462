import { keptPromises } from '../../../core/usage/usage-store.js';

/**
 * Lua: `merged(former, asked, isNewer)` returns the text of a record that holds what both hold, each at the larger
 * amount; see record.ts for the form (elements are counted from 1 here). `isNewer`: the promises of `asked` are newer
 * than those of `former`. The id of the first record is that of `former` if it has one. Promises beyond the newest `keptPromises` are folded. Its helpers are inside it: a script
 * creates its functions for every call, and few calls merge.
 */
export const mergeRecords = `
local function merged(former, asked, isNewer)
  local function larger(a, b)
    if #a ~= #b then return #a > #b and a or b end
    return a > b and a or b
  end
  local function number(value) return string.format('%d', value) end

  local function union(former, asked)
    local order, amounts = {}, {}
    for _, list in ipairs({former, asked}) do
      for i = 1, #list, 2 do
        local known = amounts[list[i]]
        if not known then order[#order + 1] = list[i] end
        if not known or known < list[i + 1] then amounts[list[i]] = list[i + 1] end
      end
    end
    local text = {}
    for i, name in ipairs(order) do text[i] = cjson.encode(name) .. ',' .. number(amounts[name]) end
    return '[' .. table.concat(text, ',') .. ']', order
  end

  local function untilsOf(order, former, asked)
    local untils = {}
    for _, record in ipairs({former, asked}) do
      for i = 1, #record[5], 2 do untils[record[5][i]] = record[7][(i + 1) / 2] end
    end
    for i, name in ipairs(order) do order[i] = number(untils[name]) end
    for _, record in ipairs({former, asked}) do
      local id = record[7] and record[7][#record[5] / 2 + 1]
      if id then
        order[#order + 1] = cjson.encode(id)
        break
      end
    end
    return '[' .. table.concat(order, ',') .. ']'
  end

  local function promisesOf(former, asked, isNewer)
    local kept, known, folded, groups = {}, {}, {}, {}
    local function fold(mode, contract, prefund, validUntil)
      local group = groups[mode .. contract]
      if group then
        group[3] = larger(group[3], prefund)
        group[4] = math.max(group[4], validUntil)
      else
        group = {mode, contract, prefund, validUntil}
        groups[mode .. contract] = group
        folded[#folded + 1] = group
      end
    end
    for _, list in ipairs({former[10], asked[10]}) do
      for _, one in ipairs(list) do fold(one[1], one[2], one[3], one[4]) end
    end
    for _, record in ipairs(isNewer and {asked, former} or {former, asked}) do
      for _, one in ipairs(record[9]) do
        if not known[one[1]] then
          known[one[1]] = true
          local mode, contract = one[4] or record[3], one[5] or record[2]
          local funding, token = one[6] or record[4], one[7] or ''
          if #kept == ${keptPromises} then
            fold(mode, contract, one[2], one[3])
          else
            local text = '["' .. one[1] .. '","' .. one[2] .. '",' .. number(one[3])
            local hashes = one[8]
            if hashes or mode ~= former[3] or contract ~= former[2] or funding ~= former[4] or token ~= '' then
              text = text .. ',"' .. mode .. '","' .. contract .. '","' .. funding .. '","' .. token .. '"'
              if hashes then text = text .. ',"' .. hashes .. '"' end
            end
            kept[#kept + 1] = text .. ']'
          end
        end
      end
    end
    for i, one in ipairs(folded) do
      folded[i] = '["' .. one[1] .. '","' .. one[2] .. '","' .. one[3] .. '",' .. number(one[4]) .. ']'
    end
    return '[' .. table.concat(kept, ',') .. ']', '[' .. table.concat(folded, ',') .. ']'
  end

  local limits, order = union(former[5], asked[5])
  local untils = untilsOf(order, former, asked)
  local accounts = union(former[6], asked[6])
  local holds = union(former[8], asked[8])
  local promises, folded = promisesOf(former, asked, isNewer)
  return '[' .. number(math.max(former[1], asked[1])) .. ',"' .. former[2] .. '","' .. former[3] .. '","' .. former[4]
    .. '",' .. limits .. ',' .. accounts .. ',' .. untils .. ',' .. holds .. ',' .. promises .. ',' .. folded .. ']'
end
`;
