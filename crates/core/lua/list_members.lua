-- Lists the members of a set.
-- KEYS[1] SET
-- ARGV[1] call number
-- Result: {call, {member, ...}}
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
return { call, redis.call('SMEMBERS', KEYS[1]) }
