-- Counts what the script filed as failed: in all, and in the hour, whose HASH is kept for `ttl` seconds.
-- Gives back how many could not be counted, and the first error or ''; a total without its hour is counted.
local function count_failed(total_key, hour_key, ttl, failed)
  if failed == 0 then
    return 0, ''
  end
  local total = redis.pcall('INCRBY', total_key, failed)
  if type(total) == 'table' then
    return failed, total.err
  end
  local hour = redis.pcall('HINCRBY', hour_key, 'failed', failed)
  if type(hour) == 'table' then
    return 0, hour.err
  end
  redis.pcall('EXPIRE', hour_key, ttl)
  return 0, ''
end
