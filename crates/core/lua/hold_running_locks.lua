-- Keeps the running locks of the runs of a process alive, and takes lapsed ones again.
-- KEYS[1] in-progress LIST; KEYS[2..] the running locks (STRINGs), one for each run
-- ARGV[1] call number; ARGV[2] TTL, s; ARGV[3] '1' to take lapsed ones again; ARGV[4] '1' when the jobs stand on the
--   in-progress list, '0' when they were popped; then for each run: jid, job
-- Result: {call, number of locks held}
-- Repeat: holds them for the TTL from then on

local call = tonumber(ARGV[1])
local held = 0
for index = 2, #KEYS do
  local jid, job = ARGV[2 * index + 1], ARGV[2 * index + 2]
  local owner = redis.pcall('GET', KEYS[index])
  -- A run that ended has released its lock, or holds it for its retry: only while the job is still ours.
  if ARGV[4] ~= '1' or redis.call('LPOS', KEYS[1], job) then
    if owner == jid then
      -- Of a popped job nothing tells that it has not been filed for a retry since, with its lock held for longer.
      if ARGV[4] == '1' or redis.call('TTL', KEYS[index]) < tonumber(ARGV[2]) then
        redis.call('EXPIRE', KEYS[index], ARGV[2])
      end
      held = held + 1
    elseif owner == false and ARGV[3] == '1' then
      redis.call('SET', KEYS[index], jid, 'EX', ARGV[2])
      held = held + 1
    end
  end
end
return { call, held }
