"""Every bound in one place, with the relations between them asserted.

A limit is part of the contract: the error that refuses something names the number found here.
"""

from __future__ import annotations

# Time a node may be silent. A node may miss two beats and keep its lease.
LEASE_SECONDS, HEARTBEAT_SECONDS = 15, 4
assert 3 * HEARTBEAT_SECONDS < LEASE_SECONDS
RESCUE_INTERVAL_SECONDS = 5
# A node stops starting work this long before its lease ends (see runtime.lease).
LEASE_MARGIN_SECONDS = 2.0

# The leader's lease: short enough that a frozen one is followed within five seconds. It is renewed
# after this share of it, and trusted for all but a last share (see runtime.leadership).
LEADER_LEASE_SECONDS = 4.0
LEADER_RENEW_SHARE, LEADER_TRUST_SHARE = 0.6, 0.9
assert LEADER_RENEW_SHARE < LEADER_TRUST_SHARE < 1
# A leader whose session has ended gets so long to notice before another begins its term.
LEADER_GRACE_SECONDS = 0.15

# What one submission may hold.
INPUT_BYTES_MAX = 1024 * 1024
RESULT_BYTES_MAX = 1024 * 1024
ERROR_TEXT_MAX = 8_192
BODY_BYTES_MAX = 4 * 1024 * 1024
BATCH_BODY_BYTES_MAX = 64 * 1024 * 1024
JSON_DEPTH_MAX = 64
BATCH_JOBS_MAX = 10_000
NAME_CHARS_MAX = 128
KEY_CHARS_MAX = 256
TAGS_MAX, TAG_CHARS_MAX = 32, 128
PARENTS_MAX = 1_000
assert INPUT_BYTES_MAX < BODY_BYTES_MAX < BATCH_BODY_BYTES_MAX

# Durations a caller may name.
DURATION_SECONDS_MAX = 366 * 24 * 3600
TIMEOUT_SECONDS_MAX = 7 * 24 * 3600
ATTEMPTS_MAX = 1_000
# A node death is counted apart from a failure; this many and the job is quarantined.
CRASHES_MAX = 3
# From this many crashes on a job is claimed alone, so that it cannot take neighbours with it.
CRASHES_SOLO = 2
assert 1 <= CRASHES_SOLO < CRASHES_MAX

# Batches of the hot path.
CLAIM_BATCH_MAX = 500
FINISH_BATCH_MAX = 1_000
ENQUEUE_BATCH_MAX = 500
# One claim in this many looks at the lowest priority first, so that nothing starves.
AGING_EVERY = 8
# Claimed jobs that a slot did not take within this time go back to the queue.
PREFETCH_HOLD_SECONDS = 5.0
assert PREFETCH_HOLD_SECONDS < LEASE_SECONDS - LEASE_MARGIN_SECONDS
# While claimed jobs wait no longer than this, a node may claim further ahead.
PREFETCH_WAIT_SECONDS = 0.1
assert PREFETCH_WAIT_SECONDS < PREFETCH_HOLD_SECONDS
# What a drain stops at its end gets so long to let go before it is given up.
HAND_BACK_SECONDS = 1.0
# Claimed and not yet settled in the database, per node, beyond the slots.
PREFETCH_MAX = 2_000
assert CLAIM_BATCH_MAX <= PREFETCH_MAX
# A claim starts its scan at the oldest row it may find, less this; see engine.claim.
CLAIM_SLACK_SECONDS = 1.0

# Adaptive polling: how long a worker rests between peeks when nobody wakes it.
POLL_BUSY_SECONDS, POLL_IDLE_SECONDS = 0.05, 1.0
# And while hints come through Redis, so that a look finds only what a lost hint left behind.
POLL_HINTED_SECONDS = 1.5
assert POLL_BUSY_SECONDS < POLL_IDLE_SECONDS <= POLL_HINTED_SECONDS
# A peek is followed by a rest of at least this many times its own duration.
PEEK_REST_FACTOR = 20

# Deadlines of calls to the parts around us.
DATABASE_CALL_SECONDS = 30.0
DATABASE_CONNECT_SECONDS = 10.0
# A replica for lists: how far it may be behind, how often that is looked at, and how long nobody
# asks it after it failed. Nodes beat all the time, so one that hears nothing falls behind at once.
REPLICA_LAG_SECONDS_MAX, REPLICA_LOOK_SECONDS, REPLICA_REST_SECONDS = 30.0, 1.0, 5.0
assert REPLICA_LAG_SECONDS_MAX > 2 * HEARTBEAT_SECONDS
REPLICA_CONNECT_SECONDS = 2.0
assert REPLICA_CONNECT_SECONDS < DATABASE_CONNECT_SECONDS
# A claim whose answer was lost may still be on its way to its commit: it is looked for this often,
# until no statement can be.
DOUBT_LOOK_SECONDS, DOUBT_SECONDS = 0.5, 40.0
assert DOUBT_SECONDS > DATABASE_CALL_SECONDS
FASTLANE_CALL_SECONDS = 0.05
FASTLANE_CONNECT_SECONDS = 0.5

# HTTP deliveries.
RESPONSE_BYTES_MAX = 64 * 1024
EXCERPT_CHARS_MAX = 2_000
# Headers a caller may add, and what is kept of those that came back.
HEADERS_MAX, HEADER_CHARS_MAX = 64, 8_192
RECORD_HEADERS_MAX, RECORD_HEADER_CHARS_MAX = 64, 1_000
REDIRECTS_MAX = 5
# `expect`: its text, its loops, and how much work a look at one answer may be (see
# strategies.expect: about a nanosecond each, on the node's loop).
EXPECT_CHARS_MAX, EXPECT_LOOPS_MAX = 500, 2
EXPECT_WORK_MAX = 100_000_000
EXPECT_CACHE_MAX = 1_000
# A receiver may ask for a later try, but not for one beyond a day.
RETRY_AFTER_SECONDS_MAX = 24 * 3600
# Of an attempt's whole time, so much at most for these.
DNS_SECONDS_MAX = 5.0
CONNECT_SECONDS_MAX = 10.0
# Lookups at once (each in a thread), names under way, addresses a name may have.
DNS_THREADS_MAX, DNS_NAMES_MAX, DNS_ANSWERS_MAX = 32, 1_000, 64
assert DNS_THREADS_MAX < DNS_NAMES_MAX
# What was found is used so long; that nothing was found, so long; of so many names.
DNS_KEPT_SECONDS, DNS_FAILURE_KEPT_SECONDS, DNS_NAMES_KEPT_MAX = 10.0, 1.0, 10_000
# One line of an answer's head, and how many of them.
RESPONSE_HEADER_BYTES_MAX, RESPONSE_HEADERS_MAX = 16 * 1024, 128
RESPONSE_HEAD_BYTES_MAX = 64 * 1024
# Connections nobody uses: kept so long (common servers hang up after five seconds), and so many.
IDLE_SECONDS_MAX, IDLE_CONNECTIONS_MAX = 4.0, 256
# A receiver that answers later has so long by default, and so long at most.
CALLBACK_SECONDS, CALLBACK_SECONDS_MAX = 24 * 3600.0, 30 * 24 * 3600.0
assert CALLBACK_SECONDS <= CALLBACK_SECONDS_MAX

# Credentials of deliveries. What is kept in memory of each sort, least recently used out first.
SIGNING_KEYS_MAX, TOKENS_MAX, CLIENT_CERTIFICATES_MAX = 1_000, 1_000, 100
DERIVED_KEYS_MAX = 10_000  # one for a target, two while a rotation overlaps
AUTHS_MAX = 4
CLIENT_PEM_BYTES_MAX = 64 * 1024
# A token request: its deadline, its answer, and how many may be on their way.
TOKEN_SECONDS_MAX, TOKEN_ANSWER_BYTES_MAX, TOKEN_REQUESTS_MAX = 10.0, 64 * 1024, 100
# A token that says nothing of its end is kept so long; none is kept longer than a day.
TOKEN_KEPT_SECONDS, TOKEN_KEPT_SECONDS_MAX = 300.0, 24 * 3600.0
# A new one is asked for so long before the end, or a quarter of a short life.
TOKEN_LEEWAY_SECONDS = 60.0
# After a failed request the next one waits so long: a moment, for the endpoint's sake.
TOKEN_FAILURE_SECONDS = 1.0
assert TOKEN_SECONDS_MAX < TOKEN_LEEWAY_SECONDS < TOKEN_KEPT_SECONDS < TOKEN_KEPT_SECONDS_MAX

# Secrets. A value is text of so many bytes; a rotation's previous version is good so long.
SECRET_BYTES_MAX = 16 * 1024
SECRET_BODY_BYTES_MAX = 128 * 1024
assert 6 * SECRET_BYTES_MAX < SECRET_BODY_BYTES_MAX, "each character may come as \\u00e9"
SECRET_OVERLAP_SECONDS, SECRET_OVERLAP_SECONDS_MAX = 24 * 3600.0, 30 * 24 * 3600.0
assert SECRET_OVERLAP_SECONDS <= SECRET_OVERLAP_SECONDS_MAX
SECRET_KEYS_MAX = 8
SECRET_BATCH_MAX = 200
# A node believes what it read of a secret for so long; longer only while PostgreSQL is away.
SECRET_KEPT_SECONDS, SECRET_KEPT_AWAY_SECONDS = 5.0, 60.0
# And waits no longer for a new answer when it has an old one.
SECRET_ASK_SECONDS = 1.0
assert SECRET_ASK_SECONDS < SECRET_KEPT_SECONDS < SECRET_KEPT_AWAY_SECONDS
SECRETS_KEPT_MAX = 500

# Targets. An unproven or silent one may hold this share of a node's slots, so that one dead host
# does not stand in the way of the healthy.
TARGET_SLOTS_SHARE = 0.5
# An answer within this time shows that a target is alive.
TARGET_ALIVE_SECONDS = 1.0
TARGET_PROBES = 1
# Of jobs for one target that are submitted together, so many join their line at once.
TARGET_LINE_MAX = 100
# A node remembers when so many targets answered last.
TARGETS_REMEMBERED_MAX = 20_000
UNPARK_BATCH_MAX = 500
# A breaker, unless its target has other figures; 0003_target.sql has the same.
BREAKER_FAILURES, BREAKER_REST_SECONDS, BREAKER_REST_SECONDS_MAX = 10, 5.0, 300.0
assert BREAKER_REST_SECONDS <= BREAKER_REST_SECONDS_MAX
# Who waits for a target is counted so far and no further.
PARKED_COUNTED_MAX = 1_000

# Coordination. What a coordinator owns in Redis is said again this often, and goes by itself after
# so long without its word.
COORDINATOR_RENEW_SECONDS, COORDINATOR_KEPT_SECONDS = 60.0, 3600.0
assert 10 * COORDINATOR_RENEW_SECONDS < COORDINATOR_KEPT_SECONDS
SIGNAL_PAYLOAD_BYTES_MAX, SIGNAL_TARGETS_MAX = 16 * 1024, 1_000
# Unread by one target; more go by way of PostgreSQL. Of these so many are read at once.
SIGNALS_PENDING_MAX, SIGNALS_READ_MAX = 1_000, 50
assert SIGNALS_READ_MAX * SIGNAL_PAYLOAD_BYTES_MAX < 1024 * 1024, "a call of tens of ms"
# A handler's time. Whoever waits says how long; this is for those who do not.
SIGNAL_HANDLER_SECONDS, SIGNAL_WAIT_SECONDS = 10.0, 5.0
# What Redis did not bring about by then is said again through PostgreSQL.
SIGNAL_DOUBT_SECONDS = 0.5
# A coordinator that cannot be reached through Redis looks there this often.
SIGNAL_POLL_SECONDS = 1.0
assert SIGNAL_DOUBT_SECONDS + 2 * SIGNAL_POLL_SECONDS < SIGNAL_WAIT_SECONDS
# Handled signals are remembered so long at least, and so many at most.
SIGNAL_LIFE_SECONDS, SIGNALS_REMEMBERED_MAX = 300.0, 10_000

# Operations on nodes. 0005_cluster.sql has the same bound.
WORKERS_MAX = 10_000
# A node that nobody told looks this often whether something is asked of it.
OPERATION_POLL_SECONDS = 1.0
# While it drains it says how far it is, and hears of an abort, this often.
OPERATION_SAY_SECONDS = 0.5
assert OPERATION_SAY_SECONDS <= HAND_BACK_SECONDS
DRAIN_SECONDS_MAX = 24 * 3600.0
OPERATIONS_KEPT_SECONDS = 7 * 24 * 3600.0

# Lists and streams.
PAGE_MAX, PAGE_DEFAULT = 500, 50
WAIT_SECONDS_MAX = 60.0
assert SIGNAL_WAIT_SECONDS <= WAIT_SECONDS_MAX < SIGNAL_LIFE_SECONDS
STREAM_CLIENTS_MAX = 200
WAITERS_MAX = 10_000

# The sweep of dead coordinators. One call judges so many at once and takes so many names of theirs:
# less than a millisecond of Redis' time, and far from what Lua can unpack.
SWEEP_BATCH, SWEEP_NAMES_MAX, SWEEP_KEYS_MAX = 50, 400, 1_000
assert 4 * SWEEP_BATCH + 2 * SWEEP_NAMES_MAX <= SWEEP_KEYS_MAX, "each has four keys in any case"
SWEEP_PAGE, SWEEP_FORGET_BATCH, SWEEP_CALLS_AT_ONCE = 1_000, 500, 8
# Without scripts: how often to try to take ids out of a set that others write to all the time.
SWEEP_TRIES_MAX = 200
# A coordinator may miss two beats; one that is said to be stale has missed at least three.
STALE_BEATS_MIN = 3
# Of a whole sweep, and of one call in it. It is nobody's hot path, and a slow answer is an answer.
SWEEP_SECONDS_MAX, SWEEP_CALL_SECONDS = 300.0, 5.0
assert SWEEP_CALL_SECONDS < SWEEP_SECONDS_MAX
# A report names so many at most; it counts them all.
STALE_IDS_MAX = 100_000

# Housekeeping.
IDEMPOTENCY_KEPT_SECONDS = 24 * 3600
PARTITIONS_AHEAD_DAYS = 7
COUNTER_FOLD_SECONDS = 2.0
# What only the leader does.
SWEEP_EVERY_SECONDS, FORGET_EVERY_SECONDS = 300.0, 3600.0
WAIT_IN_SLOT_SECONDS_MAX = 300.0
