-- Lists the jobs that a process holds, unless there are as many as it knows of.
-- KEYS[1] in-progress LIST
-- ARGV[1] call number; ARGV[2] most jobs to list, from the oldest; ARGV[3] number of jobs it knows of, -1 to list in any case
-- Result: {call, 1 when there are as many, {job, ...}}, newest first
-- Repeat: lists again; nothing is changed

local call = tonumber(ARGV[1])
if redis.call('LLEN', KEYS[1]) == tonumber(ARGV[3]) then
  return { call, 1, {} }
end
return { call, 0, redis.call('LRANGE', KEYS[1], -tonumber(ARGV[2]), -1) }
