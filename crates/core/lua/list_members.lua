-- Lists the members of a set.
-- KEYS[1] SET
-- ARGV[1] call number
-- Result: {call, {member, ...}}
-- Repeat: reads again; nothing is changed

return { tonumber(ARGV[1]), redis.call('SMEMBERS', KEYS[1]) }
