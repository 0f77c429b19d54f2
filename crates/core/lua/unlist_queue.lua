-- Takes a queue on which no job waits off the listings, and ends its pause.
-- KEYS[1] queue LIST; KEYS[2] queues SET; KEYS[3] paused queues SET; KEYS[4] live queues ZSET
-- ARGV[1] call number; ARGV[2] the queue's name
-- Result: {call, 1 when no job waits, 0 when one does and nothing was changed}
-- Repeat: finds it gone and reports 1

local call = tonumber(ARGV[1])
if redis.call('LLEN', KEYS[1]) > 0 then
  return { call, 0 }
end
redis.call('SREM', KEYS[2], ARGV[2])
redis.pcall('SREM', KEYS[3], ARGV[2])
redis.pcall('ZREM', KEYS[4], ARGV[2])
return { call, 1 }
