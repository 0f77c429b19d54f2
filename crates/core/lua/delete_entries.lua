-- Deletes entries of a list or a sorted set, frees the locks that their jobs hold and drops the logs of their attempts.
-- KEYS[1] LIST or ZSET; KEYS[2..] what the operations name by position: the locks (STRINGs) and the logs (LISTs)
-- ARGV[1] call number; ARGV[2] 'l' for a list, 'z' for a sorted set;
--   then operations of 5 each (a position is one of KEYS, or 0), at most 500:
--   entry, jid, position of the unique lock, position of the running lock, position of the log of attempts
-- Result: {call, codes}; code 1 deleted, 0 not there
-- Repeat: finds the entries gone and reports 0; of equal elements of a list it deletes the next

local call = tonumber(ARGV[1])
local codes = {}

local function free(position, jid)
  if position > 0 and redis.pcall('GET', KEYS[position]) == jid then
    redis.pcall('DEL', KEYS[position])
  end
end

for at = 3, #ARGV, 5 do
  local entry, jid, deleted = ARGV[at], ARGV[at + 1], nil
  if ARGV[2] == 'l' then
    deleted = redis.call('LREM', KEYS[1], -1, entry)
  else
    deleted = redis.call('ZREM', KEYS[1], entry)
  end
  if deleted == 1 then
    free(tonumber(ARGV[at + 2]), jid)
    free(tonumber(ARGV[at + 3]), jid)
    local log = tonumber(ARGV[at + 4])
    if log > 0 then
      redis.pcall('DEL', KEYS[log])
    end
  end
  codes[#codes + 1] = deleted
end
return { call, table.concat(codes) }
