"""A principal: a caller that was recognised, and what it may do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from windlass.errors import Forbidden
from windlass.model.identity.quota import SubjectQuota
from windlass.model.identity.rights import ROLES, Role, rights_of, roles_with

PrincipalKind = Literal["user", "key", "program", "anonymous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    kind: PrincipalKind
    id: str  # user_…, key_…; of a program its name
    name: str
    role: Role | None  # None: it has the rights of its scopes
    rights: frozenset[str]
    # Who has neither is not confined. Else what it submits to, starts, reads and changes is in one.
    queues: tuple[str, ...] | None = None
    workflows: tuple[str, ...] | None = None
    user_id: UUID | None = None  # None: it belongs to no user
    credential_id: UUID | None = None  # of the key or the session; None: it showed neither
    expires_at: datetime | None = None  # None: never
    must_change_password: bool = False
    quotas: tuple[SubjectQuota, ...] = ()  # it is held to; empty: to none

    @property
    def is_confined(self) -> bool:
        """May it touch some queues or workflows only?"""
        return self.queues is not None or self.workflows is not None

    def check_right(self, right: str) -> None:
        """Raises Forbidden."""
        if self.must_change_password:
            raise PasswordChangeNeeded
        if right not in self.rights:
            raise MissingRight(self, right)

    def check_gives(self, rights: Collection[str]) -> None:
        """Nobody gives what he has not got, nor to whom. Raises Forbidden."""
        for right in sorted(frozenset(rights) - self.rights):
            raise MissingRight(self, right)

    def check_queue(self, queue: str) -> None:
        """Who is confined has the queues that were named, and no others. Raises Forbidden."""
        if self.is_confined and queue not in (self.queues or ()):
            raise Confined("queue", queue, self.queues or ())

    def check_workflow(self, workflow: str) -> None:
        """The same of workflows. Raises Forbidden."""
        if self.is_confined and workflow not in (self.workflows or ()):
            raise Confined("workflow", workflow, self.workflows or ())


class MissingRight(Forbidden):
    """The caller is known, and may not do this; its role or its scopes do not reach so far."""

    code = "forbidden"

    def __init__(self, principal: Principal, right: str) -> None:
        self.needs, self.roles = right, roles_with(right)
        has = f"the role {principal.role}" if principal.role is not None else "scopes without it"
        super().__init__(
            f"this needs the right {right}, which {_roles_have(self.roles)}; {principal.kind} "
            f"{principal.name!r} has {has}"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {"needs": self.needs, "roles": self.roles}


class PasswordChangeNeeded(Forbidden):
    """A one-time password opens nothing but its own change: `PUT /v1/session/password`."""

    code = "password_change_needed"

    def __init__(self) -> None:
        super().__init__(
            "this session was begun with a one-time password: choose your own with "
            "PUT /v1/session/password, then go on"
        )


class Confined(Forbidden):
    """The key is good for some queues or workflows only, and this is none of them."""

    code = "confined"

    def __init__(self, noun: str, name: str | None, allowed: Collection[str]) -> None:
        self.noun, self.name, self.allowed = noun, name, sorted(allowed)
        shown = ", ".join(self.allowed[:10])
        super().__init__(
            f"this key is good for {noun} {shown or '(none)'} only"
            + (f", not for {name!r}" if name is not None else ", and this asks for more")
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {"noun": self.noun, "name": self.name, "allowed": self.allowed}


def _roles_have(roles: Sequence[str]) -> str:
    *others, last = roles
    if not others:
        return f"the role {last} has"
    return f"the roles {', '.join(others)} and {last} have"


def program(name: str) -> Principal:
    """Code of this very process: it has the database anyway, and so every right."""
    return Principal(kind="program", id=name, name=name, role="admin", rights=rights_of("admin"))


# Everybody, where the owner switched authentication off.
ANONYMOUS: Final = Principal(
    kind="anonymous", id="anonymous", name="anonymous", role=ROLES[-1], rights=rights_of(ROLES[-1])
)
