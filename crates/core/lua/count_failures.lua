-- Counts failures that an earlier step filed and could not count.
-- KEYS[1] failed STRING; KEYS[2] throughput HASH
-- ARGV[1] call number; ARGV[2] number of failures; ARGV[3] throughput TTL, s
-- Result: {call, failures not counted, first error or ''}
-- Repeat: counts them once more

local call = tonumber(ARGV[1])

-- A write without effect: a demoted server refuses the whole call here, and a full one lets what follows pass.
redis.call('PERSIST', KEYS[1])

local uncounted, count_error = count_failed(KEYS[1], KEYS[2], ARGV[3], tonumber(ARGV[2]))
return { call, uncounted, count_error }
