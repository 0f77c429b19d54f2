-- Moves entries of a sorted set into dead because somebody asked for it, and frees the locks that their jobs hold.
-- KEYS[1] source ZSET; KEYS[2] dead ZSET; KEYS[3..] the locks that the operations name by position (STRINGs)
-- ARGV[1] call number; ARGV[2] score in dead, epoch s;
--   then operations of 4 each (a position is one of KEYS, or 0), at most 500:
--   entry, jid, position of the unique lock, position of the running lock
-- Result: {call, codes, first error or ''}; code 1 dead, 0 the entry is gone, e dead refused it and it stays
-- Repeat: finds the entries gone and reports 0

local call = tonumber(ARGV[1])
local codes, first_error = {}, ''

local function free(position, jid)
  if position > 0 and redis.pcall('GET', KEYS[position]) == jid then
    redis.pcall('DEL', KEYS[position])
  end
end

for at = 3, #ARGV, 4 do
  local entry, jid, code = ARGV[at], ARGV[at + 1], 0
  if redis.call('ZSCORE', KEYS[1], entry) then
    local written = redis.pcall('ZADD', KEYS[2], ARGV[2], entry)
    if type(written) == 'table' then
      code = 'e'
      if first_error == '' then
        first_error = written.err
      end
    else
      code = 1
      free(tonumber(ARGV[at + 2]), jid)
      free(tonumber(ARGV[at + 3]), jid)
      redis.call('ZREM', KEYS[1], entry)
    end
  end
  codes[#codes + 1] = code
end
return { call, table.concat(codes), first_error }
