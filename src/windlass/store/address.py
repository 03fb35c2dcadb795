"""The URL of PostgreSQL: one host or several (failover), directly or through PgBouncer.

    postgresql://user@one:5432,two:5432/windlass?target_session_attrs=read-write
    postgresql://user@bouncer:6432/windlass?pgbouncer=true
    postgresql://user@db/windlass?sslmode=verify-full&sslrootcert=/etc/windlass/ca.crt

Owns: the only call that opens a connection. Several hosts are asked in turn, beginning with the one
that answered last; each gets its share of the time, so that one that was unplugged cannot eat the
deadline of the others. Unless the URL says otherwise only a server that takes writes will do: after
a failover the old primary, or a replica that is not promoted yet, is passed by.

What the URL asks of TLS has PostgreSQL's own names (sslmode, sslrootcert, sslcert, sslkey, …).
Without any the connection is encrypted if the server offers it, and nobody is asked who it is.

PgBouncer in transaction mode gives each transaction another session: nothing may be set, prepared
or locked for longer than a transaction, and a statement that the driver prepares needs one around
it. So there whoever runs statements takes a `turn`, which brings the settings along.
"""

from __future__ import annotations

import contextlib
import os
import ssl
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
# What names a file; "system" stands for the authorities that the machine trusts.
_FILES: Final = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
_SYSTEM: Final = "system"
_ASKING: Final = frozenset({"require", "verify-ca", "verify-full"})
_NO_TLS: Final = "rejected SSL upgrade"  # so the driver says that the server does
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


class NotTrusted(ConnectionError):
    """TLS was asked for and cannot be had, or not with a server that proves who it is."""


class Address:
    def __init__(self, url: str, *, wants: str = "read-write") -> None:
        query = parse_qs(urlsplit(url).query)
        self.is_pooled = query.get(_BOUNCER, [""])[-1] == "true"
        self.url = _without(url, _BOUNCER)
        self._sslmode = query.get("sslmode", ["prefer"])[-1]
        self._files = {name: query[name][-1] for name in _FILES if name in query}
        is_by_world = self._files.get("sslrootcert") == _SYSTEM
        self.is_verified = self._sslmode == "verify-full" or is_by_world
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
        options = {**self._tls(), **options}
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
                why = _untrusted(trouble, self._sslmode)
                if len(self._hosts) == 1:
                    if why is None:
                        raise
                    raise NotTrusted(f"{host}: {why}") from trouble
                refusals.append(f"{host}: {why or str(trouble) or 'no answer in time'}")
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

    def _tls(self) -> dict[str, Any]:
        """What the driver cannot read out of the URL. Raises NotTrusted for a file that lacks."""
        for name, path in self._files.items():
            if path != _SYSTEM and not os.access(path, os.R_OK):
                raise NotTrusted(f"{name} of the database URL names {path}, which cannot be read")
        if self._files.get("sslrootcert") != _SYSTEM:
            return {}
        # As PostgreSQL has it: whoever relies on the world's authorities also looks at the name.
        context = ssl.create_default_context()
        if "sslcert" in self._files:
            context.load_cert_chain(self._files["sslcert"], self._files.get("sslkey"))
        return {"ssl": context}

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


def _untrusted(trouble: BaseException, sslmode: str) -> str | None:
    """Why there is no TLS with a server, or none that can be relied on; None: that is not it."""
    if isinstance(trouble, ssl.SSLCertVerificationError):
        said = trouble.verify_message.rstrip(".")
        return f"its certificate is not believed: {said}"
    if isinstance(trouble, ssl.SSLError):
        return f"TLS with it fails: {trouble.reason or trouble}"
    if isinstance(trouble, asyncpg.ConnectionDoesNotExistError) and sslmode in _ASKING:
        return (
            "it hung up when TLS was agreed on or the login sent; does it ask for a certificate of "
            "ours (sslcert, sslkey)?"
        )
    if isinstance(trouble, ConnectionError) and _NO_TLS in str(trouble):
        return f"it does not speak TLS, and sslmode={sslmode} asks for it"
    return None


def tls_of(connection: Any) -> str | None:
    """Version and cipher of this connection as we see it; None: it is not encrypted.

    Whether the server sees it so is another question: a pooler or proxy may stand between.
    """
    # The driver does not tell; what a pool lends stands for the connection itself.
    transport = getattr(getattr(connection, "_con", connection), "_transport", None)
    found = None if transport is None else transport.get_extra_info("ssl_object")
    if found is None:
        return None
    name, _, _ = found.cipher()
    return f"{found.version()} {name}"


async def leave_as_it_is(connection: object) -> None:
    """The driver would clean the session by a round trip after each use; ours are always clean.

    Nothing here takes session locks, listens, or sets what outlives a transaction.
    """


def _without(url: str, name: str) -> str:
    """The driver would take a parameter that it does not know for a setting of the server."""
    parts = urlsplit(url)
    kept = [part for part in parts.query.split("&") if not part.startswith(f"{name}=")]
    return urlunsplit(parts._replace(query="&".join(kept))) if name in parts.query else url
