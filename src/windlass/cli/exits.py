"""Exit codes: how a command ends. The numbers are part of the contract: scripts branch on them."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    FAILED = 1  # the work failed, or something unexpected
    USAGE = 2
    NOT_FOUND = 3
    NOT_ALLOWED = 4
    CONFLICT = 5
    LIMITED = 6
    TIMED_OUT = 7
    CANCELLED = 8
    UNREACHABLE = 9
    # As shells name a death by signal: 128 + SIGINT, 128 + SIGPIPE.
    INTERRUPTED = 130
    PIPE_CLOSED = 141


class Stopped(Exception):
    """A command that cannot go on: what to say, and how to exit."""

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        self.code = code
        super().__init__(message)


class BadUsage(Stopped):
    """What was typed cannot be understood."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Exit.USAGE)


class Unreachable(Stopped):
    """The server does not answer, or is not there."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Exit.UNREACHABLE)
