"""The command line's own bounds; those of the product are in windlass.limits."""

from __future__ import annotations

from typing import Final

from windlass.limits import WAIT_SECONDS_MAX

# One call, from connecting to the last byte of the answer.
CALL_SECONDS: Final = 30.0
# A batch of ten thousand jobs may take the server longer to store.
BATCH_CALL_SECONDS: Final = 120.0

# One long poll, and what the network may add to it.
POLL_SECONDS: Final = 20.0
POLL_GRACE_SECONDS: Final = 10.0
# Somebody is looking: a change of state is seen soon, and less soon the longer it has taken.
POLL_WATCHED_SECONDS: Final = 0.25
POLL_WATCHED_SECONDS_MAX: Final = 2.0
# A tree of steps is drawn again so often while it is watched.
POLL_LIVE_SECONDS: Final = 0.5
assert POLL_WATCHED_SECONDS < POLL_WATCHED_SECONDS_MAX <= POLL_SECONDS <= WAIT_SECONDS_MAX

# While waiting for a job the server may be away this long, a restart for example.
AWAY_SECONDS_MAX: Final = 30.0
# Before a stream of events is connected again; doubled each time.
RETRY_PAUSE_SECONDS: Final = 0.25
RETRY_PAUSE_SECONDS_MAX: Final = 5.0
assert RETRY_PAUSE_SECONDS < RETRY_PAUSE_SECONDS_MAX < AWAY_SECONDS_MAX

# A batch is cut into chunks that stay below the server's cap on a body.
CHUNK_BYTES_MAX: Final = 32 * 1024 * 1024
FILE_BYTES_MAX: Final = 1024 * 1024 * 1024

# Longest text shown in one cell of a table.
CELL_CHARS_MAX: Final = 200
# At a terminal too narrow for a table, texts of so many characters are worth a column that can be
# spared; and to so many they are cut before others are left out.
TEXT_CHARS_LEAST, TEXT_CHARS_MIN = 24, 12
assert TEXT_CHARS_MIN < TEXT_CHARS_LEAST < CELL_CHARS_MAX
# Digits of an id that is shortened at a terminal. A random one (of a node) tells itself apart at
# once. Any other begins with the millisecond in which it was made (12 digits), its version and its
# place among those that were made together (4); two more tell those apart that several nodes made.
RANDOM_ID_DIGITS, TIMED_ID_DIGITS = 8, 18
assert RANDOM_ID_DIGITS < TIMED_ID_DIGITS < 32
# Problems of one answer that are worth reading.
POINTERS_SHOWN_MAX: Final = 100

# `windlass listen`: what is read of a delivery and of the answer behind it.
LISTEN_BODY_BYTES_MAX: Final = 1024 * 1024
# Of a body at a terminal; jsonl has all of it.
LISTEN_BODY_CHARS_SHOWN_MAX: Final = 8_192
# Deliveries that are remembered, to tell a repeat.
LISTEN_IDS_MAX: Final = 10_000
# A delivery passed on is answered within this time; a node's own default is 30 s.
FORWARD_SECONDS_MAX: Final = 60.0
# What is under way when it ends gets so long.
LISTEN_STOP_SECONDS: Final = 1.0
# Standard Webhooks: how far a timestamp may be from now; and signatures looked at in one header.
SIGNATURE_AGE_SECONDS_MAX: Final = 300
SIGNATURES_MAX: Final = 20
