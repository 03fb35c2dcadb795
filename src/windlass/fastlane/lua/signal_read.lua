-- signal_read: the signals that wait here, oldest first. They stay until signal_done: an answer that gets lost loses nothing.
-- keys: signals     args: how many, what the names of idempotency marks begin with
-- returns: {text, id, its mark or '', …}. What is no signal at all is removed.
local found = {}
for _, text in ipairs(redis.call('LRANGE', KEYS[1], 0, ARGV[1] - 1)) do
    local id = string.match(text, '^{"id":"([%w_]+)"')
    if id then
        found[#found + 1] = text
        found[#found + 1] = id
        found[#found + 1] = redis.call('GET', ARGV[2] .. id) or ''
    else
        redis.call('LREM', KEYS[1], 0, text)
    end
end
return found
