-- Puts entries of a sorted set on their queues because somebody asked for it, with the locks that their jobs need.
-- A free lock is taken again, so that no equal job is pushed meanwhile; another's is left alone.
-- KEYS[1] source ZSET; KEYS[2] queues SET; KEYS[3..] what the operations name by position (LISTs, STRINGs, HASHes)
-- ARGV[1] call number; ARGV[2] '1' to leave an entry alone whose unique lock another job holds; ARGV[3] TTL of a lock, s;
--   ARGV[4] now, epoch s, as the statuses tell it; then operations of 8 each (a position is one of KEYS, or 0), at most 500:
--   entry, payload to push, position of the queue, name of the queue, jid, position of the unique lock,
--   position of the running lock, position of the status, which is changed where there is one
-- Result: {call, codes, first error or ''}; code 1 on its queue, 0 the entry is gone, d another holds its lock,
--   e the queue refused it; with d and e it stays where it was
-- Repeat: finds the entries gone and reports 0

local call = tonumber(ARGV[1])
local codes, first_error = {}, ''

local function owner_of(position)
  return position > 0 and redis.pcall('GET', KEYS[position])
end

local function take(position, jid)
  if position > 0 then
    redis.pcall('SET', KEYS[position], jid, 'NX', 'EX', ARGV[3])
  end
end

for at = 5, #ARGV, 8 do
  local entry, jid, unique = ARGV[at], ARGV[at + 4], tonumber(ARGV[at + 5])
  local code = 0
  if redis.call('ZSCORE', KEYS[1], entry) then
    local owner = ARGV[2] == '1' and owner_of(unique)
    if type(owner) == 'string' and owner ~= jid then
      code = 'd'
    else
      local written = redis.pcall('LPUSH', KEYS[tonumber(ARGV[at + 2])], ARGV[at + 1])
      if type(written) == 'table' then
        code = 'e'
        if first_error == '' then
          first_error = written.err
        end
      else
        code = 1
        redis.pcall('SADD', KEYS[2], ARGV[at + 3])
        take(unique, jid)
        take(tonumber(ARGV[at + 6]), jid)
        note_status(tonumber(ARGV[at + 7]), ARGV[4], 'status', 'queued')
        redis.call('ZREM', KEYS[1], entry)
      end
    end
  end
  codes[#codes + 1] = code
end
return { call, table.concat(codes), first_error }
