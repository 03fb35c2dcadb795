"""The SDK's own bounds; those of the product are in windlass.limits."""

from __future__ import annotations

from typing import Final

from windlass.limits import HINT_JOBS_MAX, PAGE_MAX, WAIT_SECONDS_MAX

# One try, from connecting to the last byte of the answer.
TRY_SECONDS: Final = 30.0
# A batch of ten thousand jobs may take the server longer to store.
TRY_BATCH_SECONDS: Final = 120.0
CONNECT_SECONDS: Final = 5.0
assert CONNECT_SECONDS < TRY_SECONDS < TRY_BATCH_SECONDS

# A call is not made again after this time.
PATIENCE_SECONDS: Final = 30.0
# A server that has never answered this client is probably not there at all; its user hears so soon.
PATIENCE_FIRST_SECONDS: Final = 3.0
assert PATIENCE_FIRST_SECONDS < PATIENCE_SECONDS

# Between two tries; doubled each time.
PAUSE_SECONDS, PAUSE_SECONDS_MAX = 0.1, 5.0
assert PAUSE_SECONDS < PAUSE_SECONDS_MAX < PATIENCE_SECONDS

# One long poll.
POLL_SECONDS: Final = 20.0
assert POLL_SECONDS <= WAIT_SECONDS_MAX
# Polls at once for one `wait`; when more handles wait, each poll is short.
POLLS_MAX, POLL_SHORT_SECONDS = 50, 1.0
assert POLL_SHORT_SECONDS < POLL_SECONDS

# How many things a page has that a list fetches by itself.
PAGE_THINGS: Final = 200
assert PAGE_THINGS <= PAGE_MAX

# A lock that is kept for the length of a block is renewed when this part of its time is over.
RENEW_PART: Final = 1 / 3
# A wait for a lock is asked for again so long before a poll ends: its place in the list is kept.
OVERLAP_SECONDS: Final = 5.0
assert OVERLAP_SECONDS < POLL_SECONDS
# Whoever is interrupted while waiting takes so long at most to leave the wait list.
LEAVE_SECONDS: Final = 2.0

# What is read into memory.
ANSWER_BYTES_MAX: Final = 256 * 1024 * 1024
ANSWER_HEAD_BYTES_MAX, ANSWER_FIELDS_MAX = 64 * 1024, 128
LINE_BYTES_MAX: Final = 8 * 1024 * 1024
# A stream that says nothing this long, not even a heartbeat, is taken for dead.
SILENCE_SECONDS: Final = 60.0
# Connections to one server that one event loop keeps open at most.
CONNECTIONS_MAX: Final = 100
assert POLLS_MAX < CONNECTIONS_MAX, "who waits for many leaves room for others"
# One that nobody uses is kept so long; servers that hang up earlier are heard.
IDLE_SECONDS: Final = 15.0
# What the lookup of a name has found is used so long, and so many addresses of it. The next one is
# tried when the one before is silent for so long.
LOOKUP_SECONDS, ADDRESSES_MAX = 10.0, 16
NEXT_ADDRESS_SECONDS: Final = 0.25
assert NEXT_ADDRESS_SECONDS < CONNECT_SECONDS
# The thread behind blocking clients gets so long to close its connections when the process ends.
CLOSE_SECONDS: Final = 2.0

# A hint that jobs were committed: how long it may take, how long nothing is sent after one that
# failed, and how many jobs wait at most to be named. What is beyond is found without.
HINT_SECONDS, HINT_REST_SECONDS, HINTS_MAX = 2.0, 5.0, 10_000
assert HINT_JOBS_MAX <= HINTS_MAX
