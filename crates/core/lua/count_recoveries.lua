-- Tells how often jobs were recovered from dead processes since they last came to an end.
-- KEYS[1..] for each job the STRING that counts it (at most 500)
-- ARGV[1] call number
-- Result: {call, {number, ...}}, 0 for a key that is not there and for one of another type, which starts over
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local counts = {}
for at = 1, #KEYS do
  local count = redis.pcall('GET', KEYS[at])
  if type(count) == 'table' and count.err and string.sub(count.err, 1, 9) ~= 'WRONGTYPE' then
    return count
  end
  -- Whole numbers alone: Redis cuts the others, and refuses what is none.
  counts[at] = type(count) == 'string' and math.floor(tonumber(count) or 0) or 0
end
return { call, counts }
