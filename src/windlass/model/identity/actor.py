"""The actor: who is doing what is done just now. For the audit log (audit trail).

Whoever lets somebody act says so for as long as it lasts: the API's door of each request, the
leader of its duties, the command line of what it does beside the API. What is done then finds the
actor here, however deep below, without being handed it. Tasks that are begun meanwhile inherit it,
as they do with every context variable: what serves several callers at once must be handed it.

Promises: to say who acts costs no more than a call; the actor is put together when it is asked for,
and of most requests nobody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Final, Literal, get_args
from uuid import UUID

from windlass.model.identity.principal import Principal

ActorKind = Literal[
    "user", "key", "program", "anonymous", "leader", "sweep", "schedule", "node", "cli"
]
ACTOR_KINDS: Final[tuple[ActorKind, ...]] = get_args(ActorKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    kind: ActorKind
    name: str
    id: str | None = None  # user_…, key_…, sch_…, node_…; None: it has only a name
    credential_id: UUID | None = None  # of the key or the session; None: it showed neither
    address: str | None = None  # whose connection it was; None: it came by none
    request_id: str | None = None  # None: nobody asked by way of the API
    node_id: UUID | None = None  # of the node where it is done; None: on none


WhoActs = Callable[[], Actor]


def _unknown() -> Actor:
    """What a node does by itself, in no duty that has a name."""
    return Actor(kind="node", name="node")


_WHO: Final[ContextVar[WhoActs]] = ContextVar("windlass.actor", default=_unknown)


def acting() -> Actor:
    """Who acts now."""
    return _WHO.get()()


def begin_acting(who: WhoActs) -> Token[WhoActs]:
    """For `end_acting`, in the same context. Of a single block: `acting_as`."""
    return _WHO.set(who)


def end_acting(token: Token[WhoActs]) -> None:
    _WHO.reset(token)


@contextmanager
def acting_as(who: WhoActs | Actor) -> Iterator[None]:
    token = _WHO.set((lambda: who) if isinstance(who, Actor) else who)
    try:
        yield
    finally:
        _WHO.reset(token)


def caller_as_actor(
    principal: Principal | None, *, address: str, request_id: str, node_id: UUID | None
) -> Actor:
    """`principal` None: nobody asked who it is, as of somebody who is about to log in."""
    return Actor(
        kind="anonymous" if principal is None else principal.kind,
        id=None if principal is None else principal.id,
        name="anonymous" if principal is None else principal.name,
        credential_id=None if principal is None else principal.credential_id,
        address=address or None,
        request_id=request_id,
        node_id=node_id,
    )


def machine(kind: ActorKind, node_id: UUID | None, name: str | None = None) -> Actor:
    """What a node does by itself: as the leader, while it sweeps, or just so."""
    shown = None if node_id is None else f"node_{node_id.hex}"
    return Actor(kind=kind, id=shown, name=name or kind, node_id=node_id)
