-- Swaps jobs that were put into dead as they were, without an error, for their completed entries.
-- That it is such a job shows in its orphan counter, which every other way into dead deletes.
-- KEYS[1] dead ZSET; KEYS[2] failed STRING; KEYS[3] throughput HASH; KEYS[4..] what the operations name by position (STRINGs, HASHes)
-- ARGV[1] call number; ARGV[2] throughput TTL, s; ARGV[3] now, epoch s, as statuses tell it;
--   then operations of 7 each (a position is one of KEYS, or 0):
--   job, completed entry, position of its orphan counter, jid, position of the unique lock, position of the running lock,
--   position of the status, which is changed where there is one
-- Result: {call, codes, failures not counted, first error of counting or ''}; code 1 swapped, 0 the job is gone or was put there otherwise
-- Repeat: finds the jobs gone and reports 0

local call = tonumber(ARGV[1])
local codes, failed = {}, 0

-- A write without effect: a demoted server refuses the whole call here, and a full one lets what follows pass.
redis.call('PERSIST', KEYS[1])

for at = 4, #ARGV, 7 do
  local counter = KEYS[tonumber(ARGV[at + 2])]
  local score = counter and redis.call('EXISTS', counter) == 1 and redis.call('ZSCORE', KEYS[1], ARGV[at])
  if score then
    redis.call('ZADD', KEYS[1], score, ARGV[at + 1])
    failed = failed + 1
    local jid = ARGV[at + 3]
    redis.pcall('DEL', counter)
    release(tonumber(ARGV[at + 4]), jid)
    release(tonumber(ARGV[at + 5]), jid)
    note_status(tonumber(ARGV[at + 6]), ARGV[3], 'status', 'failed')
    redis.call('ZREM', KEYS[1], ARGV[at])
  end
  codes[#codes + 1] = score and 1 or 0
end

local uncounted, count_error = count_failed(KEYS[2], KEYS[3], ARGV[2], failed)
return { call, table.concat(codes), uncounted, count_error }
