-- Counts the jobs that processes hold, and tells which of them live.
-- KEYS: for each identity its in-progress LIST and its process HASH
-- ARGV[1] call number
-- Result: {call, {number of jobs or -1 for a key of another type, 1 when its presence stands, ...}}
-- Repeat: counts again; nothing is changed

local call = tonumber(ARGV[1])
local counts = {}
for index = 1, #KEYS, 2 do
  local length = redis.pcall('LLEN', KEYS[index])
  counts[#counts + 1] = type(length) == 'table' and -1 or length
  counts[#counts + 1] = redis.call('EXISTS', KEYS[index + 1])
end
return { call, counts }
