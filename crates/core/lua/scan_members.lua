-- One step through the members of a set, or through the fields of a hash.
-- KEYS[1] SET or HASH
-- ARGV[1] call number; ARGV[2] 'set' or 'hash'; ARGV[3] cursor, '0' to begin; ARGV[4] number of members to look at (1 to 1000)
-- Result: {call, next cursor or '0' at the end, {member or field, ...}}; one may come twice, and a small set comes as a whole
-- Repeat: takes the same step again; nothing is changed

local call = tonumber(ARGV[1])
if ARGV[2] == 'set' then
  local step = redis.call('SSCAN', KEYS[1], ARGV[3], 'COUNT', ARGV[4])
  return { call, step[1], step[2] }
end
local step = redis.call('HSCAN', KEYS[1], ARGV[3], 'COUNT', ARGV[4])
local fields = {}
for at = 1, #step[2], 2 do
  fields[#fields + 1] = step[2][at]
end
return { call, step[1], fields }
