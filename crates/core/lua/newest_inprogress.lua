-- Lists jobs that a process holds, beginning with the newest.
-- KEYS[1] in-progress LIST
-- ARGV[1] call number; ARGV[2] newest jobs to skip; ARGV[3] most jobs to list (1 to 500)
-- Result: {call, {job, ...}}, newest first
-- Repeat: lists again; nothing is changed

local call = tonumber(ARGV[1])
local skip = tonumber(ARGV[2])
return { call, redis.call('LRANGE', KEYS[1], skip, skip + tonumber(ARGV[3]) - 1) }
