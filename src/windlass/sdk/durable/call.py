"""What is given to `step`: a function or a task, with its arguments.

Its result is what JSON made of it, the first time as well as when it is played again: a function
never sees one type today and another after a crash.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import Any, Final

import msgspec

from windlass.chance import chance
from windlass.errors import InvalidArguments
from windlass.limits import CHECKPOINT_NAME_CHARS_MAX, RESULT_BYTES_MAX
from windlass.model.job.retry import DEFAULT, read_retry, rest_seconds
from windlass.sdk.tasks.codec import Codec, Unusable
from windlass.sdk.tasks.options import Retry
from windlass.sdk.tasks.type_hints import hints_of, signature_of

THREADS_MAX: Final = 256
CODECS_MAX: Final = 4_096

# A step runs here: what it does is done as a whole, and holds no steps of its own.
inside: ContextVar[bool] = ContextVar("windlass_inside_step", default=False)


class UnusableResult(InvalidArguments):
    """A step gave what its function does not say that it returns, or what cannot be kept. Its code
    is the cause that a task's job fails with for the same.
    """

    def __init__(self, step: str, detail: str, *, code: str = "result_unusable") -> None:
        super().__init__(task=step, parameter=None, detail=detail)
        self.code = code

    def __str__(self) -> str:
        return f"step {self.task!r}: {self.detail}"


class Call:
    __slots__ = ("_args", "_codec", "_function", "_kwargs", "_retry", "name")

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        *,
        name: str | None = None,
        retry: Retry | None = None,
    ) -> None:
        """`function` may be a task: it is called here and now, and makes no job."""
        plain: Callable[..., Any] = getattr(function, "function", function)
        self.name = _checked(name or _name_of(function))
        self._function = getattr(function, "stand_in", None) or plain
        self._args, self._kwargs = args, kwargs
        self._retry = retry
        self._codec = _codec_of(plain)

    async def perform(self) -> str | None:
        """Its result as JSON; None: it gave nothing."""
        token = inside.set(True)
        try:
            return self._encode(await self._try())
        finally:
            inside.reset(token)

    def decode(self, result_json: str | None) -> Any:
        if result_json is None:
            return None
        try:
            return self._codec.decode(msgspec.json.decode(result_json))
        except Unusable as trouble:
            # It was stored by code that said otherwise what it gives.
            said = f"its result was stored and does not fit any more: {trouble}"
            raise UnusableResult(self.name, said) from None

    async def _try(self) -> Any:
        if self._retry is None:
            return await self._call()
        policy, _ = read_retry(self._retry.to_json(), DEFAULT)
        tries = 0
        while True:
            tries += 1
            try:
                return await self._call()
            except Exception:
                rest = rest_seconds(policy, tries, chance())
                if rest is None:
                    raise
            await asyncio.sleep(rest)

    async def _call(self) -> Any:
        if inspect.iscoroutinefunction(self._function):
            return await self._function(*self._args, **self._kwargs)
        context = copy_context()
        call = functools.partial(context.run, self._function, *self._args, **self._kwargs)
        value = await asyncio.get_running_loop().run_in_executor(_threads(), call)
        return await value if inspect.isawaitable(value) else value

    def _encode(self, value: Any) -> str | None:
        try:
            # Nothing is a result as well: a function that says it gives text has to.
            written = self._codec.encode(value)
        except Unusable as trouble:
            said = f"its result is not what it says that it returns: {trouble}"
            raise UnusableResult(self.name, said) from None
        if len(written) > RESULT_BYTES_MAX:
            said = f"its result has {len(written)} bytes; at most {RESULT_BYTES_MAX} are kept"
            raise UnusableResult(self.name, said, code="result_too_large")
        return None if value is None else written.decode()


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    named = getattr(function, "name", None) or getattr(function, "__name__", None)
    return named if isinstance(named, str) else type(function).__name__


def _checked(name: str) -> str:
    if not 1 <= len(name) <= CHECKPOINT_NAME_CHARS_MAX or not name.isprintable():
        raise ValueError(
            f"a step's name must have 1 to {CHECKPOINT_NAME_CHARS_MAX} printable characters"
        )
    return name


def _codec_of(function: Callable[..., Any]) -> Codec:
    """Of what it returns. By its code: a function made anew for each call is the same to us.

    By the code within, as the hint is read there: a decorator's own is that of all it decorates.
    """
    inner = inspect.unwrap(function)
    return _known_codec(getattr(inner, "__code__", inner), _Holder(function))


class _Holder:
    """Hands the function past the cache: the code alone decides what is the same."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Holder)

    def __hash__(self) -> int:
        return 0


@functools.lru_cache(maxsize=CODECS_MAX)
def _known_codec(key: object, holder: _Holder) -> Codec:
    function = holder.function
    return Codec(hints_of(function, signature_of(function))["return"])


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """Of our own: the loop's few would let a slow step stand in the way of all others."""
    return ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="windlass step")
