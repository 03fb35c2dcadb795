-- refresh_claim: take marks of one shard. They come back by themselves unless they are acknowledged (ZREM).
-- keys: marks, inflight
-- args: how many at most, ms until they come back, lifetime of inflight in ms, 'back' to take what is overdue as well, or ''
-- returns: {how many were overdue, ms until the next one is (-1: there is none, or nobody asked), keys that were no marks at all
--   and were removed, the marks…}
-- Taken and put under way in one step: a mark that is left meanwhile is another mark. TIME is the server's: nobody's clock decides.
local most, is_back, broken = tonumber(ARGV[1]), ARGV[4] == 'back', 0

local function ours(...)
    local answer = redis.pcall(...)
    if type(answer) ~= 'table' or not answer.err then return answer end
    redis.call('UNLINK', (select(2, ...)))
    broken = broken + 1
    return nil
end

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local found = is_back and ours('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE', 'LIMIT', 0, most) or {}
local overdue = #found
if overdue < most then
    for _, mark in ipairs(ours('SPOP', KEYS[1], most - overdue) or {}) do found[#found + 1] = mark end
end
if #found > 0 then
    local scored = {}
    for _, mark in ipairs(found) do
        scored[#scored + 1] = now + ARGV[2]
        scored[#scored + 1] = mark
    end
    if ours('ZADD', KEYS[2], unpack(scored)) == nil then redis.call('ZADD', KEYS[2], unpack(scored)) end
    redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
local next = is_back and ours('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES') or {}
return {overdue, next[2] and math.max(0, next[2] - now) or -1, broken, unpack(found)}
