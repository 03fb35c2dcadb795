-- database_now: the clock that decides.
-- params: none     returns: now
SELECT clock_timestamp() AS now
