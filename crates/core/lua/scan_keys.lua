-- One step of a search for keys. Inside a script, so that a cluster sends it to the node that has the keys.
-- KEYS[1] any key of the installation, of any type or absent: only its slot matters
-- ARGV[1] call number; ARGV[2] cursor, '0' to begin; ARGV[3] pattern; ARGV[4] number of keys to look at (1 to 1000)
-- Result: {call, next cursor or '0' at the end, {key, ...}}; a key may come twice
-- Repeat: takes the same step again; nothing is changed

local call = tonumber(ARGV[1])
local step = redis.call('SCAN', ARGV[2], 'MATCH', ARGV[3], 'COUNT', ARGV[4])
return { call, step[1], step[2] }
