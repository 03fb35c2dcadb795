"""Key rotation: put every secret under the first key, so that older keys can be taken away.

Idempotent: what is under the first key is not touched, and a run that was broken off goes on where
it was. Nodes go on opening secrets meanwhile, as long as they have both keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from windlass.engine.audit.record import Entry, record
from windlass.engine.secrets.seal import CannotOpen, Sealed, Sealer
from windlass.engine.secrets.secrets import binding, forget_expired_secrets, unseal
from windlass.limits import SECRET_BATCH_MAX
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


@dataclass(slots=True, kw_only=True)
class Reencrypted:
    count: int = 0  # versions that are under the first key since
    unreadable: list[str] = field(default_factory=list)  # names whose key is not here


async def reencrypt_secrets(
    database: Database,
    sealer: Sealer,
    on_progress: Callable[[int], None] = lambda _: None,
    batch: int = SECRET_BATCH_MAX,
) -> Reencrypted:
    """`on_progress` hears after each batch how many were done so far."""
    while await forget_expired_secrets(database, batch) == batch:
        pass
    done = Reencrypted()
    after = ("", 0)
    while rows := await database.run("secret_under_other", sealer.key_id, *after, batch):
        done.count += await _reseal(database, sealer, rows, done.unreadable)
        on_progress(done.count)
        after = (rows[-1]["name"], rows[-1]["version"])
    return done


async def _reseal(
    database: Database, sealer: Sealer, rows: list[Record], unreadable: list[str]
) -> int:
    moved: list[tuple[Record, Sealed]] = []
    for row in rows:
        name = row["name"]
        try:
            value = unseal(sealer, name, row)
        except CannotOpen:
            if name not in unreadable[-1:]:  # rows come by name
                unreadable.append(name)
            continue
        moved.append((row, sealer.seal(value, binding(name, row["version"], row["public_key"]))))
    arrays = (
        [row["name"] for row, _ in moved],
        [row["version"] for row, _ in moved],
        [row["nonce"] for row, _ in moved],
        sealer.key_id,
        [sealed.nonce for _, sealed in moved],
        [sealed.box for _, sealed in moved],
    )

    async def work(connection: Connection[Record]) -> int:
        changed = await connection.fetch(statement("secret_reseal_many"), *arrays)
        versions = Counter(row["name"] for row in changed)
        after = {"key_id": sealer.key_id}
        entries = (
            Entry(action="secret.reencrypt", name=name, after=after, count=count)
            for name, count in sorted(versions.items())
        )
        await record(connection, *entries)
        return len(changed)

    return await database.together(work)
