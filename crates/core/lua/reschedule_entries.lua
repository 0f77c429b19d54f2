-- Gives entries of a sorted set another time. Their bytes stay as they are.
-- KEYS[1] ZSET
-- ARGV[1] call number; ARGV[2] new score, epoch s; ARGV[3..] entries, at most 500
-- Result: {call, codes}; code 1 it has that time, 0 the entry is gone
-- Repeat: gives the same time again

local call = tonumber(ARGV[1])
local codes = {}
for at = 3, #ARGV do
  local code = 0
  if redis.call('ZSCORE', KEYS[1], ARGV[at]) then
    redis.call('ZADD', KEYS[1], 'XX', ARGV[2], ARGV[at])
    code = 1
  end
  codes[#codes + 1] = code
end
return { call, table.concat(codes) }
