-- Reads the entries that are taken or due first, up to a number of entries and of bytes.
-- KEYS[1] LIST or ZSET
-- ARGV[1] call number; ARGV[2] 'l' for a list, 'z' for a sorted set; ARGV[3] entries to skip;
--   ARGV[4] most entries to read (1 to 500); ARGV[5] most bytes to read; the first entry comes whatever its size
-- Result: {call, size, {entry, ...}}
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local is_list = ARGV[2] == 'l'
local skip, most, most_bytes = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

local function read(first, count)
  if not is_list then
    return redis.call('ZRANGE', KEYS[1], first, first + count - 1)
  end
  -- A list's next element is its last.
  local backwards = redis.call('LRANGE', KEYS[1], -first - count, -first - 1)
  local entries = {}
  for index = #backwards, 1, -1 do
    entries[#entries + 1] = backwards[index]
  end
  return entries
end

local found, bytes, done = {}, 0, false
-- In growing slices, so that of huge entries few are copied only to be left out.
local slice = 1
while not done and #found < most do
  local wanted = math.min(slice, most - #found)
  local entries = read(skip + #found, wanted)
  done = #entries < wanted
  for _, entry in ipairs(entries) do
    bytes = bytes + #entry
    if #found > 0 and bytes > most_bytes then
      done = true
      break
    end
    found[#found + 1] = entry
  end
  slice = slice * 2
end
return { call, redis.call(is_list and 'LLEN' or 'ZCARD', KEYS[1]), found }
