-- Files jobs that are due later, and wakes the pollers when one is due before all the others.
-- KEYS[1] schedule ZSET
-- ARGV[1] call number; ARGV[2] wake channel; then pairs: score (epoch s), job (at most 500 pairs)
-- Result: {call, number of entries added}
-- Repeat: the same bytes are the same entry, so nothing is added

local call = tonumber(ARGV[1])
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
local earliest
local added = 0
for at = 3, #ARGV, 2 do
  added = added + redis.call('ZADD', KEYS[1], ARGV[at], ARGV[at + 1])
  local score = tonumber(ARGV[at])
  if not earliest or score < earliest then
    earliest = score
  end
end
if earliest and (not first or earliest < tonumber(first)) then
  redis.pcall('PUBLISH', ARGV[2], string.format('%.6f', earliest))
end
return { call, added }
