-- Tells of periodic entries how they are published and how they stand, in one moment.
-- KEYS[1] schedule of periodic entries HASH; KEYS[2] disabled SET; then for each entry: last slot STRING, running lock STRING
-- ARGV[1] call number; ARGV[2..] periodic ids, at most 500
-- Result: {call, {{entry JSON or '', disabled (1 or 0), last slot (epoch s) or '', jid of the running lock or ''}, ...}};
--   what is missing or has the wrong type reads as '' or 0
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local function text(reply)
  return type(reply) == 'string' and reply or ''
end
local entries = {}
for at = 2, #ARGV do
  local disabled = redis.pcall('SISMEMBER', KEYS[2], ARGV[at])
  entries[#entries + 1] = {
    text(redis.pcall('HGET', KEYS[1], ARGV[at])),
    disabled == 1 and 1 or 0,
    text(redis.pcall('GET', KEYS[2 * at - 1])),
    text(redis.pcall('GET', KEYS[2 * at])),
  }
end
return { call, entries }
