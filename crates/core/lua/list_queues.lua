-- Tells of each queue whether it is paused, how long it is and which job is next.
-- KEYS[1] paused queues SET; KEYS[2..] queue LISTs
-- ARGV[1] call number; ARGV[2..] the names of the queues KEYS[2..]
-- Result: {call, {{paused (1 or 0), length, next job or ''}, ...}}; a queue that cannot be read has length -1
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local queues = {}
for at = 2, #KEYS do
  local paused = redis.pcall('SISMEMBER', KEYS[1], ARGV[at])
  local length = redis.pcall('LLEN', KEYS[at])
  local job = ''
  if type(length) == 'table' then
    length = -1
  elseif length > 0 then
    job = redis.call('LINDEX', KEYS[at], -1)
  end
  queues[#queues + 1] = { paused == 1 and 1 or 0, length, job }
end
return { call, queues }
