-- Settles a batch of this process's jobs: acknowledges, files in retry or dead, discards, gives back.
-- An entry that is no longer on the in-progress list changes nothing, not the counters either.
-- KEYS[1] in-progress LIST; KEYS[2] processed STRING; KEYS[3] failed STRING; KEYS[4] throughput HASH;
--   KEYS[5..] the orphan counters (STRINGs) of the acknowledged jobs, one each, then what the operations
--   name by position (ZSETs, LISTs, STRINGs)
-- ARGV[1] call number; ARGV[2] throughput TTL, s; ARGV[3] attempts kept; ARGV[4] attempts TTL, s;
--   ARGV[5] and ARGV[6] processed and failed to add that an earlier call could not;
--   ARGV[7] number of acknowledged jobs (at most 500);
--   then the acknowledged jobs' bytes; then operations of 8 each:
--   'f' (file): job, KEYS position of retry or dead, score, entry, position of attempts or 0, record, position of orphan counter or 0
--   'x' (discard): job, 0, '', '', position of attempts or 0, record, position of orphan counter or 0
--   'b' (give back): job, KEYS position of the queue, '', '', position of the running lock or 0, jid, lock TTL in s
-- Result: {call, codes of the acknowledged, codes of the operations, processed not counted, failed not counted, first error or ''};
--   code 1 applied, 0 not on the list, e failed and still on the list
-- Repeat: finds nothing on the list and reports 0

local call = tonumber(ARGV[1])
local inprogress = KEYS[1]
local acks = tonumber(ARGV[7])
local first_ack, first_op = 8, 8 + acks
local processed, failed = tonumber(ARGV[5]), tonumber(ARGV[6])
local first_error = ''

local ack_codes = ''
if acks > 0 then
  -- Jobs mostly end in the order they were taken, so the batch is the list's tail.
  local tail = redis.call('LRANGE', inprogress, -acks, -1)
  local in_order = #tail == acks
  if in_order then
    for index = 1, acks do
      if tail[acks - index + 1] ~= ARGV[first_ack + index - 1] then
        in_order = false
        break
      end
    end
  end
  if in_order then
    redis.call('LTRIM', inprogress, 0, -acks - 1)
    processed = processed + acks
    ack_codes = string.rep('1', acks)
    redis.pcall('DEL', unpack(KEYS, 5, 4 + acks))
  else
    local codes = {}
    for index = 1, acks do
      local removed = redis.call('LREM', inprogress, -1, ARGV[first_ack + index - 1])
      if removed == 1 then
        redis.pcall('DEL', KEYS[4 + index])
      end
      processed = processed + removed
      codes[index] = removed
    end
    ack_codes = table.concat(codes)
  end
end

local function forget_orphanings(position)
  if position > 0 then
    redis.pcall('DEL', KEYS[position])
  end
end

local function record_attempt(position, record)
  if position > 0 then
    local kept = redis.pcall('RPUSH', KEYS[position], record)
    if type(kept) == 'number' then
      redis.call('LTRIM', KEYS[position], -tonumber(ARGV[3]), -1)
      redis.call('EXPIRE', KEYS[position], ARGV[4])
    end
  end
end

local function retake_running_lock(position, jid, ttl)
  if position == 0 then
    return
  end
  local owner = redis.pcall('GET', KEYS[position])
  if owner == false or owner == jid then
    redis.pcall('SET', KEYS[position], jid, 'EX', ttl)
  end
end

local op_codes = {}
for at = first_op, #ARGV, 8 do
  local kind, job, target = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local code = 0
  if redis.call('LPOS', inprogress, job, 'RANK', -1) then
    local written = 1
    if kind == 'f' then
      written = redis.pcall('ZADD', KEYS[target], ARGV[at + 3], ARGV[at + 4])
    elseif kind == 'b' then
      written = redis.pcall('RPUSH', KEYS[target], job)
    end
    if type(written) == 'table' then
      code = 'e'
      if first_error == '' then
        first_error = written.err
      end
    else
      code = 1
      local position, text, last = tonumber(ARGV[at + 5]), ARGV[at + 6], tonumber(ARGV[at + 7])
      if kind == 'b' then
        retake_running_lock(position, text, last)
      else
        failed = failed + 1
        record_attempt(position, text)
        forget_orphanings(last)
      end
      redis.call('LREM', inprogress, -1, job)
    end
  end
  op_codes[#op_codes + 1] = code
end

local function count(key, field, number)
  if number == 0 then
    return 0
  end
  local total = redis.pcall('INCRBY', key, number)
  if type(total) == 'table' then
    return number
  end
  if redis.pcall('HINCRBY', KEYS[4], field, number) == number then
    redis.pcall('EXPIRE', KEYS[4], ARGV[2])
  end
  return 0
end

local processed_left = count(KEYS[2], 'processed', processed)
local failed_left = count(KEYS[3], 'failed', failed)
return { call, ack_codes, table.concat(op_codes), processed_left, failed_left, first_error }
