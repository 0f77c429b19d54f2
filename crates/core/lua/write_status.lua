-- Writes fields of a job's status and renews its expiry.
-- KEYS[1] status HASH
-- ARGV[1] call number; ARGV[2] TTL, s; then pairs: field, value
-- Result: {call}
-- Repeat: writes the same again

local call = tonumber(ARGV[1])
for at = 3, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return { call }
