-- Looks through dead, from the newest entry on, for jobs that stand there as they were, without an error.
-- KEYS[1] dead ZSET
-- ARGV[1] call number; ARGV[2] entries to skip; ARGV[3] most entries to look at (1 to 500); ARGV[4] most bytes to look
--   at: the first entry is looked at whatever its size; ARGV[5] epoch s of the oldest entry to look at, or '-inf'
-- Result: {call, {entry without an error, ...}, number of entries looked at, 1 when a limit left some behind, else 0};
--   an entry whose args spell the field of the error is taken for one that has it
-- Repeat: looks again; nothing is changed

local call = tonumber(ARGV[1])
local skip, most, most_bytes = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local oldest = ARGV[5] ~= '-inf' and tonumber(ARGV[5])
local raw, seen, bytes = {}, 0, 0
while true do
  local found = redis.call('ZREVRANGE', KEYS[1], skip + seen, skip + seen, 'WITHSCORES')
  local entry, score = found[1], tonumber(found[2])
  if not entry or (oldest and score < oldest) then
    return { call, raw, seen, 0 }
  end
  bytes = bytes + #entry
  if seen == most or (seen > 0 and bytes > most_bytes) then
    return { call, raw, seen, 1 }
  end
  seen = seen + 1
  if not string.find(entry, '"error_class"', 1, true) then
    raw[#raw + 1] = entry
  end
end
