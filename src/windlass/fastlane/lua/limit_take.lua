-- limit_take: take deliveries from a target's rate (GCRA: the key holds when the next one would be due at an even pace).
-- keys: the limit     args: interval µs between two, tolerance µs (how far ahead of the pace a burst may run), wanted
-- returns: how many may go now, and µs until the next one could
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local interval, tolerance, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local due = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
local granted = math.min(wanted, math.max(0, math.floor((now + tolerance - due) / interval) + 1))
if granted > 0 then
    due = due + granted * interval
    redis.call('SET', KEYS[1], string.format('%.0f', due), 'PX', math.ceil((due - now) / 1000) + 1000)
end
return {granted, math.ceil(math.max(0, due - tolerance - now))}
