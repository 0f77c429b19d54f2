-- One heartbeat: says that this process lives, what it does and which queues it reads.
-- KEYS[1] process HASH; KEYS[2] processes SET; KEYS[3] in-progress identities SET; KEYS[4] last beat HASH;
--   KEYS[5] queues SET; KEYS[6] live queues ZSET; KEYS[7] workers HASH; KEYS[8] paused queues SET
-- ARGV[1] call number; ARGV[2] identity; ARGV[3] info JSON; ARGV[4] busy; ARGV[5] quiet ('true' or 'false');
--   ARGV[6] TTL of the process and workers keys, s; ARGV[7] '1' when it keeps an in-progress list;
--   ARGV[8] the host's clock, epoch s; ARGV[9..] names of the queues it reads, each once
-- Result: {call, {registry, error, ...}, {paused queue, ...}, number of processes registered, crashed ones too}
-- Repeat: says the same again

local call = tonumber(ARGV[1])
local identity = ARGV[2]

-- Redis at its memory limit refuses what may need more, unless the call has written already: this
-- process must not be taken for dead then.
redis.call('EXPIRE', KEYS[1], ARGV[6])
redis.call('HSET', KEYS[1], 'info', ARGV[3], 'busy', ARGV[4], 'quiet', ARGV[5])
redis.call('EXPIRE', KEYS[1], ARGV[6])

local errors = {}
local function note(registry, reply)
  if type(reply) == 'table' and reply.err then
    errors[#errors + 1] = registry
    errors[#errors + 1] = reply.err
  end
end

local now = redis.pcall('TIME')
if now.err then
  now = { ARGV[8] }
end

note('process registry', redis.pcall('SADD', KEYS[2], identity))
if ARGV[7] == '1' then
  note('in-progress registry', redis.pcall('SADD', KEYS[3], identity))
  note('last beats', redis.pcall('HSET', KEYS[4], identity, now[1]))
end
for at = 9, #ARGV do
  note('queue registry', redis.pcall('SADD', KEYS[5], ARGV[at]))
  note('live queues', redis.pcall('ZADD', KEYS[6], now[1], ARGV[at]))
end
redis.pcall('ZREMRANGEBYSCORE', KEYS[6], '-inf', tonumber(now[1]) - 86400)
redis.pcall('EXPIRE', KEYS[7], ARGV[6])

local paused = redis.pcall('SMEMBERS', KEYS[8])
if paused.err then
  note('paused queues', paused)
  paused = {}
end
local processes = redis.pcall('SCARD', KEYS[2])
if type(processes) == 'table' then
  processes = 1
end
return { call, errors, paused, processes }
