-- Signs a stopped process off. Its in-progress registration stays while it still holds jobs.
-- KEYS[1] process HASH; KEYS[2] processes SET; KEYS[3] workers HASH; KEYS[4] in-progress LIST;
--   KEYS[5] in-progress identities SET; KEYS[6] last beat HASH; KEYS[7] newest settlement STRING
-- ARGV[1] call number; ARGV[2] identity
-- Result: {call, jobs still on the in-progress list, or -1 when it cannot be read}
-- Repeat: finds nothing to remove

local call = tonumber(ARGV[1])
redis.pcall('SREM', KEYS[2], ARGV[2])
redis.pcall('DEL', KEYS[3])
local held = redis.pcall('LLEN', KEYS[4])
if type(held) == 'table' then
  held = -1
end
if held == 0 then
  redis.pcall('SREM', KEYS[5], ARGV[2])
  redis.pcall('HDEL', KEYS[6], ARGV[2])
  redis.pcall('DEL', KEYS[7])
end
redis.call('DEL', KEYS[1])
return { call, held }
