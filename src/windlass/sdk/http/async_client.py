"""The client: every noun of the API, asynchronous.

    async with AsyncClient("http://127.0.0.1:5777", token="wlk_…") as client:
        job = await client.jobs.submit("noop")
        async for dead in client.dead_letters.list(queue="mail"): ...

Things are the objects of the API: dicts with typed attributes (sdk.objects). Lists turn their
pages by themselves.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict

from windlass.errors import Unauthorized
from windlass.limits import LOCK_TTL_SECONDS
from windlass.sdk.http.exchange import Exchange, Headers
from windlass.sdk.http.transport import Transport, address_of
from windlass.sdk.http.wire import Query, path_with, trace_headers
from windlass.sdk.limits import PATIENCE_SECONDS, TRY_SECONDS
from windlass.sdk.nouns.approvals import Approvals
from windlass.sdk.nouns.audit import Audit
from windlass.sdk.nouns.dead_letters import DeadLetters
from windlass.sdk.nouns.events import Events
from windlass.sdk.nouns.executions import Executions
from windlass.sdk.nouns.jobs import Jobs
from windlass.sdk.nouns.keys import Keys
from windlass.sdk.nouns.lock import AsyncLock
from windlass.sdk.nouns.locks import Locks
from windlass.sdk.nouns.nodes import Nodes
from windlass.sdk.nouns.operations import Operations
from windlass.sdk.nouns.queues import Queues
from windlass.sdk.nouns.schedules import Schedules
from windlass.sdk.nouns.secrets import Secrets
from windlass.sdk.nouns.sessions import Sessions
from windlass.sdk.nouns.system import System
from windlass.sdk.nouns.targets import Targets
from windlass.sdk.nouns.tasks import Tasks
from windlass.sdk.nouns.users import Users
from windlass.sdk.nouns.workflows import Workflows
from windlass.sdk.objects.identity import Caller

if TYPE_CHECKING:
    from windlass.sdk.http.http_transport import HttpTransport

DEFAULT_URL: Final = "http://127.0.0.1:5777"
_SESSION: Final = "/v1/session"


class _Manners(TypedDict):
    """How a client asks."""

    timeout_seconds: float
    patience_seconds: float
    headers: Headers


class AsyncClient:
    """Every noun of the API for code that awaits: `await client.jobs.submit("noop")`."""

    def __init__(
        self,
        url: str | None = None,  # None: WINDLASS_URL, or this machine's own
        token: str | None = None,  # None: WINDLASS_TOKEN, or that of this machine's own server
        *,
        transport: Transport | None = None,  # None: HTTP to that address
        timeout_seconds: float = TRY_SECONDS,  # for one try of a call
        patience_seconds: float = PATIENCE_SECONDS,  # no call is made again after so long
        headers: Headers | None = None,  # asked before each call; None: the caller's trace
    ) -> None:
        self.transport = transport if transport is not None else _http(url, token)
        self._manners: _Manners = {
            "timeout_seconds": timeout_seconds,
            "patience_seconds": patience_seconds,
            "headers": headers or trace_headers,
        }
        exchange = Exchange(self.transport, **self._manners)
        self._exchange = exchange
        self.approvals = Approvals(exchange)
        self.audit = Audit(exchange)
        self.dead_letters = DeadLetters(exchange)
        self.tasks = Tasks(exchange)
        self.events = Events(exchange)
        self.executions = Executions(exchange)
        self.jobs = Jobs(exchange)
        self.keys = Keys(exchange)
        self.locks = Locks(exchange)
        self.nodes = Nodes(exchange)
        self.operations = Operations(exchange)
        self.queues = Queues(exchange)
        self.schedules = Schedules(exchange)
        self.secrets = Secrets(exchange)
        self.sessions = Sessions(exchange)
        self.system = System(exchange)
        self.targets = Targets(exchange)
        self.users = Users(exchange)
        self.workflows = Workflows(exchange)

    async def request(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        query: Query | None = None,
        key: str | None = None,  # the Idempotency-Key of a POST; None: one is made up
        wait_seconds: float = 0.0,  # how long the server was asked to take
        if_match: str | None = None,  # an `etag` that was read; None: whatever it is by now
    ) -> Any:
        """Anything else that the API has: the JSON of the answer, None if it has no body."""
        return await self._exchange.call(
            *(method, path_with(path, query), json),
            key=key,
            wait_seconds=wait_seconds,
            if_match=if_match,
        )

    def lock(
        self,
        name: str,
        *,
        ttl: float | str = LOCK_TTL_SECONDS,  # how long it outlives a process that died
        wait: float | str | None = None,  # LockTimeout after that; 0: LockHeld at once; None: never
        capacity: int | None = None,  # how many may hold it, if it is made by this; None: one
    ) -> AsyncLock:
        """A lock for the length of a block: `async with client.lock("deploy") as lock:`.

        It is renewed meanwhile and given back at the end. LockLost is raised there if it could not
        be kept; `lock.lost`, `lock.is_held` and `lock.check()` tell so earlier.
        """
        return AsyncLock(self.locks, name, ttl=ttl, wait=wait, capacity=capacity)

    async def session(self) -> Caller:
        """Who this client is to the server, and what it may do."""
        return Caller(await self._exchange.get(_SESSION))

    async def log_in(self, user: str, password: str) -> AsyncClient:
        """Log in; a client that is this user, until its `log_out()`. This one stays who it is.

        Whoever logs in with a one-time password can do nothing before `change_password`. A program
        that nobody sits at takes a key instead (`keys.add`).
        """
        http, body = self._over_http(), {"user": user, "password": password, "wants_token": True}
        begun = await self._exchange.call("POST", _SESSION, body, needs_key=False)
        return AsyncClient(transport=http.with_token(begun["token"]), **self._manners)

    async def change_password(self, old: str, new: str) -> Caller:
        """Choose another password, as a client that has logged in; its other sessions end."""
        http, body = self._over_http(), {"old": old, "new": new}
        found = await self._exchange.call("PUT", f"{_SESSION}/password", body, needs_key=False)
        if found is None:
            raise Unauthorized("the password is changed, and this session has ended; log in again")
        http.use_token(found["token"])
        return Caller({**found, "token": None})

    async def log_out(self) -> None:
        """End the session of a client that has logged in."""
        await self._exchange.delete(_SESSION)

    def _over_http(self) -> HttpTransport:
        """The way of callers that show a token."""
        from windlass.sdk.http.http_transport import HttpTransport

        if not isinstance(self.transport, HttpTransport):
            raise TypeError(
                f"this client is {address_of(self.transport)}, where nobody logs in; make one with "
                "an address: Client('http://127.0.0.1:5777')"
            )
        return self.transport

    async def close(self) -> None:
        """Close the connections of this event loop."""
        await self.transport.close()

    def __repr__(self) -> str:
        return f"<AsyncClient {address_of(self.transport)}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def _http(url: str | None, token: str | None) -> Transport:
    from windlass.sdk.http.http_transport import HttpTransport
    from windlass.sdk.http.local_key import LocalKey

    given_url = url or os.environ.get("WINDLASS_URL") or DEFAULT_URL
    given_token = token or os.environ.get("WINDLASS_TOKEN")
    return HttpTransport(given_url, given_token, local_key=LocalKey(given_url))
