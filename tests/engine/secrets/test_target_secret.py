"""The secret of one target: made from the master key whenever it is asked for."""

from __future__ import annotations

import pytest

from tests.engine.secrets.test_secrets import DAY, NEW, SEALER, put
from windlass.engine.secrets.seal import Sealer
from windlass.engine.secrets.secrets import (
    NoSecretKey,
    ensure_default_secret,
    put_secret,
    target_secrets,
)
from windlass.engine.secrets.value import generate
from windlass.errors import NotFound
from windlass.store.database import Database
from windlass.strategies.http.auth.secrets import SecretUnavailable
from windlass.strategies.http.auth.sign import derived_secret

SHOP = "shop.example"


async def test_a_target_has_a_secret_of_its_own_from_the_first_start_on(database: Database) -> None:
    await ensure_default_secret(database, SEALER)
    [mine] = await target_secrets(database, SEALER, "webhook", SHOP)
    [other] = await target_secrets(database, SEALER, "webhook", "shop.example:80")
    assert mine.startswith("whsec_")
    assert mine != other
    assert await target_secrets(database, SEALER, "webhook", SHOP) == [mine]


async def test_a_rotation_shows_both_newest_first_until_its_overlap_ends(
    database: Database,
) -> None:
    first, second, third = (generate("derived") for _ in range(3))
    await put_secret(database, SEALER, "webhook", first, DAY)
    await put_secret(database, SEALER, "webhook", second, DAY)
    shown = await target_secrets(database, SEALER, "webhook", SHOP)
    assert shown == [derived_secret(key.text, SHOP) for key in (second, first)]
    await put_secret(database, SEALER, "webhook", third, 0)
    shown = await target_secrets(database, SEALER, "webhook", SHOP)
    assert shown == [derived_secret(third.text, SHOP)]


async def test_what_is_no_master_key_gives_no_target_a_secret(database: Database) -> None:
    with pytest.raises(NotFound, match="there is no derived secret 'webhook'"):
        await target_secrets(database, SEALER, "webhook", SHOP)
    for kind in ("hmac", "ed25519"):
        await put_secret(database, SEALER, kind, generate(kind), DAY)
        with pytest.raises(NotFound):
            await target_secrets(database, SEALER, kind, SHOP)
    await put(database, "mail", "anything")
    with pytest.raises(NotFound):
        await target_secrets(database, SEALER, "mail", SHOP)


async def test_after_a_rotation_from_another_kind_only_what_is_derived_is_shown(
    database: Database,
) -> None:
    await put_secret(database, SEALER, "webhook", generate("ed25519"), DAY)
    master = generate("derived")
    await put_secret(database, SEALER, "webhook", master, DAY)
    shown = await target_secrets(database, SEALER, "webhook", SHOP)
    assert shown == [derived_secret(master.text, SHOP)]


async def test_without_the_key_that_sealed_it_no_secret_is_shown(database: Database) -> None:
    await ensure_default_secret(database, SEALER)
    with pytest.raises(NoSecretKey):
        await target_secrets(database, None, "webhook", SHOP)
    with pytest.raises(SecretUnavailable):
        await target_secrets(database, Sealer([NEW]), "webhook", SHOP)
