-- Reads the entries of a schedule that are due, and when the next one will be.
-- KEYS[1] schedule or retry ZSET
-- ARGV[1] call number; ARGV[2] now, epoch s; ARGV[3] most entries to read (1 to 500);
--   ARGV[4] most bytes to read; the first entry comes whatever its size
-- Result: {call, {entry, ...}, 1 when a limit may have left due entries behind, else 0,
--   score of the first entry that is not due or ''}
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local most, most_bytes = tonumber(ARGV[3]), tonumber(ARGV[4])
local due, bytes, more, done = {}, 0, 1, false

-- A write without effect: a demoted server, which may not see what is due, refuses the call.
redis.call('PERSIST', KEYS[1])

-- In growing slices, so that of huge entries few are copied only to be left out.
local slice = 1
while not done and #due < most do
  local wanted = math.min(slice, most - #due)
  local read = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[2], 'LIMIT', #due, wanted)
  for _, entry in ipairs(read) do
    bytes = bytes + #entry
    if #due > 0 and bytes > most_bytes then
      done = true
      break
    end
    due[#due + 1] = entry
  end
  if not done and #read < wanted then
    more, done = 0, true
  end
  slice = slice * 2
end

local following = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return { call, due, more, following[2] or '' }
