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
# What a drain stops at its end gets so long to let go before it is given up.
HAND_BACK_SECONDS = 1.0
# Claimed and not yet settled in the database, per node, beyond the slots.
PREFETCH_MAX = 2_000
assert CLAIM_BATCH_MAX <= PREFETCH_MAX
# A claim starts its scan at the oldest row it may find, less this; see engine.claim.
CLAIM_SLACK_SECONDS = 1.0

# Adaptive polling: how long a worker rests between peeks when nobody wakes it.
POLL_BUSY_SECONDS, POLL_IDLE_SECONDS = 0.05, 1.0
assert POLL_BUSY_SECONDS < POLL_IDLE_SECONDS
# A peek is followed by a rest of at least this many times its own duration.
PEEK_REST_FACTOR = 20

# Deadlines of calls to the parts around us.
DATABASE_CALL_SECONDS = 30.0
DATABASE_CONNECT_SECONDS = 10.0
FASTLANE_CALL_SECONDS = 0.05
FASTLANE_CONNECT_SECONDS = 0.5

# HTTP deliveries.
RESPONSE_BYTES_MAX = 64 * 1024

# Lists and streams.
PAGE_MAX, PAGE_DEFAULT = 500, 50
WAIT_SECONDS_MAX = 60.0
STREAM_CLIENTS_MAX = 200
WAITERS_MAX = 10_000

# Housekeeping.
IDEMPOTENCY_KEPT_SECONDS = 24 * 3600
PARTITIONS_AHEAD_DAYS = 7
COUNTER_FOLD_SECONDS = 2.0
WAIT_IN_SLOT_SECONDS_MAX = 300.0
