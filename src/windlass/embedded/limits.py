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

# Of each server, in random bytes: more than anybody can guess, whatever a guess costs.
PASSWORD_BYTES = 32
# As PostgreSQL has it; some drivers refuse fewer. Each login costs the client so many hashes, some
# 3 ms, though they guard only passwords that can be guessed.
SCRAM_ITERATIONS = 4096
SCRAM_SALT_BYTES = 16

# What a child is given to read at its start lies in a pipe before anybody reads it.
STDIN_BYTES_MAX = 4096

# Numbers for accounts that nobody else has. The first range is assigned to nothing by any system;
# the second lies below 65,536, for containers that know no higher ones. (0 to 60,000 are users,
# 60,001 to 60,705 and 61,184 to 65,519 systemd's, 100,000 and up belong to containers.)
ACCOUNT_RANGES = ((1_879_048_192, 2_147_352_575), (60_706, 61_183))
ACCOUNT_TRIES_MAX = 100

# A client program (pg_dump) that was asked to end; and what is kept of what it says.
CLIENT_STOP_SECONDS = 5.0
CLIENT_STDERR_BYTES_MAX = 16 * 1024
