-- Shows which jobs run in which slots of a process, and writes the status of those that run.
-- KEYS[1] workers HASH; KEYS[2..] status HASHes, one for each status
-- ARGV[1] call number; ARGV[2] TTL of the workers, s; ARGV[3] number of slots to show; ARGV[4] number of slots to clear;
--   ARGV[5] TTL of a status, s; then pairs: slot, work JSON; then the slots to clear;
--   then for each status: number of fields, each field and value
-- Result: {call, first error of a status or ''}
-- Repeat: shows and writes the same again

local call = tonumber(ARGV[1])
local shown, cleared = tonumber(ARGV[3]), tonumber(ARGV[4])
local first_clear = 6 + 2 * shown
for at = first_clear, first_clear + cleared - 1 do
  redis.call('HDEL', KEYS[1], ARGV[at])
end
for at = 6, first_clear - 1, 2 do
  redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
end
if shown + cleared > 0 then
  redis.call('EXPIRE', KEYS[1], ARGV[2])
end

local status_error = ''
local at = first_clear + cleared
for status = 2, #KEYS do
  local fields = tonumber(ARGV[at])
  local written = redis.pcall('HSET', KEYS[status], unpack(ARGV, at + 1, at + 2 * fields))
  if type(written) == 'table' then
    if status_error == '' then
      status_error = written.err
    end
  else
    redis.call('EXPIRE', KEYS[status], ARGV[5])
  end
  at = at + 1 + 2 * fields
end
return { call, status_error }
