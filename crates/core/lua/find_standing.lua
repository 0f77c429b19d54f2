-- Finds those of several entries that stand in dead: after a lost reply, what was buried all the same.
-- KEYS[1] dead ZSET
-- ARGV[1] call number; ARGV[2..] entries (at most 500)
-- Result: {call, {position of one that stands there, counted from 1, ...}}
-- Repeat: looks again; nothing is changed

local call = tonumber(ARGV[1])

-- A write without effect: a demoted server, whose dead may lag behind, refuses the call.
redis.call('PERSIST', KEYS[1])

local standing = {}
for index = 2, #ARGV do
  if redis.call('ZSCORE', KEYS[1], ARGV[index]) then
    standing[#standing + 1] = index - 1
  end
end
return { call, standing }
