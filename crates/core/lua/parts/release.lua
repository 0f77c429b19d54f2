-- Releases the lock at a position of KEYS (0: there is none), if `jid` still holds it.
local function release(position, jid)
  if position > 0 and redis.pcall('GET', KEYS[position]) == jid then
    redis.pcall('DEL', KEYS[position])
  end
end
