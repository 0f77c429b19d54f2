-- Reads the entries of a schedule that are due, and when the next one will be.
-- KEYS[1] schedule or retry ZSET
-- ARGV[1] call number; ARGV[2] now, epoch s; ARGV[3] most entries to read (1 to 500)
-- Result: {call, {entry, ...}, score of the first entry that is not due or ''}
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[2], 'LIMIT', 0, ARGV[3])
local following = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return { call, due, following[2] or '' }
