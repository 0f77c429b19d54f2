-- Shows which jobs run in which slots of a process, and writes the status of those that run.
-- KEYS[1] workers HASH; KEYS[2] in-progress LIST; KEYS[3..] status HASHes, one for each status
-- ARGV[1] call number; ARGV[2] TTL of the workers, s; ARGV[3] number of slots to show; ARGV[4] number of slots to clear;
--   ARGV[5] TTL of a status, s; then pairs: slot, work JSON; then the slots to clear;
--   then for each status: the job while it must still be in progress or '', number of fields, each field and value
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
for status = 3, #KEYS do
  local job, fields = ARGV[at], tonumber(ARGV[at + 1])
  -- A run that ended meanwhile has written its last status, perhaps before this call.
  if job == '' or redis.call('LPOS', KEYS[2], job, 'RANK', -1) then
    for first = at + 2, at + 1 + 2 * fields, 1000 do
      local last = math.min(first + 999, at + 1 + 2 * fields)
      local written = redis.pcall('HSET', KEYS[status], unpack(ARGV, first, last))
      if type(written) == 'table' and status_error == '' then
        status_error = written.err
      end
    end
    redis.pcall('EXPIRE', KEYS[status], ARGV[5])
  end
  at = at + 2 + 2 * fields
end
return { call, status_error }
