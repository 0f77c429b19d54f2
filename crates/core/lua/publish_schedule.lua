-- Publishes the periodic entries of a process.
-- KEYS[1] schedule of periodic entries HASH
-- ARGV[1] call number; ARGV[2] '1' to replace all that are published; then pairs: periodic id, entry JSON
-- Result: {call}
-- Repeat: publishes the same again

local call = tonumber(ARGV[1])
if ARGV[2] == '1' then
  local keep = {}
  for at = 3, #ARGV, 2 do
    keep[ARGV[at]] = true
  end
  for _, pjid in ipairs(redis.call('HKEYS', KEYS[1])) do
    if not keep[pjid] then
      redis.call('HDEL', KEYS[1], pjid)
    end
  end
end
for at = 3, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
end
return { call }
