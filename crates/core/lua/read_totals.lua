-- Reads the counters and the sizes of the sorted sets.
-- KEYS[1] processed STRING; KEYS[2] failed STRING; KEYS[3] schedule ZSET; KEYS[4] retry ZSET; KEYS[5] dead ZSET
-- ARGV[1] call number
-- Result: {call, processed, failed, scheduled, retrying, dead}; -1 for a key of the wrong type
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local totals = {}
for at = 1, #KEYS do
  local value
  if at <= 2 then
    value = redis.pcall('GET', KEYS[at])
    if type(value) ~= 'table' then
      value = tonumber(value or 0)
    end
  else
    value = redis.pcall('ZCARD', KEYS[at])
  end
  if type(value) ~= 'number' then
    value = -1
  end
  totals[#totals + 1] = value
end
return { call, unpack(totals) }
