"""The secret with which one target verifies what is signed for it; nothing of it is stored."""

from __future__ import annotations

from windlass.engine.secrets.seal import CannotOpen, Sealer
from windlass.engine.secrets.secrets import NoSecretKey, unseal_live
from windlass.errors import NotFound
from windlass.store.database import Database
from windlass.strategies.http.auth.secrets import SecretUnavailable
from windlass.strategies.http.auth.sign import MASTER, derived_secret


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
    return found
