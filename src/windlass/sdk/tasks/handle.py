"""Handles of enqueued jobs (futures): ask for the result, the state, and why there is none yet.

Every verb comes twice: `result()` blocks, `await handle.aresult()` does not. Inside a task neither
waits: a slot that waits for a slot may wait for ever. `Handles` are the jobs of one `.map(…)`, in
the order of their items. What a handle of an execution does as well (execution_handle) is said in
`AnyHandle`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

from windlass.errors import JobFailed, ResultTimeout, WouldDeadlock
from windlass.model.job.running import current
from windlass.model.job.states import is_terminal
from windlass.sdk.tasks.options import Duration, seconds_of
from windlass.sdk.tasks.remote_error import failure_from

if TYPE_CHECKING:
    from windlass.sdk.http.async_client import AsyncClient


T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)


class HasClient(Protocol):
    """An App, for one."""

    @property
    def client(self) -> AsyncClient: ...


class Waitable(Protocol):
    """What a client has for jobs, and for executions."""

    async def get(self, which: str, /) -> dict[str, Any]: ...

    async def wait(self, which: str, seconds: float | None = None, /) -> dict[str, Any]: ...

    async def why(self, which: str, /) -> dict[str, Any]: ...

    async def cancel(self, which: str, /) -> dict[str, Any]: ...


class AnyHandle(ABC, Generic[R_co]):
    """A handle of a job, or of an execution: what both can do."""

    __slots__ = ("_home", "id")

    def __init__(self, home: HasClient, which: str) -> None:
        self.id = which
        self._home = home

    @property
    @abstractmethod
    def _noun(self) -> Waitable: ...

    @abstractmethod
    def _has_ended(self, thing: dict[str, Any]) -> bool: ...

    @abstractmethod
    def _result(self, thing: dict[str, Any]) -> R_co:
        """Of one that succeeded."""

    @abstractmethod
    def _failure(self, thing: dict[str, Any]) -> JobFailed:
        """Of one that ended otherwise."""

    def result(self, timeout: Duration | None = None) -> R_co:
        """What the task returned, or the output of the execution. Raises JobFailed, and
        ResultTimeout when it takes longer.
        """
        return run(self.aresult(timeout))

    async def aresult(self, timeout: Duration | None = None) -> R_co:
        """`result` for code that awaits; `await handle` is the same."""
        refuse_in_task(self.id)
        seconds = None if timeout is None else seconds_of(timeout)
        thing = await self._noun.wait(self.id, seconds)
        if not self._has_ended(thing):
            raise ResultTimeout(self.id, seconds or 0.0)
        if thing["state"] != "succeeded":
            raise self._failure(thing)
        return self._result(thing)

    def __await__(self) -> Generator[Any, None, R_co]:
        return self.aresult().__await__()

    def state(self) -> str:
        """Of a job one of: blocked queued running succeeded dead cancelled expired skipped; of an
        execution: pending running paused succeeded failed cancelled.
        """
        return run(self.astate())

    async def astate(self) -> str:
        """`state` for code that awaits."""
        state: str = (await self._noun.get(self.id))["state"]
        return state

    def why(self) -> dict[str, Any]:
        """What holds a job back, since when, and when it is expected to start; which of its jobs
        an execution waits for, and why those wait.
        """
        return run(self.awhy())

    async def awhy(self) -> dict[str, Any]:
        """`why` for code that awaits."""
        return await self._noun.why(self.id)

    def cancel(self) -> None:
        """A job that runs is asked to stop, which takes its time."""
        run(self.acancel())

    async def acancel(self) -> None:
        """`cancel` for code that awaits."""
        await self._noun.cancel(self.id)

    async def aended(self, seconds: float) -> bool:
        """Whether it has ended, after a wait of at most so long."""
        return self._has_ended(await self._noun.wait(self.id, seconds))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyHandle) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)


class Handle(AnyHandle[R_co]):
    """The handle of one job: `id` is the job's; `read` makes its result of what JSON gave."""

    __slots__ = ("_read",)

    def __init__(self, home: HasClient, job_id: str, read: Callable[[Any], R_co]) -> None:
        super().__init__(home, job_id)
        self._read = read

    @property
    def _noun(self) -> Waitable:
        return self._home.client.jobs

    def _has_ended(self, thing: dict[str, Any]) -> bool:
        return is_terminal(thing["state"])

    def _result(self, thing: dict[str, Any]) -> R_co:
        return self._read(thing["result"])

    def _failure(self, thing: dict[str, Any]) -> JobFailed:
        return failure_of(thing)

    def retry(self) -> None:
        """Again, after it has ended; at once, if it waits for its next try."""
        run(self.aretry())

    async def aretry(self) -> None:
        """`retry` for code that awaits."""
        await self._home.client.jobs.retry(self.id)

    def hint(self) -> None:
        """Tell the nodes of a job that was enqueued in a transaction, after its commit: they look
        for it now. Returns at once and raises nothing, in async code too.
        """
        from windlass.sdk.tasks.commit_hints import hint

        hint(self._home, [self.id])

    def progress(self) -> dict[str, Any] | None:
        """What the task last said of it; None if it said nothing."""
        return run(self.aprogress())

    async def aprogress(self) -> dict[str, Any] | None:
        """`progress` for code that awaits."""
        job = await self._home.client.jobs.get(self.id)
        progress: dict[str, Any] | None = job.get("progress")
        return progress

    def logs(self) -> list[dict[str, Any]]:
        """What the task logged, oldest first."""
        return run(self.alogs())

    async def alogs(self) -> list[dict[str, Any]]:
        """`logs` for code that awaits."""
        return [line async for line in self._home.client.jobs.logs(self.id)]


class Handles(Sequence[Handle[R_co]], Generic[R_co]):
    """The handles of the jobs of one `map`, in the order of its items.

    A handle is made when it is asked for: ten thousand of them are seldom looked at.
    """

    __slots__ = ("_home", "_read", "ids")

    def __init__(self, home: HasClient, ids: list[str], read: Callable[[Any], R_co]) -> None:
        self.ids = ids
        self._home, self._read = home, read

    @overload
    def __getitem__(self, index: int) -> Handle[R_co]: ...

    @overload
    def __getitem__(self, index: slice) -> Handles[R_co]: ...

    def __getitem__(self, index: int | slice) -> Handle[R_co] | Handles[R_co]:
        if isinstance(index, slice):
            return Handles(self._home, self.ids[index], self._read)
        return Handle(self._home, self.ids[index], self._read)

    def __len__(self) -> int:
        return len(self.ids)

    def hint(self) -> None:
        """Tell the nodes of them, as `Handle.hint` does of one."""
        from windlass.sdk.tasks.commit_hints import hint

        hint(self._home, self.ids)

    def results(self, timeout: Duration | None = None) -> list[R_co]:
        """What each returned, in their order. Raises JobFailed as soon as one has failed."""
        return run(self.aresults(timeout))

    async def aresults(self, timeout: Duration | None = None) -> list[R_co]:
        """`results` for code that awaits."""
        from windlass.sdk.tasks.waiting import results_of

        return await results_of(self, timeout)

    def __repr__(self) -> str:
        return f"<Handles of {len(self.ids)} jobs>"


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Blocks until it has ended, on a loop beside the caller's."""
    # Late: asyncio alone would take up most of what `import windlass` may cost.
    from windlass.sdk.http import portal

    return portal.run(coroutine)


def refuse_in_task(waited_for: str) -> None:
    if current.get() is not None:
        raise WouldDeadlock(waited_for)


def failure_of(job: dict[str, Any]) -> JobFailed:
    """Of a job that ended otherwise than it should."""
    error = job.get("error") or {}
    said = {
        "cancelled": "it was cancelled",
        "expired": "its deadline passed before it could start, or start again",
        "skipped": "what it waited for did not succeed",
    }
    return failure_from(
        error,
        job_id=job["id"],
        state=job["state"],
        cause=error.get("cause") or job.get("cause") or job["state"],
        message=error.get("message") or said.get(job["state"], "nothing more is known"),
    )
