"""DNS: from a receiver's name to the addresses it may be reached at.

Only the system's own lookup knows hosts files, search domains and name servers, and it blocks. So
it runs in daemon threads of our own (a lookup that hangs holds up neither other work in threads nor
the end of the process), at most one for a name at a time, and whoever waits stops waiting at a
deadline. A hung name keeps its one thread. When every thread is held, further names wait for one,
and those that get none before the deadline fail and say which names are in the way.

Promises: every answer is judged, and one that is forbidden refuses the name altogether: somebody
who mixes public and private answers means no good. Where an exception of the operator names some of
the answers, these alone are used: `localhost` is also ::1, and whoever opened 127.0.0.0/8 meant it.
"""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from windlass import limits
from windlass.strategies.http.net.egress import Egress

# Called like socket.getaddrinfo and answers like it.
Lookup = Callable[..., Sequence[tuple[Any, Any, Any, Any, tuple[Any, ...]]]]
# One address as that gives it: family, type, protocol, its other name (none), address and port.
AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]
# Addresses, or why there are none.
LookupAnswer = tuple[str, ...] | str

# The system stops reading at a NUL, and some at a space: what it would look up is then not the name
# that was judged.
_NAME: Final = re.compile(r"[a-z0-9._-]+", re.ASCII | re.IGNORECASE)


class LocalShortage(str):
    """Why a lookup failed, and it was this node that lacked something: the name may be fine."""

    __slots__ = ()


class LookupFailed(OSError):
    """A name did not lead to an address."""

    def __init__(self, host: str, why: str) -> None:
        self.host, self.why = host, why
        super().__init__(errno.EHOSTUNREACH, f"no address for {host}: {why}")

    def __str__(self) -> str:
        return str(self.strerror)


class LookupTimedOut(LookupFailed):
    """The deadline came before an answer."""

    def __init__(self, host: str, why: str, after_seconds: float) -> None:
        self.after_seconds = after_seconds
        super().__init__(host, why)


@dataclass(slots=True, kw_only=True)
class _Flight:
    """One lookup, and everybody who waits for it."""

    began_at: float
    has_thread: bool = False
    task: asyncio.Task[LookupAnswer] = field(init=False)


class Resolver:
    def __init__(
        self,
        egress: Egress,
        lookup: Lookup = socket.getaddrinfo,
        *,
        seconds_max: float = limits.DNS_SECONDS_MAX,
        threads_max: int = limits.DNS_THREADS_MAX,
        kept_seconds: float = limits.DNS_KEPT_SECONDS,
    ) -> None:
        self._egress = egress
        self._lookup = lookup
        self._seconds_max = seconds_max
        self._threads_max = threads_max
        self._kept_seconds = kept_seconds
        self._loop = asyncio.get_running_loop()
        self._free_threads = asyncio.Semaphore(threads_max)
        self._flights: dict[str, _Flight] = {}
        self._kept: dict[str, tuple[float, LookupAnswer]] = {}  # until when, what

    async def resolve(self, host: str, port: int) -> list[AddressInfo]:
        """Where `host` may be reached. Raises LookupFailed and EgressRefused."""
        answer = await self._answer(host)
        if isinstance(answer, str):
            raise LookupFailed(host, answer)
        # What an operator has opened is meant; beside it, what else the name has is not needed.
        answer = tuple(one for one in answer if self._egress.is_opened(host, one)) or answer
        for address in answer:
            self._egress.check(host, address)
        return [address_info(address, port) for address in answer]

    async def close(self) -> None:
        """Let go of every lookup; a thread that hangs in one ends with the process."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, host: str) -> LookupAnswer:
        until, answer = self._kept.get(host, (0.0, ""))
        if self._loop.time() < until:
            return answer
        flight = self._flights.get(host) or self._begin(host)
        # Counted from when the lookup began: for a name that hangs nobody waits a second time.
        left_seconds = flight.began_at + self._seconds_max - self._loop.time()
        if left_seconds > 0:
            await asyncio.wait([flight.task], timeout=left_seconds)
        if not flight.task.done():
            raise LookupTimedOut(host, self._why_late(flight), self._seconds_max)
        return "the connection pool was closed" if flight.task.cancelled() else flight.task.result()

    def _begin(self, host: str) -> _Flight:
        if len(self._flights) >= limits.DNS_NAMES_MAX:
            raise LookupFailed(
                host, f"{len(self._flights)} other names are being looked up; try again later"
            )
        flight = self._flights[host] = _Flight(began_at=self._loop.time())
        # A task of its own: a caller that is cancelled leaves the others their answer.
        flight.task = self._loop.create_task(self._fly(host, flight))
        return flight

    async def _fly(self, host: str, flight: _Flight) -> LookupAnswer:
        try:
            async with self._free_threads:
                if self._loop.time() >= flight.began_at + self._seconds_max:
                    return self._why_late(flight)  # nobody waits any more
                flight.has_thread = True
                answer = await self._in_thread(host)
        finally:
            del self._flights[host]
        self._keep(host, answer)
        return answer

    def _in_thread(self, host: str) -> asyncio.Future[LookupAnswer]:
        future: asyncio.Future[LookupAnswer] = self._loop.create_future()

        def tell(answer: LookupAnswer) -> None:
            if not future.done():
                future.set_result(answer)

        def run() -> None:
            answer = _look_up(self._lookup, host)
            try:
                self._loop.call_soon_threadsafe(tell, answer)
            except RuntimeError:
                pass  # the loop is closed; nobody waits any more

        try:
            threading.Thread(target=run, name="windlass-lookup", daemon=True).start()
        except RuntimeError as trouble:
            tell(LocalShortage(f"the lookup got no thread: {trouble}"))
        return future

    def _keep(self, host: str, answer: LookupAnswer) -> None:
        seconds = self._kept_seconds
        if isinstance(answer, str):
            seconds = min(seconds, limits.DNS_FAILURE_KEPT_SECONDS)
        self._kept.pop(host, None)  # the newest last, so that the first is the oldest
        self._kept[host] = (self._loop.time() + seconds, answer)
        if len(self._kept) > limits.DNS_NAMES_KEPT_MAX:
            del self._kept[next(iter(self._kept))]

    def _why_late(self, flight: _Flight) -> str:
        if flight.has_thread:
            return f"the lookup did not end within {self._seconds_max:g} s"
        busy = [host for host, other in self._flights.items() if other.has_thread]
        return (
            f"the lookup could not begin within {self._seconds_max:g} s: all {self._threads_max} "
            f"threads wait for other names, such as {', '.join(busy[:3])}; is the name server up?"
        )


def address_info(address: str, port: int) -> AddressInfo:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port)


def _look_up(lookup: Lookup, host: str) -> LookupAnswer:
    if not _NAME.fullmatch(host):
        return "a name has letters, digits, dots, hyphens and underscores"
    try:
        found = lookup(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except OSError as trouble:
        return _local_shortage() or trouble.strerror or str(trouble)
    except Exception as trouble:  # a label that is empty or too long is a UnicodeError
        return f"{type(trouble).__name__}: {trouble}"
    answer = tuple(dict.fromkeys(_address(sockaddr) for *_, sockaddr in found))
    if len(answer) > limits.DNS_ANSWERS_MAX:
        return f"{len(answer)} addresses; at most {limits.DNS_ANSWERS_MAX} are taken"
    return answer or "the answer is empty"


def _local_shortage() -> LocalShortage | None:
    """The system says of a name that it cannot be found for now when it has no socket to ask by."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    except OSError as trouble:
        return LocalShortage(trouble.strerror or str(trouble))
    return None


def _address(sockaddr: tuple[Any, ...]) -> str:
    """The address, with its zone: one without it is another address."""
    host, zone = str(sockaddr[0]), sockaddr[3] if len(sockaddr) > 3 else 0
    return f"{host}%{zone}" if zone and "%" not in host else host
