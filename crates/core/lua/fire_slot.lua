-- Claims a slot of a periodic entry and pushes its job, both or neither.
-- KEYS[1] last slot STRING; KEYS[2] lock of the slot STRING; KEYS[3] running lock STRING; KEYS[4] disabled SET;
--   KEYS[5] queue LIST; KEYS[6] queues SET; KEYS[7] status HASH of the job; KEYS[8] unique lock STRING, where the job is unique
-- ARGV[1] call number; ARGV[2] periodic id; ARGV[3] slot, epoch s; ARGV[4] jid; ARGV[5] job, or '' when the slot is to pass without one; ARGV[6] name of the queue;
--   ARGV[7] '1' for an until_executed entry; ARGV[8] TTL of the running and the unique lock, s; ARGV[9] TTL of the slot's lock, s;
--   ARGV[10] '1' when a slot missed before the entry was ever known fires (catch-up); ARGV[11] TTL of the status, s, or 0 for
--   none; ARGV[12] now, epoch s, as the status tells it; ARGV[13] class;
--   ARGV[14] '1' when a slot that is blocked has waited long enough: it is used up
-- Result: {call, what became of it, error or ''}: 'fired'; 'lost' (another process had it, or it is too old);
--   'first' (no catch-up: it only counts as seen); 'blocked' (a run holds the running lock); 'skipped' (it does, and the slot is used up); 'disabled';
--   'passed' (there was no job to push: the slot is used up); 'duplicate' (the unique lock is held: the slot is used up); 'refused' (the queue does not take it: nothing was written)
-- Repeat: finds the slot claimed: 'lost'

local call = tonumber(ARGV[1])
local slot, jid, until_executed = tonumber(ARGV[3]), ARGV[4], ARGV[7] == '1'

local disabled = redis.pcall('SISMEMBER', KEYS[4], ARGV[2])
local trouble = ''
if type(disabled) == 'table' then
  -- An entry is on unless it is known to be off.
  trouble, disabled = disabled.err, 0
end
if disabled == 1 then
  return { call, 'disabled', '' }
end

local last = redis.pcall('GET', KEYS[1])
last = type(last) == 'string' and tonumber(last) or (type(last) == 'string' and 0 or nil)
if last and slot <= last then
  return { call, 'lost', trouble }
end
if not last and ARGV[10] ~= '1' then
  redis.call('SET', KEYS[1], ARGV[3])
  return { call, 'first', trouble }
end
if until_executed and redis.call('EXISTS', KEYS[3]) == 1 then
  if ARGV[14] ~= '1' then
    return { call, 'blocked', trouble }
  end
  redis.call('SET', KEYS[1], ARGV[3])
  return { call, 'skipped', trouble }
end
if not redis.call('SET', KEYS[2], '1', 'NX', 'EX', ARGV[9]) then
  return { call, 'lost', trouble }
end
if ARGV[5] == '' then
  redis.call('SET', KEYS[1], ARGV[3])
  return { call, 'passed', trouble }
end
if KEYS[8] and not redis.call('SET', KEYS[8], jid, 'NX', 'EX', ARGV[8]) then
  redis.call('SET', KEYS[1], ARGV[3])
  return { call, 'duplicate', trouble }
end
if until_executed then
  redis.call('SET', KEYS[3], jid, 'EX', ARGV[8])
end
local pushed = redis.pcall('LPUSH', KEYS[5], ARGV[5])
if type(pushed) == 'table' then
  redis.call('DEL', KEYS[2])
  if KEYS[8] then
    redis.call('DEL', KEYS[8])
  end
  if until_executed then
    redis.call('DEL', KEYS[3])
  end
  return { call, 'refused', pushed.err }
end
redis.call('SET', KEYS[1], ARGV[3])
redis.pcall('SADD', KEYS[6], ARGV[6])
if ARGV[11] ~= '0' then
  redis.pcall('HSET', KEYS[7], 'status', 'queued', 'update_time', ARGV[12], 'class', ARGV[13], 'queue', ARGV[6])
  redis.pcall('EXPIRE', KEYS[7], ARGV[11])
end
return { call, 'fired', trouble }
