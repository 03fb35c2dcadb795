-- lock_late_names: locks at which time has brought something about (see lock_late), in a circle by their names.
-- params: after text (begin behind this name), most int4     returns: lock
-- Index: lock_hold_expires and lock_wait_look, as far as they are late. Asked only after a round had to wait for a lock: whoever
-- is late has its turn, however many before it are held.
SELECT lock FROM (
    SELECT h.lock FROM windlass.lock_hold h WHERE h.expires_at <= clock_timestamp()
    UNION
    SELECT w.lock FROM windlass.lock_wait w WHERE w.look_at <= clock_timestamp()
) late
ORDER BY lock <= $1::text, lock LIMIT $2
