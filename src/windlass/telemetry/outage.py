"""A server that is away: said once when it goes and once when it is back, however many wait for it.

While PostgreSQL is away a dozen loops fail every second, each for the same reason. What they say is
for the debug level then (`is_quiet`): the outage itself was said.
"""

from __future__ import annotations

import ssl
import threading
from typing import Final, Literal

import structlog

from windlass.clock import monotonic
from windlass.config.redaction import where_of
from windlass.limits import POLL_IDLE_SECONDS

log = structlog.get_logger()

# A broken connection is an outage only if what follows fails as well, for so long.
BLIP_SECONDS: Final = 1.0
NO_ANSWER: Final = "no answer in time"
_NO_TLS: Final = "WRONG_VERSION_NUMBER"  # so OpenSSL calls an answer that is no TLS
Server = Literal["postgresql", "redis"]


class Outage:
    """Of one server, as this process sees it; told from any thread."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._since: float | None = None  # the first failure after the last success; None: it is up
        self.is_said = False

    @property
    def is_on(self) -> bool:
        return self._since is not None

    def failed(self, where: str, reason: str, *, is_certain: bool) -> None:
        """A call failed. `is_certain`: there is no server to talk to, and not only no answer."""
        now = monotonic()
        with self._lock:
            if self._since is None:
                self._since = now
            if self.is_said or not (is_certain or now - self._since >= BLIP_SECONDS):
                return
            self.is_said = True
        if self._server == "postgresql":
            log.error("postgresql_away", where=where, reason=reason)
        else:
            log.warning("redis_away", where=where, reason=reason, poll_seconds=POLL_IDLE_SECONDS)

    def answered(self, where: str) -> None:
        """A call succeeded, or a connection was made."""
        with self._lock:
            since, was_said = self._since, self.is_said
            self._since, self.is_said = None, False
        if since is None or not was_said:
            return
        seconds = round(monotonic() - since, 1)
        if self._server == "postgresql":
            log.info("postgresql_back", where=where, seconds=seconds)
        else:
            log.info("redis_back", where=where, seconds=seconds)


# One each for a process: whoever waits for them says so quietly while they are away.
POSTGRESQL: Final = Outage("postgresql")
REDIS: Final = Outage("redis")


def is_quiet(reason: object) -> bool:
    """Whoever waits for this reason needs not say so: that its server is away was said, or is about
    to be; of Redis a connection that is always open is the first to know, or nearly.
    """
    return POSTGRESQL.is_on or str(reason).startswith("Redis ")


def note_unreachable(url: str, trouble: BaseException) -> None:
    """Somebody with a connection of his own found nobody at PostgreSQL's address, perhaps: he may
    be the first to know.
    """
    if isinstance(trouble, ConnectionError | FileNotFoundError):
        POSTGRESQL.failed(where_of(url), reason_text(trouble), is_certain=True)


def reason_text(trouble: BaseException) -> str:
    """Why a server cannot be reached, in the words of its system rather than of a library."""
    cause: BaseException | None = trouble
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError):
            return "connection refused"
        if isinstance(cause, ConnectionResetError | BrokenPipeError):
            return "it closed the connection"
        if isinstance(cause, TimeoutError):
            return NO_ANSWER
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not believed: {cause.verify_message.rstrip('.')}"
        if isinstance(cause, ssl.SSLError):
            return (
                "it does not speak TLS" if cause.reason == _NO_TLS else f"TLS fails: {cause.reason}"
            )
        cause = cause.__cause__ or cause.__context__
    if "connection refused" in str(trouble).lower():
        return "connection refused"
    return str(trouble) or type(trouble).__name__
