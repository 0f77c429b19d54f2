-- Reads on through a list or a sorted set, by place, and gives the entries that hold some texts. Case does not matter.
-- KEYS[1] LIST or ZSET
-- ARGV[1] call number; ARGV[2] 'l' for a list, 'z' for a sorted set; ARGV[3] '1' to begin with what is taken or due
--   last; ARGV[4] entries to skip; ARGV[5] most entries to look at (1 to 1000); ARGV[6] most bytes to look at, the first
--   entry is looked at whatever its size; ARGV[7..] texts in lower case, which an entry must all hold
-- Result: {call, size, entries looked at, {place from 1 on, entry, score or '', ...}}
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local is_list, from_end = ARGV[2] == 'l', ARGV[3] == '1'
local skip, most, most_bytes = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

-- Entries as a flat list of entry and score. What a list gives next is its last element.
local function read(first, count)
  if not is_list then
    local command = from_end and 'ZREVRANGE' or 'ZRANGE'
    return redis.call(command, KEYS[1], first, first + count - 1, 'WITHSCORES')
  end
  local flat, from, to, step = {}, 1, 0, 1
  local entries
  if from_end then
    entries = redis.call('LRANGE', KEYS[1], first, first + count - 1)
    to = #entries
  else
    entries = redis.call('LRANGE', KEYS[1], -first - count, -first - 1)
    from, to, step = #entries, 1, -1
  end
  for index = from, to, step do
    flat[#flat + 1] = entries[index]
    flat[#flat + 1] = ''
  end
  return flat
end

local function holds_all(entry)
  if #ARGV < 7 then
    return true
  end
  local text = string.lower(entry)
  for at = 7, #ARGV do
    if not string.find(text, ARGV[at], 1, true) then
      return false
    end
  end
  return true
end

local found, looked, bytes, done = {}, 0, 0, false
-- In growing slices, so that of huge entries few are copied only to be left out.
local slice = 1
while not done and looked < most do
  local wanted = math.min(slice, most - looked)
  local flat = read(skip + looked, wanted)
  done = #flat < 2 * wanted
  for at = 1, #flat, 2 do
    local entry = flat[at]
    bytes = bytes + #entry
    if looked > 0 and bytes > most_bytes then
      done = true
      break
    end
    looked = looked + 1
    if holds_all(entry) then
      found[#found + 1] = looked
      found[#found + 1] = entry
      found[#found + 1] = flat[at + 1]
    end
  end
  slice = slice * 2
end
return { call, redis.call(is_list and 'LLEN' or 'ZCARD', KEYS[1]), looked, found }
