-- Takes processes whose presence has lapsed off the registry of processes.
-- KEYS[1] processes SET; KEYS[2..] the process HASHes of the identities (at most 500)
-- ARGV[1] call number; ARGV[2..] the identities, in the order of KEYS[2..]
-- Result: {call, number of identities taken off}
-- Repeat: finds them gone

local call = tonumber(ARGV[1])
local pruned = 0
for index = 2, #KEYS do
  if redis.call('EXISTS', KEYS[index]) == 0 then
    pruned = pruned + redis.call('SREM', KEYS[1], ARGV[index])
  end
end
return { call, pruned }
