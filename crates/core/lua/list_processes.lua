-- Tells of processes what their last heartbeat said, how old it is, and how many jobs they run.
-- KEYS: for each identity its process HASH and its workers HASH
-- ARGV[1] call number
-- Result: {call, {{info JSON or '', busy or '', quiet or '', remaining life of the presence (ms) or -1, running jobs}, ...}};
--   a process without presence has '' and -1, what has the wrong type reads as '' or 0
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local function text(reply)
  return type(reply) == 'string' and reply or ''
end
local function number(reply, otherwise)
  return type(reply) == 'number' and reply or otherwise
end
local processes = {}
for at = 1, #KEYS, 2 do
  local life = number(redis.call('PTTL', KEYS[at]), -1)
  processes[#processes + 1] = {
    text(redis.pcall('HGET', KEYS[at], 'info')),
    text(redis.pcall('HGET', KEYS[at], 'busy')),
    text(redis.pcall('HGET', KEYS[at], 'quiet')),
    life < 0 and -1 or life,
    number(redis.pcall('HLEN', KEYS[at + 1]), 0),
  }
end
return { call, processes }
