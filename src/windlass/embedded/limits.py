"""The bounds of the embedded servers."""

from __future__ import annotations

# From launch to the first answer. PostgreSQL may have to replay its log after a crash, and a server
# that gives up is noticed at once by its exit, so this only bounds one that hangs.
POSTGRES_START_SECONDS_MAX = 300.0
VALKEY_START_SECONDS_MAX = 30.0
INITDB_SECONDS_MAX = 300.0

# One try to connect while waiting, and the rest between two tries.
CONNECT_SECONDS_MAX = 5.0
READY_POLL_SECONDS = 0.02
assert READY_POLL_SECONDS < CONNECT_SECONDS_MAX < VALKEY_START_SECONDS_MAX

# How long a graceful end may take before a harder one is used.
POSTGRES_FAST_STOP_SECONDS = 30.0
POSTGRES_IMMEDIATE_STOP_SECONDS = 5.0
VALKEY_STOP_SECONDS = 5.0
# After SIGKILL, for the kernel to take a process down.
KILL_SECONDS = 5.0

# A log is put aside (one generation is kept) when it is this large at start.
LOG_BYTES_MAX = 16 * 1024 * 1024
LOG_TAIL_LINES = 20
LOG_TAIL_BYTES = 16 * 1024
assert LOG_TAIL_BYTES < LOG_BYTES_MAX

# sun_path of a unix socket holds 108 bytes with its final zero.
SOCKET_PATH_BYTES_MAX = 107
