-- Reads a page of a list, from its right end: the jobs that are taken next come first.
-- KEYS[1] LIST
-- ARGV[1] call number; ARGV[2] entries to skip; ARGV[3] most entries to read (1 to 1000)
-- Result: {call, length, {entry, ...}}
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local skip, count = tonumber(ARGV[2]), tonumber(ARGV[3])
local entries = redis.call('LRANGE', KEYS[1], -skip - count, -skip - 1)
local page = {}
for index = #entries, 1, -1 do
  page[#page + 1] = entries[index]
end
return { call, redis.call('LLEN', KEYS[1]), page }
