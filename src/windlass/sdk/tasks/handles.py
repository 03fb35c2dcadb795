"""The jobs of one `.map(…)`, in the order of their items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

from windlass.sdk.tasks.handle import Handle, HasClient, run
from windlass.sdk.tasks.options import Duration

R_co = TypeVar("R_co", covariant=True)


class Handles(Sequence[Handle[R_co]], Generic[R_co]):
    """A handle is made when it is asked for: ten thousand of them are seldom looked at."""

    __slots__ = ("_home", "_read", "ids")

    def __init__(self, home: HasClient, ids: list[str], read: Callable[[Any], R_co]) -> None:
        self.ids = ids
        self._home, self._read = home, read

    @overload
    def __getitem__(self, place: int) -> Handle[R_co]: ...

    @overload
    def __getitem__(self, place: slice) -> Handles[R_co]: ...

    def __getitem__(self, place: int | slice) -> Handle[R_co] | Handles[R_co]:
        if isinstance(place, slice):
            return Handles(self._home, self.ids[place], self._read)
        return Handle(self._home, self.ids[place], self._read)

    def __len__(self) -> int:
        return len(self.ids)

    def hint(self) -> None:
        """Tell the nodes of them, as `Handle.hint` does of one."""
        from windlass.sdk.tasks.hinting import hint

        hint(self._home, self.ids)

    def results(self, timeout: Duration | None = None) -> list[R_co]:
        """What each returned, in their order. Raises JobFailed as soon as one has failed."""
        return run(self.aresults(timeout))

    async def aresults(self, timeout: Duration | None = None) -> list[R_co]:
        from windlass.sdk.tasks.waiting import results_of

        return await results_of(self, timeout)

    def __repr__(self) -> str:
        return f"Handles({len(self.ids)} jobs)"
