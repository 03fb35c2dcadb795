-- coord_leave: a coordinator takes what it owns with it, by exact name, a bounded number at a time.
-- keys: keys     args: what every name of its begins with, how many at most     returns: 'more' or 'left'
-- The set names itself too: it goes with its last member, not before the others have been read from it.
local names = redis.call('SPOP', KEYS[1], ARGV[2])
for _, name in ipairs(names) do
    if name ~= KEYS[1] and string.sub(name, 1, #ARGV[1]) == ARGV[1] then redis.call('UNLINK', name) end
end
return #names == tonumber(ARGV[2]) and 'more' or 'left'
