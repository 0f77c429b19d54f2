-- Shows which jobs run in which slots of a process.
-- KEYS[1] workers HASH
-- ARGV[1] call number; ARGV[2] TTL, s; ARGV[3] number of slots to show;
--   then pairs: slot, work JSON; then the slots to clear
-- Result: {call}
-- Repeat: shows the same again

local call = tonumber(ARGV[1])
local shown = tonumber(ARGV[3])
for at = 4 + 2 * shown, #ARGV do
  redis.call('HDEL', KEYS[1], ARGV[at])
end
for at = 4, 3 + 2 * shown, 2 do
  redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return { call }
