"""Connection limits of a node: how many there may be, and who has to go when there are more.

Owns: who is connected. There is a limit in all and one for each address, so that one
caller cannot take them all (a trusted proxy is no one caller: it may); a share of the process's
descriptors is never given to callers, so that a node whose door is besieged still opens its files
and reaches PostgreSQL.
Promises: a connection that does nothing never keeps one out that has something to ask. Where all
are taken, one that has not said anything yet goes first, then one that rests between two
requests; only when all are at work the newcomer is refused.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final, Protocol

from windlass.limits import (
    CONNECTIONS_ADDRESS_SHARE,
    CONNECTIONS_DESCRIPTORS_SHARE,
    CONNECTIONS_MAX,
    DESCRIPTORS_WANTED,
)


class Droppable(Protocol):
    """What is known here of a connection."""

    @property
    def address(self) -> str: ...
    @property
    def is_of_proxy(self) -> bool:
        """Many callers share it, as they share the proxy's address."""

    def drop(self) -> None:
        """Close it at once."""

    def look(self, now: float) -> None:
        """End it if it is overdue."""


class _Address:
    """The connections of one caller, by what they do, longest first."""

    __slots__ = ("at_work", "resting", "silent")

    def __init__(self) -> None:
        self.silent: dict[Droppable, None] = {}
        self.resting: dict[Droppable, None] = {}
        self.at_work: dict[Droppable, None] = {}

    def __len__(self) -> int:
        return len(self.silent) + len(self.resting) + len(self.at_work)

    def spare(self) -> Droppable | None:
        """The one that is missed least; None: all are at work."""
        return next(iter(self.silent), None) or next(iter(self.resting), None)


class Connections:
    def __init__(
        self,
        most: int,
        # Hears why a connection or a request was refused before it reached the API.
        on_refused: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        self._most = max(2, most)
        self._of_address = max(1, int(self._most * CONNECTIONS_ADDRESS_SHARE))
        self._addresses: dict[str, _Address] = {}
        self._count = 0
        self.on_refused = on_refused

    def __len__(self) -> int:
        return self._count

    def enter(self, connection: Droppable) -> bool:
        """Take it in; another one goes for it if need be. False: none can."""
        its = self._addresses.get(connection.address)
        most = self._most if connection.is_of_proxy else self._of_address
        if its is not None and len(its) >= most:
            if not self._make_room(its):
                return False
        elif self._count >= self._most and not self._make_room(self._fullest()):
            return False
        self._addresses.setdefault(connection.address, _Address()).silent[connection] = None
        self._count += 1
        return True

    def works(self, connection: Droppable) -> None:
        """It has sent a request."""
        its = self._addresses.get(connection.address)
        if its is not None:
            its.silent.pop(connection, None)
            its.resting.pop(connection, None)
            its.at_work[connection] = None

    def rests(self, connection: Droppable) -> None:
        """Its requests are answered."""
        its = self._addresses.get(connection.address)
        if its is not None and its.at_work.pop(connection, connection) is None:
            its.resting[connection] = None

    def leave(self, connection: Droppable) -> None:
        """It is closed, or as good as closed. More than once does no harm."""
        its = self._addresses.get(connection.address)
        if its is None:
            return
        for some in (its.silent, its.resting, its.at_work):
            if some.pop(connection, connection) is None:
                self._count -= 1
        if not len(its):
            del self._addresses[connection.address]

    def look(self, now: float) -> None:
        """End those that are overdue."""
        for its in list(self._addresses.values()):
            for connection in [*its.silent, *its.resting, *its.at_work]:
                connection.look(now)

    def drop_silent(self) -> None:
        """Those that have not asked anything yet."""
        for its in list(self._addresses.values()):
            for connection in list(its.silent):
                self.leave(connection)
                connection.drop()

    def _fullest(self) -> _Address | None:
        """Of the addresses that have one to spare, the one that has most."""
        spared: Iterable[_Address] = (a for a in self._addresses.values() if a.spare() is not None)
        return max(spared, key=len, default=None)

    def _make_room(self, its: _Address | None) -> bool:
        spare = its.spare() if its is not None else None
        if spare is None:
            return False
        self.on_refused("displaced")
        self.leave(spare)
        spare.drop()
        return True


def address_of(client: str) -> str:
    """Whose connection it is: of IPv6 the network, because one caller has all addresses in it."""
    if ":" not in client:
        return client
    address = ip_address(client.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(ip_network((address, 64), strict=False))
    return str(getattr(address, "ipv4_mapped", address))


_NEVER_ENDING: Final = resource.RLIM_INFINITY


def places() -> int:
    """How many connections this process may have, by its descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == _NEVER_ENDING:
        return CONNECTIONS_MAX
    return min(CONNECTIONS_MAX, int(soft * CONNECTIONS_DESCRIPTORS_SHARE))


def ask_for_descriptors() -> None:
    """As many as a node may need, as far as the system lets it have them.

    For a process that is a node and nothing else. The usual 1,024 are there for programs that use
    select(2), and nothing here does.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_WANTED if hard == _NEVER_ENDING else min(DESCRIPTORS_WANTED, hard)
    if soft != _NEVER_ENDING and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
