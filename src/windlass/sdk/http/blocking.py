"""What is asynchronous, for callers that wait: one implementation, seen from two sides.

    class BlockingJobs(Blocks[Jobs]):
        get = Blocking(Jobs.get)        # Jobs.get is a coroutine; this one returns what it returns
        list = Listed(Jobs.list)        # pages become an iterator

A type checker sees the parameters and the result of the method that stands behind.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from windlass.sdk.http.api_object import ApiObject
from windlass.sdk.http.paging import Pages
from windlass.sdk.http.portal import run

P = ParamSpec("P")
T = TypeVar("T")
N = TypeVar("N")
Obj = TypeVar("Obj", bound=ApiObject)


class Blocks(Generic[N]):
    """The blocking side of something."""

    def __init__(self, inner: N) -> None:
        self.inner = inner


class Blocking(Generic[P, T]):
    """A method that is waited for."""

    def __init__(self, method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        self.method = method

    def __get__(self, instance: Blocks[Any], owner: object = None) -> Callable[P, T]:
        @functools.wraps(self.method)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return run(self.method(instance.inner, *args, **kwargs))

        return call


class Listed(Generic[P, Obj]):
    """A list that is read a page at a time."""

    def __init__(self, method: Callable[Concatenate[Any, P], Pages[Obj]]) -> None:
        self.method = method

    def __get__(
        self, instance: Blocks[Any], owner: object = None
    ) -> Callable[P, BlockingPages[Obj]]:
        @functools.wraps(self.method)
        def call(*args: P.args, **kwargs: P.kwargs) -> BlockingPages[Obj]:
            return BlockingPages(self.method(instance.inner, *args, **kwargs))

        return call


class Streamed(Generic[P, T]):
    """Something without an end; whoever closes the generator ends it."""

    def __init__(self, method: Callable[Concatenate[Any, P], AsyncGenerator[T]]) -> None:
        self.method = method

    def __get__(self, instance: Blocks[Any], owner: object = None) -> Callable[P, Generator[T]]:
        @functools.wraps(self.method)
        def call(*args: P.args, **kwargs: P.kwargs) -> Generator[T]:
            return _each(self.method(instance.inner, *args, **kwargs))

        return call


class BlockingPages(Generic[Obj]):
    """The things of one list, a page at a time as they are asked for."""

    def __init__(self, pages: Pages[Obj]) -> None:
        self._pages = pages

    def __iter__(self) -> Iterator[Obj]:
        while not self._pages.is_over:
            yield from run(self._pages.next_page())

    def all(self) -> list[Obj]:
        """Read all of them into a list."""
        return list(self)


def _each(source: AsyncGenerator[T]) -> Generator[T]:
    try:
        while (found := run(_next(source))) is not None:
            yield found[0]
    finally:
        run(source.aclose())


async def _next(source: AsyncGenerator[T]) -> tuple[T] | None:
    """The next one alone in a tuple; None: there is none."""
    try:
        return (await anext(source),)
    except StopAsyncIteration:
        return None
