-- sweep_judge: judge coordinators by their beats, and unlink what the dead ones own, by exact name.
-- keys: the beats of coordinators, all in one slot
-- args: newest beat that is stale (ms), 'remove' or 'look', how many names of `keys` sets a call may take in all,
--   what a coordinator without a beat is: 'dead', or 'unknown' unless nobody touched its names for so many seconds, these seconds,
--   bytes a beat may have, and names that a scan found (only with a single beat)
-- returns: for each beat a word and how many keys went or would go:
--   'dead', 'more' (dead, and there is more of it: ask again), 'later' (not judged: the call had enough to do),
--   'kept' (it lives), 'unreadable' (its beat says nothing), 'unknown' (no beat, and somebody uses its keys)
-- A set of names may have any size: a name is struck off after its key is gone, so none is left behind however often it is asked,
-- and when UNLINK is refused (a Cluster moves the slot, and has moved some of the keys) nothing has happened yet.
local cutoff, is_removing, names_max = tonumber(ARGV[1]), ARGV[2] == 'remove', tonumber(ARGV[3])
local without, idle_seconds, beat_bytes_max, GIVEN = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), 7

local function judged(beat, id)
    local text = redis.pcall('GET', beat)
    if text == false then return 'absent' end
    if type(text) ~= 'string' or #text > beat_bytes_max then return 'unreadable' end
    local is_json, said = pcall(cjson.decode, text)
    if not is_json or type(said) ~= 'table' then return 'unreadable' end
    local at, who = said.at_ms, said.id
    if type(at) ~= 'number' or not (at > 0 and at < 2 ^ 63) then return 'unreadable' end
    if who ~= nil and who ~= cjson.null and who ~= id then return 'unreadable' end
    return at > cutoff and 'kept' or 'dead'
end

-- OBJECT IDLETIME and EXISTS do not count as a touch; reading the set of names would, so it is not asked.
local function is_untouched()
    for i = GIVEN, #ARGV do
        if string.sub(ARGV[i], -6) ~= '}:keys' then
            local idle = redis.pcall('OBJECT', 'IDLETIME', ARGV[i])
            if idle ~= false and (type(idle) ~= 'number' or idle < idle_seconds) then return false end
        end
    end
    return true
end

-- One pair of tables for the whole call (a name belongs to one coordinator): what Lua throws away is most of what it costs.
local FIXED, names, seen = {'beat', 'activity', 'signals', 'keys'}, {}, {}

local function add(count, prefix, name)
    if seen[name] or string.find(name, prefix, 1, true) ~= 1 then return count end
    seen[name], names[count + 1] = true, name
    return count + 1
end

local function owned(prefix, listed)
    local count = 0
    for i = 1, #listed do count = add(count, prefix, listed[i]) end
    for i = 1, #FIXED do count = add(count, prefix, prefix .. FIXED[i]) end
    for i = GIVEN, #ARGV do count = add(count, prefix, ARGV[i]) end
    return unpack(names, 1, count)
end

local left = names_max

local function take(beat)
    local prefix = string.sub(beat, 1, -5)
    local word = judged(beat, string.match(prefix, '{(.*)}'))
    if word == 'absent' then word = (without == 'dead' or is_untouched()) and 'dead' or 'unknown' end
    if word ~= 'dead' then return word, 0 end
    local set = prefix .. 'keys'
    local size = redis.pcall('SCARD', set)
    if type(size) ~= 'number' then size = 0 end -- something else stands there; it goes all the same
    if size > left and left < names_max then return 'later', 0 end
    left = left - size
    if size > names_max then
        if not is_removing then return 'dead', size end
        local listed, names = redis.call('SRANDMEMBER', set, names_max), {}
        for _, name in ipairs(listed) do
            -- Not the set itself: it names the rest.
            if name ~= set and string.sub(name, 1, #prefix) == prefix then names[#names + 1] = name end
        end
        local count = #names > 0 and redis.call('UNLINK', unpack(names)) or 0
        redis.call('SREM', set, unpack(listed))
        return 'more', count
    end
    local listed = size > 0 and redis.call('SMEMBERS', set) or {}
    return 'dead', redis.call(is_removing and 'UNLINK' or 'EXISTS', owned(prefix, listed))
end

local answer = {}
for _, beat in ipairs(KEYS) do
    local word, count = take(beat)
    answer[#answer + 1] = word
    answer[#answer + 1] = count
end
return answer
