-- Settles a batch of this process's jobs: acknowledges, files in retry or dead, hands over, discards, gives back.
-- An entry that is no longer on the in-progress list changes nothing, not the counters either.
-- KEYS[1] in-progress LIST; KEYS[2] processed STRING; KEYS[3] failed STRING; KEYS[4] throughput HASH;
--   KEYS[5] history of all runs ZSET; KEYS[6] of successes ZSET; KEYS[7] of failures ZSET;
--   KEYS[8] STRING of the newest number seen, and what the newest batch came to; KEYS[9..] the orphan counters (STRINGs) of the acknowledged jobs, one each,
--   then what operations and
--   effects name by position (ZSETs, LISTs, STRINGs, HASHes)
-- ARGV[1] call number; ARGV[2] throughput TTL, s; ARGV[3] attempts kept; ARGV[4] attempts TTL, s;
--   ARGV[5] and ARGV[6] processed and failed to add that an earlier call could not;
--   ARGV[7] '1' when the jobs stand on the in-progress list, '0' when they were popped (basic fetch);
--   ARGV[8] number of acknowledged jobs; ARGV[9] number of operations (together at most 500);
--   ARGV[10] history entries kept; ARGV[11] epoch s before which they are dropped; ARGV[12] TTL of a day's counters, s;
--   ARGV[13] number of the call, rising: one with an older number than has been seen comes late, and does nothing;
--   0 is not noted; ARGV[14] TTL of the number, s;
--   then the acknowledged jobs' bytes; then operations of 12 each (a position is one of KEYS, or 0):
--   kind, job, target position, score, entry, position of attempts, record, position of the orphan counter,
--   jid, position of the unique lock, position of the running lock, lock TTL in s
--   'a' (acknowledge, with locks): releases the locks
--   'f' (file): entry into the retry or dead ZSET; the locks are released, or with a TTL above 0 held,
--   lapsed ones too
--   'u' (hand over): entry at the end of the unsettled LIST; the locks are held likewise with a TTL above 0, and
--   else left to whoever files it
--   'x' (discard): releases the locks
--   'b' (give back): job at the end of the queue LIST; with a TTL above 0 the running lock is held, a lapsed one too
--   then effects, carried out where the outcome they belong to (its number in the batch: acknowledged jobs first) applied:
--   's' (status): TTL in s, number of fields, number of jobs, position of the first job's status HASH (the others' follow it),
--   each field and value, each job's number
--   'h' (history): position of their list (6 or 7), position of the day's counters HASH, their field, number of runs, then
--   each run's number, finished_at in epoch s, record
--   'd' (durations, after all 'h'): number of fields, position of the durations HASH, then each field and what it grows by;
--   counted where the batch has any record
-- Result: {call, codes of the acknowledged, codes of the operations, processed not counted, failed not counted, first error or '',
--   {step, first error of it, ...} of what stands beside the outcomes and could not be written: 'a' attempts, 'l' retaking a
--   running lock, 's' status, 'h' history, 'p' processed, 'f' failed, 't' throughput}, what the newest batch before this one came
--   to, or ''}; code 1 applied, 0 not on the list, e failed and still on the list
-- Repeat: finds nothing on the list and reports 0; for popped jobs, does everything once more. So nobody repeats a call whose
--   reply got lost before an empty one with a newer number has told what it came to:
--   'number|codes of the acknowledged|codes of the operations|processed not counted|failed not counted'

local call = tonumber(ARGV[1])
local inprogress = KEYS[1]
local listed = ARGV[7] == '1'
local acks = tonumber(ARGV[8])
local ops = tonumber(ARGV[9])
local first_ack = 15
local first_op = first_ack + acks
local first_effect = first_op + 12 * ops
local processed, failed = tonumber(ARGV[5]), tonumber(ARGV[6])
local first_error = ''

-- A write without effect: a demoted server refuses the whole call here, and a full one lets what follows pass.
redis.call('PERSIST', inprogress)

-- What was sent when a connection broke may arrive long after: by then its outcomes were settled otherwise.
local number, newest, earlier = tonumber(ARGV[13]), 0, ''
local seen = redis.pcall('GET', KEYS[8])
if type(seen) == 'string' then
  newest, earlier = string.match(seen, '^(%d+)|(.*)$')
  newest, earlier = tonumber(newest) or 0, earlier or ''
end
if number < newest then
  return { call, '', '', processed, failed, 'STALE a newer settlement has been seen', {}, '' }
end

local side_errors, noted = {}, {}
local function try(step, ...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err and not noted[step] then
    noted[step] = true
    side_errors[#side_errors + 1] = step
    side_errors[#side_errors + 1] = reply.err
  end
  return reply
end

local ack_codes = ''
if acks > 0 then
  -- Jobs mostly end in the order they were taken, so the batch is the list's tail.
  local in_order = true
  if listed then
    local tail = redis.call('LRANGE', inprogress, -acks, -1)
    in_order = #tail == acks
    if in_order then
      for index = 1, acks do
        if tail[acks - index + 1] ~= ARGV[first_ack + index - 1] then
          in_order = false
          break
        end
      end
    end
  end
  if in_order then
    if listed then
      redis.call('LTRIM', inprogress, 0, -acks - 1)
    end
    processed = processed + acks
    ack_codes = string.rep('1', acks)
    redis.pcall('DEL', unpack(KEYS, 9, 8 + acks))
  else
    local codes = {}
    for index = 1, acks do
      local removed = redis.call('LREM', inprogress, -1, ARGV[first_ack + index - 1])
      if removed == 1 then
        redis.pcall('DEL', KEYS[8 + index])
      end
      processed = processed + removed
      codes[index] = removed
    end
    ack_codes = table.concat(codes)
  end
end

local function record_attempt(position, record)
  if position > 0 then
    local kept = try('a', 'RPUSH', KEYS[position], record)
    if type(kept) == 'number' then
      redis.call('LTRIM', KEYS[position], -tonumber(ARGV[3]), -1)
      redis.call('EXPIRE', KEYS[position], ARGV[4])
    end
  end
end

local function release(position, jid)
  if position > 0 and redis.pcall('GET', KEYS[position]) == jid then
    redis.pcall('DEL', KEYS[position])
  end
end

-- One that lapsed meanwhile is taken again.
local function hold(position, jid, ttl)
  if position > 0 then
    local owner = redis.pcall('GET', KEYS[position])
    if owner == false or owner == jid then
      try('l', 'SET', KEYS[position], jid, 'EX', ttl)
    end
  end
end

local function write(kind, job, target, score, entry)
  if kind == 'f' then
    return redis.pcall('ZADD', KEYS[target], score, entry)
  elseif kind == 'u' then
    return redis.pcall('RPUSH', KEYS[target], entry)
  elseif kind == 'b' then
    return redis.pcall('RPUSH', KEYS[target], job)
  end
  return 1
end

local op_codes = {}
for at = first_op, first_effect - 1, 12 do
  local kind, job = ARGV[at], ARGV[at + 1]
  local code = 0
  if not listed or redis.call('LPOS', inprogress, job, 'RANK', -1) then
    local written = write(kind, job, tonumber(ARGV[at + 2]), ARGV[at + 3], ARGV[at + 4])
    if type(written) == 'table' then
      code = 'e'
      if first_error == '' then
        first_error = written.err
      end
    else
      code = 1
      local jid, ttl = ARGV[at + 8], tonumber(ARGV[at + 11])
      local unique, running = tonumber(ARGV[at + 9]), tonumber(ARGV[at + 10])
      if kind == 'b' then
        if ttl > 0 then
          hold(running, jid, ttl)
        end
      else
        if kind == 'a' then
          processed = processed + 1
        else
          failed = failed + 1
          record_attempt(tonumber(ARGV[at + 5]), ARGV[at + 6])
        end
        local counter = tonumber(ARGV[at + 7])
        if counter > 0 then
          redis.pcall('DEL', KEYS[counter])
        end
        if ttl > 0 then
          hold(unique, jid, ttl)
          hold(running, jid, ttl)
        elseif kind ~= 'u' then
          release(unique, jid)
          release(running, jid)
        end
      end
      if listed then
        redis.call('LREM', inprogress, -1, job)
      end
    end
  end
  op_codes[#op_codes + 1] = code
end

local function applied(number)
  if number <= acks then
    return string.byte(ack_codes, number) == 49
  end
  return op_codes[number - acks] == 1
end

local history = {}
local at = first_effect
while at <= #ARGV do
  local kind = ARGV[at]
  if kind == 's' then
    local ttl, jobs, key = ARGV[at + 1], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
    local first = at + 5
    local last = first + 2 * tonumber(ARGV[at + 2]) - 1
    for job = 1, jobs do
      if applied(tonumber(ARGV[last + job])) then
        for from = first, last, 1000 do
          try('s', 'HSET', KEYS[key], unpack(ARGV, from, math.min(from + 999, last)))
        end
        try('s', 'EXPIRE', KEYS[key], ttl)
      end
      key = key + 1
    end
    at = last + jobs + 1
  elseif kind == 'h' then
    local list, day = tonumber(ARGV[at + 1]), KEYS[tonumber(ARGV[at + 2])]
    local last = at + 4 + 3 * tonumber(ARGV[at + 4])
    local members, size = {}, 0
    for run = at + 5, last, 3 do
      if applied(tonumber(ARGV[run])) then
        members[size + 1], members[size + 2] = ARGV[run + 1], ARGV[run + 2]
        size = size + 2
      end
    end
    if size > 0 then
      history[5], history[list] = true, true
      for from = 1, size, 1000 do
        local to = math.min(from + 999, size)
        try('h', 'ZADD', KEYS[5], unpack(members, from, to))
        try('h', 'ZADD', KEYS[list], unpack(members, from, to))
      end
      if try('h', 'HINCRBY', day, ARGV[at + 3], size / 2) == size / 2 then
        try('h', 'EXPIRE', day, ARGV[12])
      end
    end
    at = last + 1
  else
    local fields = tonumber(ARGV[at + 1])
    if history[5] then
      for field = at + 3, at + 1 + 2 * fields, 2 do
        try('h', 'HINCRBY', KEYS[tonumber(ARGV[at + 2])], ARGV[field], ARGV[field + 1])
      end
    end
    at = at + 3 + 2 * fields
  end
end
for list = 5, 7 do
  if history[list] then
    try('h', 'ZREMRANGEBYSCORE', KEYS[list], '-inf', '(' .. ARGV[11])
    try('h', 'ZREMRANGEBYRANK', KEYS[list], 0, -tonumber(ARGV[10]) - 1)
  end
end

local function count(step, key, field, number)
  if number == 0 then
    return 0
  end
  if type(try(step, 'INCRBY', key, number)) == 'table' then
    return number
  end
  if try('t', 'HINCRBY', KEYS[4], field, number) == number then
    redis.pcall('EXPIRE', KEYS[4], ARGV[2])
  end
  return 0
end

local processed_left = count('p', KEYS[2], 'processed', processed)
local failed_left = count('f', KEYS[3], 'failed', failed)
op_codes = table.concat(op_codes)

if number > 0 then
  local newest_batch = earlier
  -- An empty call asks what the one before it came to: that stays, should this reply get lost too.
  if acks + ops > 0 or processed + failed > 0 then
    newest_batch = table.concat({ ARGV[13], ack_codes, op_codes, processed_left, failed_left }, '|')
  end
  redis.pcall('SET', KEYS[8], ARGV[13] .. '|' .. newest_batch, 'EX', ARGV[14])
end
return { call, ack_codes, op_codes, processed_left, failed_left, first_error, side_errors, earlier }
