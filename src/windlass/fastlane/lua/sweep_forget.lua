-- sweep_forget: take dead coordinators out of the set of beats, unless they have beaten again.
-- keys: the set of all beats     args: newest beat that is stale (ms), ids …     returns: how many were taken out
local scores, gone = redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 2)), {}
for i, score in ipairs(scores) do
    if score and tonumber(score) <= tonumber(ARGV[1]) then gone[#gone + 1] = ARGV[i + 1] end
end
return #gone > 0 and redis.call('ZREM', KEYS[1], unpack(gone)) or 0
