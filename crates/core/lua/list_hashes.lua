-- Reads several hashes.
-- KEYS[1..] HASHes
-- ARGV[1] call number
-- Result: {call, {{field, value, ...}, ...}}, one for each key; a key that is no hash reads as empty
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local hashes = {}
for at = 1, #KEYS do
  local fields = redis.pcall('HGETALL', KEYS[at])
  hashes[#hashes + 1] = fields.err and {} or fields
end
return { call, hashes }
