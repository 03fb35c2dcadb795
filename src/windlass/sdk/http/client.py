"""The client that waits: AsyncClient for threads, scripts and shells.

    with Client("http://127.0.0.1:5777", token="wlk_…") as client:
        job = client.jobs.submit("noop")
        for dead in client.dead_letters.list(queue="mail"): ...

Everything runs on the one event loop of the portal, so it may be used from any number of threads,
inside a running event loop, and after a fork.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from windlass.limits import LOCK_TTL_SECONDS
from windlass.sdk.http.async_client import AsyncClient
from windlass.sdk.http.blocking import Blocking, Blocks
from windlass.sdk.http.exchange import Headers
from windlass.sdk.http.portal import run
from windlass.sdk.http.transport import Transport, address_of
from windlass.sdk.limits import PATIENCE_SECONDS, TRY_SECONDS
from windlass.sdk.nouns import blocking
from windlass.sdk.nouns.lock import Lock


class Client(Blocks[AsyncClient]):
    """Every noun of the API for code that waits: `client.jobs.submit("noop")`."""

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
        inner = AsyncClient(
            url,
            token,
            transport=transport,
            timeout_seconds=timeout_seconds,
            patience_seconds=patience_seconds,
            headers=headers,
        )
        self._see(inner)

    def _see(self, inner: AsyncClient) -> None:
        super().__init__(inner)
        self.approvals = blocking.BlockingApprovals(inner.approvals)
        self.audit = blocking.BlockingAudit(inner.audit)
        self.dead_letters = blocking.BlockingDeadLetters(inner.dead_letters)
        self.tasks = blocking.BlockingTasks(inner.tasks)
        self.events = blocking.BlockingEvents(inner.events)
        self.executions = blocking.BlockingExecutions(inner.executions)
        self.jobs = blocking.BlockingJobs(inner.jobs)
        self.keys = blocking.BlockingKeys(inner.keys)
        self.locks = blocking.BlockingLocks(inner.locks)
        self.nodes = blocking.BlockingNodes(inner.nodes)
        self.operations = blocking.BlockingOperations(inner.operations)
        self.queues = blocking.BlockingQueues(inner.queues)
        self.schedules = blocking.BlockingSchedules(inner.schedules)
        self.secrets = blocking.BlockingSecrets(inner.secrets)
        self.sessions = blocking.BlockingSessions(inner.sessions)
        self.system = blocking.BlockingSystem(inner.system)
        self.targets = blocking.BlockingTargets(inner.targets)
        self.users = blocking.BlockingUsers(inner.users)
        self.workflows = blocking.BlockingWorkflows(inner.workflows)

    request = Blocking(AsyncClient.request)
    session = Blocking(AsyncClient.session)
    change_password = Blocking(AsyncClient.change_password)
    log_out = Blocking(AsyncClient.log_out)
    close = Blocking(AsyncClient.close)

    def log_in(self, user: str, password: str) -> Client:
        """Log in; a client that is this user, until its `log_out()`. This one stays who it is.

        Whoever logs in with a one-time password can do nothing before `change_password`. A program
        that nobody sits at takes a key instead (`keys.add`).
        """
        client = Client.__new__(Client)
        client._see(run(self.inner.log_in(user, password)))
        return client

    def lock(
        self,
        name: str,
        *,
        ttl: float | str = LOCK_TTL_SECONDS,  # how long it outlives a process that died
        wait: float | str | None = None,  # LockTimeout after that; 0: LockHeld at once; None: never
        capacity: int | None = None,  # how many may hold it, if it is made by this; None: one
    ) -> Lock:
        """A lock for the length of a block: `with client.lock("deploy") as lock:`.

        It is renewed meanwhile and given back at the end. LockLost is raised there if it could not
        be kept; `lock.lost`, `lock.is_held` and `lock.check()` tell so earlier.
        """
        return Lock(self.inner.lock(name, ttl=ttl, wait=wait, capacity=capacity))

    def __repr__(self) -> str:
        return f"<Client {address_of(self.inner.transport)}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
