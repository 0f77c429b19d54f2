-- Moves keys of the wrong type away, so that what needs them goes on with fresh ones.
-- KEYS[1..n] the keys to check, of any type; KEYS[n+1..2n] where each of them goes, in the same order (n at most 500)
-- ARGV[1] call number; ARGV[2] TTL of what is moved, s; ARGV[3..] the types that KEYS[1..n] should have, as TYPE spells them
-- Result: {call, {{position, found type, error or ''}, ...}}, one for each key of the wrong type;
--   positions count from 1; with an error the key is still where it was
-- Repeat: finds the moved keys absent, or recreated with the right type, and leaves them alone

local call = tonumber(ARGV[1])
local count = #KEYS / 2
local wrong = {}
for position = 1, count do
  local found = redis.call('TYPE', KEYS[position]).ok
  if found ~= 'none' and found ~= ARGV[position + 2] then
    local copy = KEYS[count + position]
    -- NX: an earlier copy is never overwritten.
    local moved = redis.pcall('RENAMENX', KEYS[position], copy)
    local problem = ''
    if type(moved) == 'table' then
      problem = moved.err
    elseif moved == 0 then
      problem = 'ERR the quarantine name is taken'
    else
      redis.pcall('EXPIRE', copy, ARGV[2])
    end
    wrong[#wrong + 1] = { position, found, problem }
  end
end
return { call, wrong }
