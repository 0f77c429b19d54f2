-- Pushes new jobs in order, each with its unique lock and its status, and wakes the pollers when one is due before all others.
-- A job whose lock exists is a duplicate: nothing is written for it. A job that is refused leaves no lock, and ends the call.
-- KEYS[1] queues SET; KEYS[2] schedule ZSET; KEYS[3..] what the operations name by position (LISTs, STRINGs, HASHes)
-- ARGV[1] call number; ARGV[2] wake channel; ARGV[3] now, epoch s, as the statuses tell it; ARGV[4] TTL of a status, s;
--   then operations of 9 each (a position is one of KEYS, or 0), at most 500:
--   position of the queue or 0 to schedule, name of the queue, score (epoch s) or '', job, jid,
--   position of the unique lock, TTL of the lock in s, position of the status, class
-- Result: {call, codes, error or ''}; code 1 pushed, 0 a duplicate, e refused; jobs after it have no code
-- Repeat: a job with a lock is a duplicate of itself; the others are pushed again, but for a scheduled one, whose
--   same bytes are the same entry

local call = tonumber(ARGV[1])
local codes, first_error, listed = {}, '', {}
local first, earliest

local function lock_job(lock, jid, ttl)
  if lock == 0 then
    return true
  end
  return redis.pcall('SET', KEYS[lock], jid, 'NX', 'EX', ttl)
end

local function write_job(queue, score, job)
  if queue > 0 then
    return redis.pcall('LPUSH', KEYS[queue], job)
  end
  if not earliest then
    first = tonumber(redis.pcall('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2])
  end
  return redis.pcall('ZADD', KEYS[2], score, job)
end

local function refusal(reply)
  return type(reply) == 'table' and reply.err
end

for at = 5, #ARGV, 9 do
  local queue, name, score, job = tonumber(ARGV[at]), ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local jid, lock, status = ARGV[at + 4], tonumber(ARGV[at + 5]), tonumber(ARGV[at + 7])
  local locked = lock_job(lock, jid, ARGV[at + 6])
  local refused = refusal(locked)
  if locked and not refused then
    refused = refusal(write_job(queue, score, job))
    if refused and lock > 0 then
      redis.pcall('DEL', KEYS[lock])
    end
  end
  if refused then
    codes[#codes + 1] = 'e'
    first_error = refused
    break
  end
  codes[#codes + 1] = locked and 1 or 0
  if locked then
    if queue == 0 then
      earliest = math.min(earliest or math.huge, tonumber(score))
    elseif not listed[name] then
      redis.pcall('SADD', KEYS[1], name)
      listed[name] = true
    end
    if status > 0 then
      redis.pcall('HSET', KEYS[status], 'status', 'queued', 'update_time', ARGV[3], 'class', ARGV[at + 8], 'queue', name)
      redis.pcall('EXPIRE', KEYS[status], ARGV[4])
    end
  end
end

if earliest and (not first or earliest < first) then
  redis.pcall('PUBLISH', ARGV[2], string.format('%.6f', earliest))
end
return { call, table.concat(codes), first_error }
