"""One step of a workflow that is being traced: what the function holds in its hands."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Never, Self, TypeAlias, TypeVar

from windlass.model.workflow.definition import When
from windlass.sdk.workflow.cannot_trace import CannotTrace, where
from windlass.sdk.workflow.value import Value

if TYPE_CHECKING:
    from windlass.sdk.workflow.block import Switch
    from windlass.sdk.workflow.trace import Trace

R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class End:
    """An end of a step that another waits for."""

    step: Step[Any]
    when: When | None  # None: it succeeded, or it was never its turn


After: TypeAlias = "Step[Any] | End | Iterable[Step[Any] | End] | None"


class Step(Generic[R_co]):
    """A step of the workflow that is traced; `out` is what it will give."""

    def __init__(
        self,
        trace: Trace,
        wish: str,
        body: Mapping[str, Any],
        *,
        after: Iterable[End] = (),
        join: int | str | None = None,
        is_named: bool = False,
    ) -> None:
        self.trace, self.body = trace, dict(body)
        self.id = wish if is_named else trace.free_id(wish)
        self.title: str | None = None
        self.block = trace.block
        self.after_ends, self.join = list(after), join
        self.undo_body: dict[str, Any] | None = None
        self.switch: Switch | None = None  # of kind switch alone
        self.file, self.line = where()
        self._is_used = False
        self.position = 0
        if is_named:
            self._check_free(wish)
        trace.add(self)

    @property
    def out(self) -> Value:
        """Its output, when it has one."""
        return self._part("output")

    @property
    def state(self) -> Value:
        """The state of its job: 'succeeded', 'dead', 'skipped' …"""
        return self._part("state")

    @property
    def error(self) -> Value:
        """Why it failed: error["message"], error["cause"]."""
        return self._part("error")

    @property
    def failed(self) -> End:
        """For `after=`: only when it failed, which is then foreseen and fails nothing else."""
        return End(self, "failed")

    @property
    def ended(self) -> End:
        """For `after=`: however it ended."""
        return End(self, "ended")

    @property
    def skipped(self) -> End:
        """For `after=`: only when it was skipped."""
        return End(self, "skipped")

    @property
    def succeeded(self) -> End:
        """For `after=`: only when it ran and succeeded, wherever it stands."""
        return End(self, "succeeded")

    def named(self, id: str, title: str | None = None) -> Self:  # noqa: A002
        """With an id of your own. Written at once: `charge.step(order).named("pay")`."""
        if self._is_used:
            raise CannotTrace(f"{self.id} was used already; name a step where it is made")
        if id != self.id:
            self._check_free(id)
        self.id, self.title = id, title or self.title
        return self

    def after(self, *steps: Step[Any] | End) -> Self:
        """Waits for these as well."""
        self.after_ends += afters_of(steps)
        for end in self.after_ends:
            if end.step.position >= self.position:
                raise CannotTrace(f"{self.id} waits for {end.step.id}; write that one first")
        return self

    def undo(self, work: Any, *args: Any, **kwargs: Any) -> Self:
        """What takes it back when the workflow fails later: a task with its arguments, or work."""
        from windlass.sdk.workflow.work import inner_of

        if self.undo_body is not None:
            raise CannotTrace(f"{self.id} has an undo already")
        self.undo_body = inner_of(work, args, kwargs)
        return self

    def _part(self, name: str) -> Value:
        self._is_used = True
        return Value(f"steps.{self.id}.{name}")

    def _check_free(self, wish: str) -> None:
        if any(step.id == wish for step in self.trace.steps if step is not self):
            raise CannotTrace(f"there is a step {wish} already; give this one another name")

    def __await__(self) -> Generator[Any, None, R_co]:
        raise CannotTrace(
            f"{self.id} is a step of a workflow, which is traced and not run; leave out the await, "
            "or write the whole as @app.durable"
        )

    def __getitem__(self, key: object) -> Never:
        raise CannotTrace(f"write .out[{key!r}]: the step itself is not its output")

    def __bool__(self) -> Never:
        raise CannotTrace(
            f"whether {self.id} succeeds is known only when the workflow runs; write after="
        )

    def __iter__(self) -> Never:
        raise CannotTrace(f"write task.map({self.id}.out) to do something with each of its results")

    def __repr__(self) -> str:
        return f"<step {self.id}>"


def afters_of(given: After) -> list[End]:
    match given:
        case None:
            return []
        case Step():
            return [End(given, None)]
        case End():
            return [given]
        case list() | tuple() | set():
            return [end for one in given for end in afters_of(one)]
        case _:
            raise CannotTrace(f"after={given!r}: give the step itself, as x in x = task.step(…)")


Each: TypeAlias = Callable[..., object]
