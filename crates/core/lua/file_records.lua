-- Files what a list holds in retry, dead or schedule: unsettled outcomes, and jobs recovered too often.
-- KEYS[1] source LIST; KEYS[2] failed STRING; KEYS[3] throughput HASH; KEYS[4] LIST of unusable records;
--   KEYS[5..] what the operations name by position (ZSETs, STRINGs, HASHes)
-- ARGV[1] call number; ARGV[2] throughput TTL, s; ARGV[3] TTL of the unusable records, s;
--   ARGV[4] now, epoch s, as statuses tell it; then operations of 10 each (a position is one of KEYS, or 0):
--   kind, element, position of the target, score, entry, position of the orphan counter, jid, position of the
--   unique lock, position of the running lock, position of the status
--   'f' (file): entry into the target ZSET; 'c' the same, and counted as a failure, which its status tells where there is one;
--   the locks given are released
--   'q' (unusable): element to the LIST of unusable records
-- Result: {call, codes, first error or '', failures not counted, first error of counting or ''};
--   code 1 moved, 0 not on the list, or off it because its entry stood at the target already, e still on the list
-- Repeat: finds the elements gone and reports 0

local call = tonumber(ARGV[1])
local codes, first_error, failed = {}, '', 0

-- A write without effect: a demoted server refuses the whole call here, and a full one lets what follows pass.
redis.call('PERSIST', KEYS[1])

for at = 5, #ARGV, 10 do
  local kind, element, code = ARGV[at], ARGV[at + 1], 0
  if redis.call('LPOS', KEYS[1], element) then
    local written
    if kind == 'q' then
      written = redis.pcall('RPUSH', KEYS[4], element)
    else
      written = redis.pcall('ZADD', KEYS[tonumber(ARGV[at + 2])], ARGV[at + 3], ARGV[at + 4])
    end
    if type(written) == 'table' then
      code = 'e'
      if first_error == '' then
        first_error = written.err
      end
    else
      -- Handed over twice, it is filed, counted and told once.
      code = written > 0 and 1 or 0
      if kind == 'q' then
        redis.pcall('EXPIRE', KEYS[4], ARGV[3])
      else
        local counter, jid = tonumber(ARGV[at + 5]), ARGV[at + 6]
        if kind == 'c' then
          failed = failed + code
          note_status(tonumber(ARGV[at + 9]), ARGV[4], 'status', 'failed')
        end
        if counter > 0 then
          redis.pcall('DEL', KEYS[counter])
        end
        release(tonumber(ARGV[at + 7]), jid)
        release(tonumber(ARGV[at + 8]), jid)
      end
      redis.call('LREM', KEYS[1], 1, element)
    end
  end
  codes[#codes + 1] = code
end

local uncounted, count_error = count_failed(KEYS[2], KEYS[3], ARGV[2], failed)
return { call, table.concat(codes), first_error, uncounted, count_error }
