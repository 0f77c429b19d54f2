-- Reads a page of a sorted set.
-- KEYS[1] ZSET
-- ARGV[1] call number; ARGV[2] entries to skip; ARGV[3] most entries to read (1 to 1000);
--   ARGV[4] '1' to begin with the highest score
-- Result: {call, size, {entry, score, ...}}
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local first = tonumber(ARGV[2])
local last = first + tonumber(ARGV[3]) - 1
local command = ARGV[4] == '1' and 'ZREVRANGE' or 'ZRANGE'
return {
  call,
  redis.call('ZCARD', KEYS[1]),
  redis.call(command, KEYS[1], first, last, 'WITHSCORES'),
}
