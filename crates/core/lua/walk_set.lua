-- Reads on through a sorted set, by score, and gives the entries that hold a text. Where it goes on is told by an
-- entry and not by a number, as others take entries away and put some in meanwhile.
-- KEYS[1] ZSET
-- ARGV[1] call number; ARGV[2] the entry to go on after; ARGV[3] its score, or '' to begin;
--   ARGV[4] the text, or '' for every entry; ARGV[5] most entries to look at (1 to 500); ARGV[6] most bytes to
--   look at; the first entry is looked at whatever its size
-- Result: {call, size, entries looked at, {place from 1 on, entry, score, ...}, the last one looked at that does not
--   hold the text in the same form, or {}}; an entry to go on after that is gone: from the first of its score on
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local text, most, most_bytes = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])

local first = 0
if ARGV[3] ~= '' then
  local rank = redis.call('ZRANK', KEYS[1], ARGV[2])
  first = rank and rank + 1 or redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ARGV[3])
end

local found, other = {}, {}
local looked, bytes, done = 0, 0, false
-- In growing slices, so that of huge entries few are copied only to be left out.
local slice = 1
while not done and looked < most do
  local wanted = math.min(slice, most - looked)
  local flat = redis.call('ZRANGE', KEYS[1], first + looked, first + looked + wanted - 1, 'WITHSCORES')
  done = #flat < 2 * wanted
  for at = 1, #flat, 2 do
    local entry, score = flat[at], flat[at + 1]
    bytes = bytes + #entry
    if looked > 0 and bytes > most_bytes then
      done = true
      break
    end
    looked = looked + 1
    if text == '' or string.find(entry, text, 1, true) then
      found[#found + 1] = looked
      found[#found + 1] = entry
      found[#found + 1] = score
    else
      other = { looked, entry, score }
    end
  end
  slice = slice * 2
end
return { call, redis.call('ZCARD', KEYS[1]), looked, found, other }
