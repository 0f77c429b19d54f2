-- Takes waiting jobs from queues, onto this process's in-progress list or for good, skipping paused queues.
-- KEYS[1] in-progress LIST; KEYS[2] paused queues SET; KEYS[3..] queue LISTs, in the order to take from
-- ARGV[1] call number; ARGV[2] most jobs to take (1 to 500); ARGV[3] '1' to put them on the in-progress list, '0' to
--   pop them (basic fetch); ARGV[4..] the names of the queues KEYS[3..]
-- Result: {call, {positions of paused queues}, {position, error, ...}, {position, {job, ...}, ...}};
--   positions count from 1 at KEYS[3]; a queue's jobs come oldest first
-- Repeat: takes further jobs; what a lost reply took stays on the in-progress list, or is lost when it was popped

local call = tonumber(ARGV[1])
local room = tonumber(ARGV[2])
local inprogress, listed = KEYS[1], ARGV[3] == '1'

-- A write without effect: a demoted server refuses the whole call here, and a full one lets what follows pass.
redis.call('PERSIST', inprogress)

local is_paused = {}
local paused_names = redis.pcall('SMEMBERS', KEYS[2])
if not paused_names.err then
  for _, name in ipairs(paused_names) do
    is_paused[name] = true
  end
end

local paused, errors, taken = {}, {}, {}
for position = 1, #KEYS - 2 do
  local queue = KEYS[position + 2]
  if is_paused[ARGV[position + 3]] then
    paused[#paused + 1] = position
  elseif room > 0 then
    local waiting = redis.pcall('LRANGE', queue, -room, -1)
    if waiting.err then
      errors[#errors + 1] = position
      errors[#errors + 1] = waiting.err
    elseif #waiting > 0 then
      local count = #waiting
      local jobs = {}
      for index = 1, count do
        jobs[index] = waiting[count - index + 1]
      end
      if listed then
        redis.call('LPUSH', inprogress, unpack(jobs))
      end
      redis.call('LTRIM', queue, 0, -count - 1)
      room = room - count
      taken[#taken + 1] = position
      taken[#taken + 1] = jobs
    end
  end
end
return { call, paused, errors, taken }
