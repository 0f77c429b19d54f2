-- Finds the records in a slice of the history that hold a text, the newest first.
-- KEYS[1] history ZSET
-- ARGV[1] call number; ARGV[2] records to skip; ARGV[3] most records to look at (1 to 1000); ARGV[4] the text
-- Result: {call, size, number looked at, {record, ...}}
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local first = tonumber(ARGV[2])
local records = redis.call('ZREVRANGE', KEYS[1], first, first + tonumber(ARGV[3]) - 1)
local found = {}
for _, record in ipairs(records) do
  if string.find(record, ARGV[4], 1, true) then
    found[#found + 1] = record
  end
end
return { call, redis.call('ZCARD', KEYS[1]), #records, found }
