"""Secrets: sealed in the database, rotated with an overlap, put under new keys."""

from __future__ import annotations

import asyncio
import base64
from functools import partial

import pytest

from tests.engine.hands import patiently, several, value
from windlass.engine.secrets.reencrypt import reencrypt_secrets
from windlass.engine.secrets.seal import CannotOpen, Sealer
from windlass.engine.secrets.secrets import (
    NoSecretKey,
    delete_secret,
    ensure_default_secret,
    forget_expired_secrets,
    list_secrets,
    put_secret,
    read_secret,
    unseal,
)
from windlass.engine.secrets.value import GENERATED, Value, generate, read_value
from windlass.errors import NotFound
from windlass.limits import REDACTED_CHARS_MIN, SECRET_BYTES_MAX
from windlass.store.database import Database

OLD, NEW = bytes(range(32)), bytes(range(32, 64))
SEALER = Sealer([OLD])
DAY = 24 * 3600.0


async def put(database: Database, name: str, text: str, overlap_seconds: float = DAY) -> None:
    await put_secret(database, SEALER, name, read_value(text), overlap_seconds)


async def live(database: Database, name: str, sealer: Sealer = SEALER) -> list[str]:
    """The values that are good now, newest first."""
    return [unseal(sealer, name, row) for row in await database.read("secret_live", name)]


async def stored(database: Database) -> int:
    return int(await value(database, "SELECT count(*) FROM windlass.secret"))


async def end_overlaps(database: Database) -> None:
    async with database.side() as connection:
        await connection.execute(
            "UPDATE windlass.secret SET overlap_until = now() - interval '1 second' "
            "WHERE overlap_until IS NOT NULL"
        )


async def test_a_dump_of_the_database_shows_no_value(database: Database) -> None:
    canary = "canary-7d1f-sings"
    await put(database, "token", canary)
    await put(database, "token", canary + "-again")
    await delete_secret(database, "token")
    await put(database, "token", canary)
    dump = ""
    for table in ("secret", "secret_default", "event"):
        rows = await value(database, f"SELECT array_agg(t::text) FROM windlass.{table} t")
        dump += "".join(rows or [])
    assert "token" in dump
    spellings = (canary.encode().hex(), base64.b64encode(canary.encode()).decode().rstrip("=")[:-1])
    assert [form for form in (canary, *spellings) if form in dump] == []
    assert await live(database, "token") == [canary]


async def test_what_may_be_known_of_a_secret_is_all_but_its_value(database: Database) -> None:
    key = generate("ed25519")
    made = await put_secret(database, SEALER, "sign", key, DAY)
    assert (made.kind, made.version, made.versions) == ("ed25519", 1, 1)
    assert made.public_key == key.public_key
    assert made.public_key is not None
    assert made.public_key.startswith("whpk_")
    assert (made.rotated_at, made.overlap_until, made.is_readable) == (None, None, True)
    assert key.text not in repr(made) + repr(key)
    await put(database, "mail", "anything")
    assert [s.kind for s in await list_secrets(database, SEALER, 10)] == ["other", "ed25519"]
    assert [s.name for s in await list_secrets(database, SEALER, 10, "mail")] == ["sign"]


async def test_a_rotation_keeps_the_version_before_for_its_overlap(database: Database) -> None:
    await put(database, "token", "first")
    first = await read_secret(database, SEALER, "token")
    await put(database, "token", "second", 60)
    rotated = await read_secret(database, SEALER, "token")
    assert (rotated.version, rotated.versions) == (2, 2)
    assert rotated.created_at == first.created_at
    assert rotated.rotated_at is not None
    assert rotated.overlap_until is not None
    assert 59 < (rotated.overlap_until - rotated.rotated_at).total_seconds() < 61
    assert await live(database, "token") == ["second", "first"]
    await end_overlaps(database)
    assert await live(database, "token") == ["second"]
    over = await read_secret(database, SEALER, "token")
    assert (over.versions, over.overlap_until) == (1, None)


async def test_at_most_two_versions_are_live(database: Database) -> None:
    for text in ("first", "second", "third"):
        await put(database, "token", text)
    assert await live(database, "token") == ["third", "second"]
    assert await stored(database) == 2


async def test_without_an_overlap_the_version_before_ends_at_once(database: Database) -> None:
    await put(database, "token", "first")
    await put(database, "token", "second", 0)
    assert await live(database, "token") == ["second"]
    assert await stored(database) == 1


async def test_putting_the_value_that_it_has_changes_nothing(database: Database) -> None:
    for text in ("first", "second", "second"):
        await put(database, "token", text)
    assert await live(database, "token") == ["second", "first"]


async def test_writers_at_once_come_one_after_the_other(
    database: Database, database_url: str
) -> None:
    async with several(database_url, 4) as databases:
        await asyncio.gather(
            *(patiently(partial(put, databases[n % 4], "token", f"value {n}")) for n in range(12))
        )
    assert (await read_secret(database, SEALER, "token")).version == 12
    assert len(await live(database, "token")) == 2


async def test_expired_versions_are_forgotten_in_bounded_batches(database: Database) -> None:
    for name in ("a", "b", "c"):
        await put(database, name, "first")
        await put(database, name, "second")
    assert await forget_expired_secrets(database) == 0
    await end_overlaps(database)
    assert [await forget_expired_secrets(database, 2) for _ in range(3)] == [2, 1, 0]
    assert [await live(database, name) for name in ("a", "b", "c")] == [["second"]] * 3


async def test_the_next_put_removes_an_expired_version(database: Database) -> None:
    await put(database, "token", "first")
    await put(database, "token", "second")
    await end_overlaps(database)
    await put(database, "token", "third")
    assert await live(database, "token") == ["third", "second"]
    assert await stored(database) == 2


async def test_a_row_that_is_copied_onto_another_name_does_not_open(database: Database) -> None:
    await put(database, "mine", "precious")
    await put(database, "yours", "other")
    async with database.side() as connection:
        await connection.execute(
            "UPDATE windlass.secret y SET key_id = m.key_id, nonce = m.nonce, box = m.box "
            "FROM windlass.secret m WHERE y.name = 'yours' AND m.name = 'mine'"
        )
    with pytest.raises(CannotOpen, match="belongs to another name"):
        await live(database, "yours")


async def test_a_public_key_that_was_exchanged_is_noticed(database: Database) -> None:
    await put_secret(database, SEALER, "sign", generate("ed25519"), DAY)
    async with database.side() as connection:
        await connection.execute("UPDATE windlass.secret SET public_key = 'whpk_mine'")
    with pytest.raises(CannotOpen, match="was changed"):
        await live(database, "sign")


async def test_a_deleted_secret_is_gone_with_all_its_versions(database: Database) -> None:
    await put(database, "token", "first")
    await put(database, "token", "second")
    await delete_secret(database, "token")
    assert await stored(database) == 0
    with pytest.raises(NotFound):
        await delete_secret(database, "token")
    with pytest.raises(NotFound):
        await read_secret(database, SEALER, "token")


async def test_without_a_key_nothing_is_stored_and_what_is_there_is_not_readable(
    database: Database,
) -> None:
    with pytest.raises(NoSecretKey, match="set WINDLASS_SECRET_KEY"):
        await put_secret(database, None, "token", read_value("value"), DAY)
    assert not await ensure_default_secret(database, None)
    await put(database, "token", "value")
    for sealer in (None, Sealer([NEW])):
        [secret] = await list_secrets(database, sealer, 10)
        assert not secret.is_readable


async def test_the_first_start_makes_the_default_secret_once(
    database: Database, database_url: str
) -> None:
    async with several(database_url, 4) as databases:
        made = await asyncio.gather(*(ensure_default_secret(d, SEALER) for d in databases))
    assert sorted(made) == [False, False, False, True]
    secret = await read_secret(database, SEALER, "webhook")
    assert (secret.kind, secret.public_key, secret.version) == ("derived", None, 1)
    [text] = await live(database, "webhook")
    assert read_value(text).kind == "derived"
    await delete_secret(database, "webhook")
    assert not await ensure_default_secret(database, SEALER), "what was deleted stays deleted"
    assert await stored(database) == 0


async def test_a_secret_of_that_name_is_left_alone_by_a_first_start(database: Database) -> None:
    await put(database, "webhook", "mine")
    assert not await ensure_default_secret(database, SEALER)
    assert await live(database, "webhook") == ["mine"]


async def test_reencryption_puts_everything_under_the_first_key(database: Database) -> None:
    for name in ("a", "b", "c"):
        await put(database, name, f"{name} one")
        await put(database, name, f"{name} two")
    both, told = Sealer([NEW, OLD]), list[int]()
    done = await reencrypt_secrets(database, both, told.append, batch=2)
    assert (done.count, done.unreadable, told) == (6, [], [2, 4, 6])
    only_new = Sealer([NEW])
    assert await live(database, "b", only_new) == ["b two", "b one"]
    again = await reencrypt_secrets(database, both, told.append)
    assert (again.count, told) == (0, [2, 4, 6])


async def test_reencryption_tells_what_it_cannot_open_and_does_the_rest(database: Database) -> None:
    lost = Sealer([bytes(32)])
    await put_secret(database, lost, "lost", read_value("first"), DAY)
    await put_secret(database, lost, "lost", read_value("second"), DAY)
    await put(database, "kept", "value")
    done = await reencrypt_secrets(database, Sealer([NEW, OLD]), batch=1)
    assert (done.count, done.unreadable) == (1, ["lost"])
    assert await live(database, "lost", lost) == ["second", "first"]


async def test_a_version_that_is_written_anew_meanwhile_keeps_its_value(database: Database) -> None:
    await put(database, "token", "before")
    rows = await database.run("secret_under_other", "none", "", 0, 10)
    await delete_secret(database, "token")
    await put(database, "token", "after")
    stale = [rows[0][column] for column in ("name", "version", "nonce")]
    args = [[item] for item in stale]
    assert not await database.run("secret_reseal_many", *args, "k", [b"n" * 12], [b"b" * 20])
    assert await live(database, "token") == ["after"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x" * REDACTED_CHARS_MIN, "other"),
        (" ä b c\t", "other"),
        ("p" * SECRET_BYTES_MAX, "other"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "other"),
        ("whsec_" + base64.b64encode(bytes(24)).decode(), "hmac"),
        ("whsk_" + base64.b64encode(bytes(32)).decode(), "ed25519"),
        ("whmk_" + base64.b64encode(bytes(32)).decode(), "derived"),
    ],
    ids=lambda text: text[:8],
)
def test_a_value_tells_its_kind(text: str, kind: str) -> None:
    assert read_value(text).kind == kind


@pytest.mark.parametrize(
    "given",
    [
        *(None, 5, "", "é" * (SECRET_BYTES_MAX // 2 + 1), "hunter2\ud800"),
        *("whsec_hunter2", "whsec_" + base64.b64encode(b"hunter2").decode(), "whsk_hunter2"),
        *("whmk_hunter2", "whmk_" + base64.b64encode(b"hunter2").decode()),
    ],
)
def test_what_is_no_value_is_refused_without_showing_it(given: object) -> None:
    with pytest.raises(ValueError, match=r"must (be|hold)") as caught:
        read_value(given)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "chars"),
    [("x", "1 character"), ("pin", "3 characters"), ("äöü", "3 characters"), ("pin ", "3 char")],
)
def test_a_value_that_could_not_be_concealed_is_refused(given: str, chars: str) -> None:
    with pytest.raises(ValueError, match=f"has {chars}.*; at least {REDACTED_CHARS_MIN}, or"):
        read_value(given)


async def test_a_short_value_of_an_earlier_release_goes_on_working(database: Database) -> None:
    short = Value(text="pin", kind="other", public_key=None)
    await put_secret(database, SEALER, "token", short, DAY)
    assert await live(database, "token") == ["pin"]
    await put(database, "token", "long enough")
    assert await live(database, "token") == ["long enough", "pin"]


def test_what_is_generated_is_never_the_same() -> None:
    made = [generate(kind).text for kind in GENERATED for _ in range(2)]
    assert [text.partition("_")[0] for text in made[::2]] == ["whsec", "whsk", "whmk"]
    assert {len(base64.b64decode(text.partition("_")[2])) for text in made} == {32}
    assert len(set(made)) == 6
