-- Finds one entry of a list or a sorted set by the hash of its bytes, from where it stood when it was seen.
-- KEYS[1] LIST or ZSET
-- ARGV[1] call number; ARGV[2] 'l' for a list, 'z' for a sorted set; ARGV[3] SHA-1 of the entry, in hexadecimal;
--   ARGV[4] its place, from 0 for what is taken or due first; ARGV[5], ARGV[6] the lowest and the
--   highest score that it may have, or '' in a list;
--   ARGV[7] most entries to look at (1 to 5000); ARGV[8] most bytes to look at, the first is looked at in any case
-- Result: {call, 1, place, entry, score or ''}, or {call, 0} when it is not among those looked at: in a sorted set
--   those of its scores, in a list those up to its place, as others are taken before it, and some behind
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local is_list, wanted, place = ARGV[2] == 'l', ARGV[3], tonumber(ARGV[4])
local most, most_bytes = tonumber(ARGV[7]), tonumber(ARGV[8])
local looked, bytes = 0, 0

local function is_it(entry)
  bytes = bytes + #entry
  if looked >= most or looked > 0 and bytes > most_bytes then
    return nil
  end
  looked = looked + 1
  return redis.sha1hex(entry) == wanted
end

if not is_list then
  local at = redis.call('ZRANGE', KEYS[1], place, place, 'WITHSCORES')
  if #at == 2 and is_it(at[1]) then
    return { call, 1, place, at[1], at[2] }
  end
  local skip = 0
  repeat
    local entries = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[5], ARGV[6], 'LIMIT', skip, 100)
    for _, entry in ipairs(entries) do
      local is = is_it(entry)
      if is then
        local rank = redis.call('ZRANK', KEYS[1], entry)
        return { call, 1, rank, entry, redis.call('ZSCORE', KEYS[1], entry) }
      elseif is == nil then
        return { call, 0 }
      end
    end
    skip = skip + #entries
  until #entries < 100
  return { call, 0 }
end

-- From its place down to the end where jobs are taken; the first few slices beyond it for those that came back there.
local function look(first, last)
  local entries = redis.call('LRANGE', KEYS[1], -last - 1, -first - 1)
  for index = 1, #entries do
    local is = is_it(entries[index])
    if is then
      -- The first of the answer is the farthest from that end.
      return first + #entries - index, entries[index]
    elseif is == nil then
      return nil
    end
  end
end

local at, entry = look(place, place)
if not at then
  at, entry = look(place + 1, place + 100)
end
local last = place - 1
while not at and last >= 0 and looked < most and bytes <= most_bytes do
  local first = math.max(0, last - 99)
  at, entry = look(first, last)
  last = first - 1
end
if at then
  return { call, 1, at, entry, '' }
end
return { call, 0 }
