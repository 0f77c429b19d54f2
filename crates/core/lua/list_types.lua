-- Tells what keys hold.
-- KEYS[1..] keys of any type (at most 500)
-- ARGV[1] call number
-- Result: {call, {type, ...}} as the command TYPE spells it, 'none' for a key that is not there
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local types = {}
for at = 1, #KEYS do
  types[at] = redis.call('TYPE', KEYS[at]).ok
end
return { call, types }
