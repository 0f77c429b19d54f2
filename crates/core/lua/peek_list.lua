-- Reads elements from one end of a list, so many and so large as one call should carry.
-- KEYS[1] LIST
-- ARGV[1] call number; ARGV[2] elements to skip; ARGV[3] most elements to read (1 to 500); ARGV[4] most bytes to read:
--   the first element comes whatever its size; ARGV[5] 'L' to begin at the left end, 'R' at the right one
-- Result: {call, {element, ...}, 1 when a limit left elements behind, else 0}
-- Repeat: reads again; nothing is changed

local call = tonumber(ARGV[1])
local skip, most, most_bytes = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local elements, bytes = {}, 0
while true do
  local index = skip + #elements
  local element = redis.call('LINDEX', KEYS[1], ARGV[5] == 'L' and index or -index - 1)
  if not element then
    return { call, elements, 0 }
  end
  bytes = bytes + #element
  if #elements == most or (#elements > 0 and bytes > most_bytes) then
    return { call, elements, 1 }
  end
  elements[#elements + 1] = element
end
