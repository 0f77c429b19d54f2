-- Moves entries out of a sorted set: onto their queues, or into dead as completed entries.
-- KEYS[1] source ZSET; KEYS[2] queues SET; KEYS[3] dead ZSET; KEYS[4] failed STRING; KEYS[5] throughput HASH;
--   KEYS[6..] queue LISTs
-- ARGV[1] call number; ARGV[2] new score of an entry that cannot be moved, epoch s, or '' to leave it;
--   ARGV[3] throughput TTL, s; then operations of 5 each:
--   'q' (onto its queue): entry, payload to push, KEYS position of the queue, name of the queue
--   'd' (bury): entry, payload to file, 0, score
-- Result: {call, codes, first error or '', number of entries that got the new score, failures not counted,
--   first error of counting or ''}; code 1 moved, 0 the entry is gone, e it stays where it was
-- Repeat: finds the entries gone and reports 0

local call = tonumber(ARGV[1])
local codes, first_error, failed, postponed = {}, '', 0, 0

-- A write without effect: a demoted server refuses the whole call here, and a full one lets what follows pass.
redis.call('PERSIST', KEYS[1])

for at = 4, #ARGV, 5 do
  local kind, entry, payload, position, extra =
    ARGV[at], ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]), ARGV[at + 4]
  local code = 0
  if redis.call('ZSCORE', KEYS[1], entry) then
    local written
    if kind == 'q' then
      written = redis.pcall('LPUSH', KEYS[position], payload)
    else
      written = redis.pcall('ZADD', KEYS[3], extra, payload)
    end
    if type(written) == 'table' then
      code = 'e'
      if first_error == '' then
        first_error = written.err
      end
      -- Where this is refused too, the entry is still due.
      if ARGV[2] ~= '' and type(redis.pcall('ZADD', KEYS[1], 'XX', ARGV[2], entry)) == 'number' then
        postponed = postponed + 1
      end
    else
      code = 1
      if kind == 'q' then
        redis.pcall('SADD', KEYS[2], extra)
      else
        failed = failed + 1
      end
      redis.call('ZREM', KEYS[1], entry)
    end
  end
  codes[#codes + 1] = code
end

local uncounted, count_error = count_failed(KEYS[4], KEYS[5], ARGV[3], failed)
return { call, table.concat(codes), first_error, postponed, uncounted, count_error }
