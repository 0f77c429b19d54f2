-- Lists the jobs that a process holds.
-- KEYS[1] in-progress LIST
-- ARGV[1] call number; ARGV[2] most entries to list, from the oldest
-- Result: {call, {job, ...}}, newest first
-- Repeat: lists again; nothing is changed

local call = tonumber(ARGV[1])
return { call, redis.call('LRANGE', KEYS[1], -tonumber(ARGV[2]), -1) }
