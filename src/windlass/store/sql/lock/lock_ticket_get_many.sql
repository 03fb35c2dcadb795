-- lock_ticket_get_many: what the bearers of these tickets hold.
-- params: ticket uuid[]     returns: ticket, lock, token, expires_at, capacity
-- Index: lock_hold_ticket. What has run out of time is held by nobody, whether it is gone yet or not.
SELECT h.ticket, h.lock, h.token, h.expires_at, l.capacity
FROM windlass.lock_hold h JOIN windlass.lock l ON l.name = h.lock
WHERE h.ticket = ANY ($1::uuid[]) AND h.expires_at > clock_timestamp()
