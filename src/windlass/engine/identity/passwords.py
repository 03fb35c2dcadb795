"""Passwords: Argon2id, off the event loop, a bounded number at a time.

Owns: the threads that hash, and the hash that a user who does not exist is compared with.
Promises: a node hashes PASSWORDS_AT_ONCE at a time and lets PASSWORDS_WAITING_MAX wait, whoever
asks; the others are told so at once. To compare takes as long for a user who is not there, or who
has no password, as for one who is.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import ClassVar, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from windlass.errors import Unavailable
from windlass.limits import (
    PASSWORD_MEMORY_KIB,
    PASSWORD_ROUNDS,
    PASSWORDS_AT_ONCE,
    PASSWORDS_WAITING_MAX,
)
from windlass.model.identity.account import normal_password

T = TypeVar("T")


class PasswordsBusy(Unavailable):
    """So many log in at once that another has to wait; nothing was compared yet."""

    code = "too_many_logins_at_once"
    retry_after_seconds: ClassVar[int] = 2

    def __init__(self) -> None:
        super().__init__("too many passwords are compared at once; try again in a moment")


class Passwords:
    def __init__(self) -> None:
        # Its threads are made when somebody first logs in.
        self._threads = ThreadPoolExecutor(PASSWORDS_AT_ONCE, "passwords")
        self._turn = asyncio.Semaphore(PASSWORDS_AT_ONCE)
        self._waiting = 0

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """For who compares or hashes one: inside, there is a thread for it. Raises PasswordsBusy.

        It is taken before anything else is done for a stranger, so that whatever logging in costs
        is bounded, the database's part too.
        """
        if self._waiting >= PASSWORDS_WAITING_MAX:
            raise PasswordsBusy
        self._waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._turn.release()

    async def hash(self, password: str) -> str:
        """Its hash, with parameters and salt."""
        async with self.turn():
            return await self.hash_in_turn(password)

    async def hash_in_turn(self, password: str) -> str:
        return await self._run(lambda: self._hasher.hash(_bytes(password)))

    async def compare(self, password: str, hashed: str | None) -> bool:
        """Is it this one? To be asked in one's turn. None: there is no such user, or no password;
        that takes as long.
        """
        return await self._run(lambda: self._compare(_bytes(password), hashed))

    def is_dated(self, hashed: str | None) -> bool:
        """Was it hashed with less work than is done today?"""
        return hashed is not None and self._hasher.check_needs_rehash(hashed)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    @cached_property
    def _hasher(self) -> PasswordHasher:
        return PasswordHasher(
            time_cost=PASSWORD_ROUNDS, memory_cost=PASSWORD_MEMORY_KIB, parallelism=1
        )

    @cached_property
    def _nobodys(self) -> str:
        return self._hasher.hash("nobody has this password")

    def _compare(self, password: bytes, hashed: str | None) -> bool:
        nobodys = self._nobodys  # made before, so that the first stranger learns nothing either
        try:
            self._hasher.verify(nobodys if hashed is None else hashed, password)
        except (VerificationError, InvalidHashError):
            return False
        return hashed is not None

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _bytes(password: str) -> bytes:
    """Whatever was typed, also what is no text: then it is nobody's."""
    return normal_password(password).encode("utf-8", "surrogatepass")
