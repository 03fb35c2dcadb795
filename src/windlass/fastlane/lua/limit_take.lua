-- limit_take: take what may go from a rate (GCRA: the key holds when the next one would be due at an even pace).
-- keys: the limit     args: interval µs between two, tolerance µs (how far ahead of the pace a burst may run), wanted,
--       owed µs (what the caller let go while Redis was away; absent: none), behind µs (if nothing is known of the limit, how far
--       ahead of the pace it is taken to be; absent: not at all)
-- returns: how many may go now, µs until the next one could, and µs ahead of the pace
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local interval, tolerance, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local owed, behind = tonumber(ARGV[4] or 0), tonumber(ARGV[5] or 0)
local stored = redis.call('GET', KEYS[1])
local due
local moved = false
if stored then
    -- What was spent at a slower pace is a whole burst at most, now that there is another. Two seconds more may have been put
    -- there by somebody who knows how far behind it is (QUOTA_COMEBACK_SECONDS).
    local full = tolerance + interval
    due = math.max(tonumber(stored), now)
    moved = due > now + math.max(full, behind) + 2000000
    if moved then
        due = now + math.max(full, behind)
    end
    due = math.max(due, math.min(due + owed, now + full))
else
    due = now + behind
end
local granted = math.min(wanted, math.max(0, math.floor((now + tolerance - due) / interval) + 1))
due = due + granted * interval
if granted > 0 or owed > 0 or behind > 0 or moved then
    redis.call('SET', KEYS[1], string.format('%.0f', due), 'PX', math.ceil((due - now) / 1000) + 1000)
end
return {granted, math.ceil(math.max(0, due - tolerance - now)), due - now}
