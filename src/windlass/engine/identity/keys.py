"""API keys: made, listed, named, given quotas, rotated with an overlap, revoked.

Owns: the only statements that write keys (the first of all: engine.identity.first).
Promises: a token is shown by the call that makes it and kept nowhere, only its SHA-256. Nobody
makes a key that may do what he may not himself, and no key makes one that outlives it. A key of a
user never may more than that user may at the moment, and ends with him. Who comes with a key that
has a quota of its own makes no other key and gets no token of one, which would not be held to it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from windlass import ids
from windlass.engine.audit.record import Entry, differences, record, shown_id
from windlass.errors import Conflict, Forbidden, InvalidInput, NotFound
from windlass.limits import KEYS_OF_USER_MAX
from windlass.model.identity.account import KeyDraft, Scope, missing_of
from windlass.model.identity.principal import Principal
from windlass.model.identity.quota import NO_QUOTA, Quota, stored_quota
from windlass.model.identity.rights import rights_of
from windlass.model.json import strict as strict_json
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

KEY_PREFIX, SESSION_PREFIX = "wlk_", "wls_"
_RANDOM_BYTES: Final = 32
_BEFORE_ALL: Final = UUID(int=0)


class TooManyKeys(Conflict):
    """A user has as many keys as one may; revoke some first."""

    code = "too_many_keys"

    def __init__(self) -> None:
        super().__init__(f"you have {KEYS_OF_USER_MAX} keys; revoke one that is not used first")


class KeyHasQuota(Forbidden):
    """A key with a quota of its own makes and rotates no other key: that is not held to it."""

    code = "key_has_quota"

    def __init__(self) -> None:
        super().__init__(
            "this key has a quota of its own, so it makes no other key and rotates none but "
            "itself: log in as its user, or ask somebody who may edit keys"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """All that may be known of a key."""

    id: UUID
    name: str
    scope: Scope
    user_id: UUID | None  # None: it belongs to no user
    user_name: str | None
    created_at: datetime
    expires_at: datetime | None  # None: never
    is_expired: bool
    rotated_at: datetime | None  # None: never
    overlap_until: datetime | None  # until when its token before is good; None: there is none
    last_used_at: datetime | None  # None: never; else right to a minute
    quota: Quota  # of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeKey:
    key: ApiKey
    token: str = field(repr=False)  # nobody will show it again


def make_token(prefix: str) -> tuple[str, bytes]:
    """A fresh token of 256 bits and the hash to keep of it."""
    token = prefix + secrets.token_urlsafe(_RANDOM_BYTES)
    return token, hash_of(token.encode())


def hash_of(token: bytes) -> bytes:
    return sha256(token).digest()


async def add_key(
    database: Database, maker: Principal, draft: KeyDraft, user_id: UUID | None
) -> MadeKey:
    """For this user, or for nobody. Raises InvalidInput for what the maker has not got to give, and
    KeyHasQuota.
    """
    check_no_quota(maker)
    scope = draft.scope
    if missing := missing_of(tuple(rights_in(scope)), maker.rights):
        raise InvalidInput.at(
            "/role" if scope.role is not None else "/scopes",
            f"you cannot give what you have not got: {' '.join(missing[:10])}",
        )
    _check_confines(maker, scope)
    # Or whoever has found a key that ends tomorrow would have one that does not.
    until = maker.expires_at if maker.kind == "key" else None
    key_id = ids.uuid7()
    token, hashed = make_token(KEY_PREFIX)

    async def work(connection: Connection[Record]) -> list[Record]:
        if user_id is not None:
            await connection.fetch(statement("user_lock"), user_id)
            rows = await connection.fetch(statement("key_count"), user_id)
            if rows[0]["count"] >= KEYS_OF_USER_MAX:
                raise TooManyKeys
        made = await connection.fetch(
            statement("key_add"),
            *(key_id, hashed, draft.name, scope.role),
            *(scope.rights, scope.queues, scope.workflows, user_id, draft.expires_at),
            *(draft.expires_in_seconds, until, quota_text(draft.quota)),
        )
        if made:
            await record(connection, _made(key_id, draft, user_id))
        return made

    if not await database.ask(work):
        bound = f"by {until:%Y-%m-%dT%H:%M:%SZ}, as your own key" if until else "or null for never"
        raise InvalidInput.at("/expires_at", f"must be an instant that is not past yet, {bound}")
    return MadeKey(key=await read_key(database, key_id), token=token)


def check_no_quota(maker: Principal) -> None:
    """Who may edit keys gives his own key whatever quota he likes. Raises KeyHasQuota."""
    if "keys:edit" not in maker.rights and any(one.noun == "key" for one in maker.quotas):
        raise KeyHasQuota


def _check_confines(maker: Principal, scope: Scope) -> None:
    """Who is confined makes keys that are confined to the same, or to less."""
    if not maker.is_confined:
        return
    is_confined = scope.queues is not None or scope.workflows is not None
    for name, has, gives in (
        ("queues", maker.queues or (), scope.queues or ()),
        ("workflows", maker.workflows or (), scope.workflows or ()),
    ):
        if not is_confined or not set(gives) <= set(has):
            raise InvalidInput.at(f"/{name}", f"must be some of yours: {' '.join(has) or '(none)'}")


async def list_keys(
    database: Database, user_id: UUID | None, limit: int, after: UUID = _BEFORE_ALL
) -> list[ApiKey]:
    """Keys that were not revoked, the oldest first. `user_id` None: everybody's."""
    rows = await database.read("key_list", after, limit, user_id, None)
    return [_key(row) for row in rows]


async def read_key(database: Database, key_id: UUID, user_id: UUID | None = None) -> ApiKey:
    """`user_id` None: whoever's it is. Raises NotFound, also for what is somebody else's."""
    rows = await database.read("key_list", _BEFORE_ALL, 1, user_id, key_id)
    if not rows:
        raise NotFound("key", ids.show("key", key_id))
    return _key(rows[0])


async def change_key(
    database: Database,
    key_id: UUID,
    *,
    name: str | None,  # None: as before
    quota: Mapping[str, Any],  # what is said of it; None takes away
    user_id: UUID | None = None,
) -> ApiKey:
    """What it opens stays as it is. Raises NotFound, InvalidInput."""

    async def work(connection: Connection[Record]) -> None:
        rows = await connection.fetch(statement("key_lock"), key_id, user_id)
        if not rows:
            raise NotFound("key", ids.show("key", key_id))
        before = quota_in(rows[0]["quota"])
        after = before.changed(quota)
        await connection.fetch(statement("key_change"), key_id, name, quota_text(after))
        await restart_count(connection, key_id, before, after)
        old_name = rows[0]["name"]
        was, becomes = differences(
            {"name": old_name, "quota": before.given},
            {"name": name or old_name, "quota": after.given},
        )
        shown = ids.show("key", key_id)
        entry = Entry(action="key.change", id=shown, name=old_name, before=was, after=becomes)
        await record(connection, entry)

    await database.ask(work, about=("key", key_id))
    return await read_key(database, key_id)


async def restart_count(
    connection: Connection[Record], subject: UUID, before: Quota, after: Quota
) -> None:
    """Nobody noted what came while there was no quota of bytes: it is looked for."""
    if before.bytes_waiting is None and after.bytes_waiting is not None:
        await connection.fetch(statement("quota_restart"), subject)


async def rotate_key(
    database: Database, key_id: UUID, overlap_seconds: float, user_id: UUID | None = None
) -> MadeKey:
    """Another token; the one before is good for so long. Raises NotFound."""
    token, hashed = make_token(KEY_PREFIX)
    after = {"overlap_seconds": overlap_seconds}
    if not await _ask_of_key(
        *(database, key_id, user_id, "key.rotate", after),
        *("key_rotate", key_id, hashed, overlap_seconds, user_id),
    ):
        raise NotFound("key", ids.show("key", key_id))
    return MadeKey(key=await read_key(database, key_id), token=token)


async def revoke_key(database: Database, key_id: UUID, user_id: UUID | None = None) -> None:
    """Raises NotFound, also for one that was revoked before."""
    if not await _ask_of_key(
        database, key_id, user_id, "key.revoke", None, "key_revoke", key_id, user_id
    ):
        raise NotFound("key", ids.show("key", key_id))


def _made(key_id: UUID, draft: KeyDraft, user_id: UUID | None) -> Entry:
    scope = draft.scope
    after = {
        "role": scope.role,
        "scopes": scope.rights,
        "queues": scope.queues,
        "workflows": scope.workflows,
        "expires_at": draft.expires_at,
        "expires_in_seconds": draft.expires_in_seconds,
        "user_id": shown_id("user", user_id),
        "quota": draft.quota.given or None,
    }
    given = {name: value for name, value in after.items() if value is not None}
    return Entry(action="key.add", id=ids.show("key", key_id), name=draft.name, after=given)


async def _ask_of_key(
    database: Database,
    key_id: UUID,
    user_id: UUID | None,
    action: str,
    after: dict[str, Any] | None,
    name: str,
    *args: Any,
) -> bool:
    """The statement of this name, and an entry of what was done to the key. False: it is not."""

    async def work(connection: Connection[Record]) -> bool:
        known = await connection.fetch(statement("key_lock"), key_id, user_id)
        if not known or not await connection.fetch(statement(name), *args):
            return False
        shown = ids.show("key", key_id)
        entry = Entry(action=action, id=shown, name=known[0]["name"], after=after)
        await record(connection, entry)
        return True

    return await database.ask(work, about=("key", key_id))


def _key(row: Record) -> ApiKey:
    facts: dict[str, Any] = {
        name: row[name]
        for name in (
            *("id", "name", "user_id", "user_name", "created_at", "expires_at"),
            *("rotated_at", "overlap_until", "last_used_at"),
        )
    }
    return ApiKey(
        **facts,
        is_expired=bool(row["is_expired"]),
        scope=scope_of(row),
        quota=quota_in(row["quota"]),
    )


def quota_in(text: str | None) -> Quota:
    """As it is kept, JSON."""
    return NO_QUOTA if text is None else stored_quota(strict_json.read_stored(text))


def quota_text(quota: Quota) -> str | None:
    return None if quota.is_empty else strict_json.write(quota.given)


def rights_in(scope: Scope) -> frozenset[str]:
    """All that it may do, of whomever it is."""
    return rights_of(scope.role) if scope.role is not None else frozenset(scope.rights or ())


def scope_of(row: Record) -> Scope:
    return Scope(
        role=row["role"],
        rights=_names(row["rights"]),
        queues=_names(row["queues"]),
        workflows=_names(row["workflows"]),
    )


def _names(found: list[str] | None) -> tuple[str, ...] | None:
    return None if found is None else tuple(found)
