"""The URL of PostgreSQL: one host or several (failover), directly or through PgBouncer.

    postgresql://user@one:5432,two:5432/windlass?target_session_attrs=read-write
    postgresql://user@bouncer:6432/windlass?pgbouncer=true

Owns: the only call that opens a connection. Several hosts are asked in turn, beginning with the one
that answered last; each gets its share of the time, so that one that was unplugged cannot eat the
deadline of the others. Unless the URL says otherwise only a server that takes writes will do: after
a failover the old primary, or a replica that is not promoted yet, is passed by.

PgBouncer in transaction mode gives each transaction another session: nothing may be set, prepared
or locked for longer than a transaction, and a statement that the driver prepares needs one around
it. So there whoever runs statements takes a `turn`, which brings the settings along.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit, urlunsplit

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from windlass.clock import monotonic
from windlass.config.hosts import Host, hosts_of
from windlass.limits import DATABASE_CONNECT_SECONDS

_PORT: Final = 5432
_SHARE_SECONDS_MIN: Final = 0.1
_BOUNCER: Final = "pgbouncer"
# What PgBouncer takes when a connection starts; everything else it refuses.
_BOUNCED: Final = frozenset({"application_name", "timezone"})
# Why the next host is asked. A wrong password is among them: it may be wrong for one host only.
_PASSED_BY: Final = (
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)


class NoHost(ConnectionError):
    """No host of the address will do; says of each why."""


class Address:
    def __init__(self, url: str, *, wants: str = "read-write") -> None:
        query = parse_qs(urlsplit(url).query)
        self.is_pooled = query.get(_BOUNCER, [""])[-1] == "true"
        self.url = _without(url, _BOUNCER)
        # PgBouncer does not tell what stands behind it; there the first refused write does.
        self._wants = "any" if self.is_pooled else query.get("target_session_attrs", [wants])[-1]
        self._hosts = hosts_of(url, _PORT)

    async def connect(
        self, *, seconds: float = DATABASE_CONNECT_SECONDS, **options: Any
    ) -> asyncpg.Connection[asyncpg.Record]:
        """A connection to the first host that will do, within `seconds` for all of them."""
        if self.is_pooled:
            asked = options.get("server_settings", {})
            kept = {name: value for name, value in asked.items() if name in _BOUNCED}
            options = {**options, "server_settings": kept, "statement_cache_size": 0}
        deadline = monotonic() + seconds
        # Whoever prefers a standby takes what there is in the second round.
        rounds = ("standby", "any") if self._wants == "prefer-standby" else (self._wants,)
        doors = [(wanted, host) for wanted in rounds for host in self._hosts]
        refusals: list[str] = []
        for number, (wanted, host) in enumerate(doors):
            share = (deadline - monotonic()) / (len(doors) - number)
            try:
                found: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(
                    self.url,
                    target_session_attrs=SessionAttribute(wanted),
                    timeout=max(share, _SHARE_SECONDS_MIN),
                    **self._where(host),
                    **options,
                )
            except asyncpg.TargetServerAttributeNotMatched:
                refusals.append(f"{host} is not {wanted}")
            except _PASSED_BY as trouble:
                if len(self._hosts) == 1:
                    raise
                refusals.append(f"{host}: {str(trouble) or 'no answer in time'}")
            else:
                self._hosts = [host, *(other for other in self._hosts if other != host)]
                return found
        raise NoHost("; ".join(refusals))

    def _where(self, host: Host) -> dict[str, Any]:
        # One host is left to the driver, which also knows the environment and service files.
        return {"host": host.name, "port": host.port} if len(self._hosts) > 1 else {}

    async def dial(
        self,
        dsn: str | None = None,
        *,
        timeout: float = DATABASE_CONNECT_SECONDS,
        **options: Any,
    ) -> asyncpg.Connection[asyncpg.Record]:
        """The same, as a pool calls it."""
        return await self.connect(seconds=timeout, **options)

    @contextlib.asynccontextmanager
    async def turn(
        self, connection: Any, settings: Mapping[str, str] | None = None, **transaction: Any
    ) -> AsyncIterator[None]:
        """Statements that belong together where only a transaction keeps a session.

        `transaction` holds the options of one that is wanted in any case; none: directly each
        statement is its own. The settings are those that the connection was opened with.
        """
        if not self.is_pooled and not transaction:
            yield
            return
        async with connection.transaction(**transaction):
            if self.is_pooled and settings:
                words = {name: value for name, value in settings.items() if name not in _BOUNCED}
                await connection.execute(
                    "; ".join(f"SET LOCAL {name} = '{value}'" for name, value in words.items())
                )
            yield


async def leave_as_it_is(connection: object) -> None:
    """The driver would clean the session by a round trip after each use; ours are always clean.

    Nothing here takes session locks, listens, or sets what outlives a transaction.
    """


def _without(url: str, name: str) -> str:
    """The driver would take a parameter that it does not know for a setting of the server."""
    parts = urlsplit(url)
    kept = [part for part in parts.query.split("&") if not part.startswith(f"{name}=")]
    return urlunsplit(parts._replace(query="&".join(kept))) if name in parts.query else url
