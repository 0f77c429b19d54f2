-- Writes fields of a job's status, whose HASH has a position of KEYS (0: there is none), where it has one.
local function note_status(position, now, ...)
  if position > 0 and redis.pcall('EXISTS', KEYS[position]) == 1 then
    redis.pcall('HSET', KEYS[position], 'update_time', now, ...)
  end
end
