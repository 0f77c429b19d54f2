-- Puts jobs that a dead process held back on their queues, each once; one that was recovered too often is buried.
-- Whether the process is dead is decided in here, on Redis's clock: its presence is gone and its last beat is old.
-- With a threshold of 0 its presence alone decides: that clock may have been set back since the last beat.
-- KEYS[1] its in-progress LIST; KEYS[2] its process HASH; KEYS[3] last beat HASH; KEYS[4] in-progress identities SET;
--   KEYS[5] queues SET; KEYS[6] live queues ZSET; KEYS[7] dead ZSET; KEYS[8] repeat orphans LIST;
--   KEYS[9] failed STRING; KEYS[10] throughput HASH; KEYS[11..] what the operations name by position (LISTs, STRINGs, HASHes)
-- ARGV[1] call number; ARGV[2] identity; ARGV[3] orphan threshold, s; ARGV[4] most recoveries of a job;
--   ARGV[5] TTL of an orphan counter, s; ARGV[6] throughput TTL, s; ARGV[7] how long a queue counts as read, s;
--   ARGV[8] the host's clock, epoch s; ARGV[9] and ARGV[10] error class and message of a job that is buried, as its status
--   tells them; then operations of 10 each (a position is one of KEYS, or 0), newest job first:
--   job, position of its queue, name of its queue, position of its orphan counter, jid, position of its unique lock,
--   position of its running lock, TTL of the running lock while queued in s, the entry for dead, or '' to
--   leave the job where it is if it would have to go there, position of the status, which is changed where there is one
-- Result: {call, 1 when the process is alive and nothing was done, codes, jobs still on the list or -1,
--   {name of a queue that no live process reads, ...}, first error or '', failures not counted, first error of counting
--   or ''}; code 1 on its queue, d in dead, p parked on repeat orphans, 0 not on the list, e still on the list: refused,
--   o still on the list: for dead, and without an entry
-- Repeat: finds the jobs gone from the list and reports 0

local call = tonumber(ARGV[1])
local inprogress, identity = KEYS[1], ARGV[2]

local now = redis.pcall('TIME')
now = tonumber(now.err and ARGV[8] or now[1])

local threshold = tonumber(ARGV[3])
local beat = threshold > 0 and redis.pcall('HGET', KEYS[3], identity)
beat = type(beat) == 'string' and tonumber(beat)
if redis.call('EXISTS', KEYS[2]) == 1 or (beat and now - beat < threshold) then
  return { call, 1, '', -1, {}, '', 0, '' }
end

local most, first_error, failed = tonumber(ARGV[4]), '', 0
local codes, unread, is_read = {}, {}, {}

-- A write without effect: a demoted server refuses the whole call here, and a full one lets what follows pass.
redis.call('PERSIST', inprogress)

local function note_reader(name)
  if is_read[name] == nil then
    local seen = redis.pcall('ZSCORE', KEYS[6], name)
    is_read[name] = type(seen) == 'string' and now - tonumber(seen) <= tonumber(ARGV[7])
    if not is_read[name] then
      unread[#unread + 1] = name
    end
    redis.pcall('SADD', KEYS[5], name)
  end
end

for at = 11, #ARGV, 10 do
  local job, queue, counter = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 3])
  local jid, status, code = ARGV[at + 4], tonumber(ARGV[at + 9]), nil
  -- A counter of another type, or no number, starts over.
  local times = counter > 0 and redis.pcall('GET', KEYS[counter])
  times = (type(times) == 'string' and tonumber(times) or 0) + 1
  local too_often = counter > 0 and times > most
  if not redis.call('LPOS', inprogress, job) then
    code = 0
  elseif too_often and ARGV[at + 8] == '' then
    code = 'o'
  else
    local written
    if too_often then
      written, code = redis.pcall('ZADD', KEYS[7], now, ARGV[at + 8]), 'd'
      if type(written) == 'table' then
        written, code = redis.pcall('RPUSH', KEYS[8], job), 'p'
      end
    else
      written, code = redis.pcall('RPUSH', KEYS[queue], job), 1
    end
    if type(written) == 'table' then
      code = 'e'
      if first_error == '' then
        first_error = written.err
      end
    else
      if code == 'd' then
        failed = failed + 1
        redis.pcall('DEL', KEYS[counter])
        release(tonumber(ARGV[at + 5]), jid)
        release(tonumber(ARGV[at + 6]), jid)
        note_status(status, now, 'status', 'failed', 'error_class', ARGV[9], 'error_message', ARGV[10])
      elseif code == 1 then
        if counter > 0 then
          redis.pcall('SET', KEYS[counter], times, 'EX', ARGV[5])
        end
        local running = tonumber(ARGV[at + 6])
        local owner = running > 0 and tonumber(ARGV[at + 7]) > 0 and redis.pcall('GET', KEYS[running])
        if running > 0 and tonumber(ARGV[at + 7]) > 0 and (owner == false or owner == jid) then
          redis.pcall('SET', KEYS[running], jid, 'EX', ARGV[at + 7])
        end
        note_reader(ARGV[at + 2])
        note_status(status, now, 'status', 'queued')
      end
      redis.call('LREM', inprogress, 1, job)
    end
  end
  codes[#codes + 1] = code
end

local uncounted, count_error = count_failed(KEYS[9], KEYS[10], ARGV[6], failed)

local left = redis.call('LLEN', inprogress)
if left == 0 then
  redis.pcall('SREM', KEYS[4], identity)
  redis.pcall('HDEL', KEYS[3], identity)
end
return { call, 0, table.concat(codes), left, unread, first_error, uncounted, count_error }
