-- Finds the dead ones of several processes, on Redis's clock: the presence is gone and the last beat is old.
-- KEYS[1] last beat HASH; KEYS[2..] the process HASHes of the identities (at most 500)
-- ARGV[1] call number; ARGV[2] orphan threshold, s; ARGV[3] the host's clock, epoch s;
--   ARGV[4..] the identities, in the order of KEYS[2..]
-- Result: {call, {position of a dead one, counted from 1, ...}}
-- Repeat: looks again; nothing is changed

local call = tonumber(ARGV[1])

-- A write without effect: a demoted server, which may not see who lives, refuses the call.
redis.call('PERSIST', KEYS[1])

local now = redis.pcall('TIME')
now = tonumber(now.err and ARGV[3] or now[1])

local dead = {}
for index = 2, #KEYS do
  local beat = redis.pcall('HGET', KEYS[1], ARGV[index + 2])
  beat = type(beat) == 'string' and tonumber(beat)
  if redis.call('EXISTS', KEYS[index]) == 0 and not (beat and now - beat < tonumber(ARGV[2])) then
    dead[#dead + 1] = index - 1
  end
end
return { call, dead }
