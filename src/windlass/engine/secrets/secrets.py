"""Secrets: put, rotate, bind to hosts, delete; named values that deliveries use, kept encrypted.

Owns: the only statements that write them.
Promises: a value goes in and never comes out of here but to a delivery, and of a master key what
one target may know (`target_secrets`): the secret with which it verifies what is signed for it, of
which nothing is stored. PostgreSQL sees a value sealed only. Putting a secret that is there rotates
it: the version before stays good until its overlap ends, and at most these two are live. Putting
the value it has already changes nothing, so a put whose answer was lost may be repeated. Where a
secret may go stays when it is rotated and goes when it is deleted.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from windlass.engine.audit.record import Entry, differences, record, record_alone
from windlass.engine.secrets.seal import CannotOpen, Sealed, Sealer
from windlass.engine.secrets.value import Value, generate
from windlass.errors import Conflict, NotFound
from windlass.limits import SECRET_BATCH_MAX
from windlass.model.json.etag import UNCONDITIONAL, Precondition, tag_of
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement
from windlass.strategies.http.auth.auth import DEFAULT_SECRET
from windlass.strategies.http.auth.secrets import SecretUnavailable
from windlass.strategies.http.auth.sign import MASTER, derived_secret


class NoSecretKey(Conflict):
    """A secret cannot be stored where there is no key to encrypt it with."""

    code = "no_secret_key"

    def __init__(self) -> None:
        super().__init__(
            "this server has no key to encrypt secrets with: set WINDLASS_SECRET_KEY to 32 random "
            "bytes in base64 (openssl rand -base64 32), the same on every node, and restart"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """All that may be known of a secret."""

    name: str
    kind: str
    public_key: str | None  # None unless ed25519
    version: int  # of the current one, counted from 1
    versions: int  # that are good now: 2 while a rotation overlaps
    created_at: datetime
    rotated_at: datetime | None  # None: never
    overlap_until: datetime | None  # until when the version before is good; None: there is none
    is_readable: bool  # False: this node lacks the key it is encrypted under
    hosts: tuple[str, ...] | None  # it may go to; None: its first use binds it

    @property
    def etag(self) -> str:
        # A name that was deleted begins at version 1 again.
        return tag_of(self.created_at, self.version, self.hosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """Where somebody says that a secret may go."""

    # As model.job.secret_hosts reads them. None: its next use binds it.
    names: tuple[str, ...] | None


async def list_secrets(
    database: Database, sealer: Sealer | None, limit: int, after: str = ""
) -> list[Secret]:
    """Up to `limit` secrets by name, from the one that follows `after`."""
    rows = await database.read("secret_list", after, limit, None)
    return [_secret(row, sealer) for row in rows]


async def read_secret(database: Database, sealer: Sealer | None, name: str) -> Secret:
    rows = await database.read("secret_list", "", 1, name)
    if not rows:
        raise NotFound("secret", name)
    return _secret(rows[0], sealer)


async def put_secret(
    database: Database,
    sealer: Sealer | None,
    name: str,
    value: Value,
    overlap_seconds: float,
    hosts: Hosts | None = None,  # None: as before, which for a new one is wherever it goes first
    *,
    wanted: Precondition = UNCONDITIONAL,
) -> Secret:
    """Store a secret, or rotate it; 0 seconds end the version before at once.

    Raises PreconditionFailed.
    """
    if sealer is None:
        raise NoSecretKey

    async def work(connection: Connection[Record]) -> Secret:
        await connection.fetch(statement("secret_lock"), name)
        known = await _find_secret(connection, sealer, name)
        wanted.check("secret", name, None if known is None else known.etag)
        current = await connection.fetchrow(statement("secret_current"), name)
        if hosts is not None or current is None:
            await _put_hosts(connection, name, hosts)
        if current is None or not _holds(sealer, name, current, value):
            await _rotate(connection, sealer, name, current, value, overlap_seconds)
        left = await _read_back(connection, sealer, name)
        await record(connection, _entry("secret.put", known, left))
        return left

    return await database.ask(work)


async def bind_secret(
    database: Database,
    sealer: Sealer | None,
    name: str,
    hosts: Hosts,
    *,
    wanted: Precondition = UNCONDITIONAL,
) -> Secret:
    """Say where a secret may go; its value stays. Raises NotFound, PreconditionFailed."""

    async def work(connection: Connection[Record]) -> Secret:
        await connection.fetch(statement("secret_lock"), name)
        known = await _find_secret(connection, sealer, name)
        if known is None:
            raise NotFound("secret", name)
        wanted.check("secret", name, known.etag)
        await _put_hosts(connection, name, hosts)
        left = await _read_back(connection, sealer, name)
        await record(connection, _entry("secret.bind", known, left))
        return left

    return await database.ask(work)


async def delete_secret(database: Database, name: str) -> None:
    """Forget all its versions. Raises NotFound."""

    async def work(connection: Connection[Record]) -> None:
        # In turn with those who put it: what one of them has just judged stays so.
        await connection.fetch(statement("secret_lock"), name)
        if not await connection.fetch(statement("secret_delete"), name):
            raise NotFound("secret", name)
        await record(connection, Entry(action="secret.delete", name=name))

    await database.ask(work)


async def target_secrets(
    database: Database, sealer: Sealer | None, name: str, host: str
) -> list[str]:
    """What deliveries to `host` are signed with now, newest first; two while `name` is rotated.

    A host that nothing was delivered to yet has its secret already. Raises NoSecretKey, NotFound
    when no master key is good under that name, and SecretUnavailable when it cannot be opened.
    """
    if sealer is None:
        raise NoSecretKey
    rows = await database.read("secret_live", name)
    try:
        values = unseal_live(sealer, name, rows) if rows else []
    except CannotOpen as trouble:
        raise SecretUnavailable(name, str(trouble), is_missing=False) from None
    # While a rotation from another kind of key overlaps, that key is live too.
    found = [derived_secret(value, host) for value in values if value.startswith(MASTER)]
    if not found:
        raise NotFound("derived secret", name)
    # Before anybody sees it: nobody reads one without an entry.
    about = {"of": name}
    await record_alone(database, Entry(action="target.read_secret", name=host, after=about))
    return found


async def ensure_default_secret(database: Database, sealer: Sealer | None) -> bool:
    """Make the secret that signs deliveries, once for an installation; True: just now.

    One that its owner deleted does not come back.
    """
    if sealer is None:
        return False
    value = generate("derived")
    sealed = sealer.seal(value.text, binding(DEFAULT_SECRET, 1, value.public_key))
    made = await database.run(
        "secret_default",
        *(DEFAULT_SECRET, value.kind, value.public_key, sealed.key_id, sealed.nonce, sealed.box),
    )
    return bool(made)


async def forget_expired_secrets(database: Database, limit: int = SECRET_BATCH_MAX) -> int:
    """Remove up to `limit` versions whose overlap is over; returns how many there were."""
    forgotten: int = (await database.run("secret_forget", limit))[0]["forgotten"]
    return forgotten


def _entry(action: str, before: Secret | None, after: Secret) -> Entry:
    """With what may be known of it: never a value, and of a put that changed none, no version."""
    shown = _shown(after)
    if before is None:
        return Entry(action=action, name=after.name, after=shown)
    was, becomes = differences(_shown(before), shown)
    return Entry(action=action, name=after.name, before=was, after=becomes)


def _shown(secret: Secret) -> dict[str, Any]:
    return {
        "kind": secret.kind,
        "version": secret.version,
        "overlap_until": secret.overlap_until,
        "hosts": secret.hosts,
    }


async def _find_secret(
    connection: Connection[Record], sealer: Sealer | None, name: str
) -> Secret | None:
    rows = await connection.fetch(statement("secret_list"), "", 1, name)
    return _secret(rows[0], sealer) if rows else None


async def _read_back(connection: Connection[Record], sealer: Sealer | None, name: str) -> Secret:
    """Read before anybody can follow: what is answered is what this call left."""
    left = await _find_secret(connection, sealer, name)
    assert left is not None, "it was just put"
    return left


async def _rotate(
    connection: Connection[Record],
    sealer: Sealer,
    name: str,
    current: Record | None,  # None: there is none yet
    value: Value,
    overlap_seconds: float,
) -> None:
    version, created_at = (current["version"] + 1, current["created_at"]) if current else (1, None)
    sealed = sealer.seal(value.text, binding(name, version, value.public_key))
    await connection.fetch(statement("secret_outdate"), name, overlap_seconds)
    await connection.fetch(statement("secret_retire"), name, overlap_seconds)
    await connection.fetch(
        statement("secret_insert"),
        *(name, version, value.kind, value.public_key),
        *(sealed.key_id, sealed.nonce, sealed.box, created_at),
    )


async def _put_hosts(connection: Connection[Record], name: str, hosts: Hosts | None) -> None:
    """None is for a new secret: what is left of one of its name that was deleted goes."""
    if hosts is None or hosts.names is None:
        await connection.fetch(statement("secret_unbind"), name)
    else:
        await connection.fetch(statement("secret_hosts_put"), name, list(hosts.names))


def _holds(sealer: Sealer, name: str, row: Any, value: Value) -> bool:
    try:
        held = unseal(sealer, name, row)
    except CannotOpen:
        return False
    return hmac.compare_digest(held.encode(), value.text.encode())


def _secret(row: Any, sealer: Sealer | None) -> Secret:
    return Secret(
        name=row["name"],
        kind=row["kind"],
        public_key=row["public_key"],
        version=row["version"],
        versions=1 if row["overlap_until"] is None else 2,
        created_at=row["created_at"],
        rotated_at=row["put_at"] if row["version"] > 1 else None,
        overlap_until=row["overlap_until"],
        is_readable=sealer is not None and row["key_id"] in sealer.key_ids,
        hosts=None if row["hosts"] is None else tuple(row["hosts"]),
    )


def binding(name: str, version: int, public_key: str | None) -> str:
    """Where a sealed value belongs. None of the parts can hold a line's end."""
    return f"secret\n{name}\n{version}\n{public_key or ''}"


def unseal(sealer: Sealer, name: str, row: Any) -> str:
    """The value in a row. Raises CannotOpen."""
    sealed = Sealed(key_id=row["key_id"], nonce=row["nonce"], box=row["box"])
    return sealer.open(sealed, binding(name, row["version"], row["public_key"]))


def unseal_live(sealer: Sealer, name: str, rows: Sequence[Any]) -> list[str]:
    """The values in rows of secret_live. The newest must open, or receivers would get less than
    they were promised. Raises CannotOpen."""
    values = [unseal(sealer, name, rows[0])]
    for row in rows[1:]:
        try:
            values.append(unseal(sealer, name, row))
        except CannotOpen:
            continue  # its overlap ends sooner on this node; the newest is what counts
    return values
