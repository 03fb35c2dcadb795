"""Secrets as deliveries open them: from memory, dropped when they change, kept when PostgreSQL is
away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.engine.hands import several
from tests.until import until
from windlass.clock import monotonic
from windlass.engine.announce import Announcer
from windlass.engine.secrets import store as secret_store
from windlass.engine.secrets.seal import Sealer
from windlass.engine.secrets.secrets import (
    Hosts,
    bind_secret,
    delete_secret,
    put_secret,
    read_secret,
)
from windlass.engine.secrets.store import SecretStore
from windlass.engine.secrets.value import GENERATED, Generated, generate, read_value
from windlass.fastlane.lane import FastLane
from windlass.limits import (
    SECRET_ASK_SECONDS,
    SECRET_KEPT_AWAY_SECONDS,
    SECRET_KEPT_SECONDS,
    SECRETS_KEPT_MAX,
)
from windlass.store.database import Database, Record
from windlass.strategies.http.auth.secrets import AuthFailed, SecretNotForHost, SecretUnavailable
from windlass.testing.servers import PrivateServers

SEALER = Sealer([bytes(range(32))])
DAY = 24 * 3600.0


class Counting(Database):
    """Counts how often it is read, and how often a secret is bound."""

    reads = 0
    binds = 0

    async def run(self, name: str, *args: Any) -> list[Record]:
        self.binds += name == "secret_bind"
        return await super().run(name, *args)

    async def read(self, name: str, *args: Any) -> list[Record]:
        self.reads += 1
        return await super().read(name, *args)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Counting]:
    opened = Counting(database_url, application="windlass test")
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def announcer() -> Announcer:
    return Announcer(FastLane(None))


@pytest.fixture
def store(database: Counting, announcer: Announcer) -> SecretStore:
    return SecretStore(database, SEALER, announcer)


@pytest.fixture
async def put(database_url: str) -> AsyncIterator[Any]:
    """Writes as another process does: nobody here hears of it."""
    async with several(database_url, 1) as [elsewhere]:

        async def write(name: str, text: str, overlap_seconds: float = DAY) -> None:
            await put_secret(elsewhere, SEALER, name, read_value(text), overlap_seconds)

        yield write


class Later:
    """A clock that a test puts forward."""

    seconds = 0.0

    def __call__(self) -> float:
        return monotonic() + self.seconds


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    clock = Later()
    monkeypatch.setattr(secret_store, "monotonic", clock)
    return clock


@asynccontextmanager
async def locked(database: Database) -> AsyncIterator[None]:
    """PostgreSQL answers nobody who asks for a secret."""
    async with database.hot() as connection, connection.transaction():
        await connection.execute("LOCK TABLE windlass.secret IN ACCESS EXCLUSIVE MODE")
        yield


async def reading(database: Counting, count: int) -> None:
    """Wait until so many reads have begun."""
    await until(lambda: database.reads >= count, what=f"{count} reads", within_seconds=10)


async def test_the_values_come_newest_first(store: SecretStore, put: Any) -> None:
    await put("token", "first")
    await put("token", "second")
    assert list(await store.open("token")) == ["second", "first"]


async def test_however_many_ask_one_reads(store: SecretStore, database: Counting, put: Any) -> None:
    await put("token", "first")
    found = await asyncio.gather(*(store.open("token") for _ in range(50)))
    assert {tuple(values) for values in found} == {("first",)}
    assert database.reads == 1


async def test_that_there_is_none_is_remembered_too(store: SecretStore, database: Counting) -> None:
    for _ in range(3):
        with pytest.raises(SecretUnavailable, match="'webhook' is not available") as caught:
            await store.open("webhook")
        assert caught.value.is_missing
    assert database.reads == 1


async def test_a_change_that_nobody_told_of_is_seen_within_seconds(
    store: SecretStore, put: Any, later: Later
) -> None:
    await put("token", "first")
    await store.open("token")
    await put("token", "second", 0)
    assert list(await store.open("token")) == ["first"]
    later.seconds = SECRET_KEPT_SECONDS
    assert list(await store.open("token")) == ["second"]


async def test_a_change_that_is_told_is_seen_at_once(
    store: SecretStore, announcer: Announcer, put: Any
) -> None:
    with pytest.raises(SecretUnavailable):
        await store.open("token")
    await put("token", "first")
    announcer.secrets(["other", "token"])
    assert list(await store.open("token")) == ["first"]


async def test_a_change_is_told_to_other_nodes(
    database: Counting, servers: PrivateServers, put: Any, patient_lane: None
) -> None:
    ours, theirs = FastLane(servers.redis_url), FastLane(servers.redis_url)
    is_up, is_heard = asyncio.Event(), asyncio.Event()
    theirs.on_change(lambda up: is_up.set() if up else None)
    speaker, listener = Announcer(ours), Announcer(theirs)
    store = SecretStore(database, SEALER, listener)
    listener.on_secret(lambda _: is_heard.set())
    await ours.open()
    await theirs.open()
    try:
        async with asyncio.timeout(60):
            await is_up.wait()
            await put("token", "first")
            await store.open("token")
            await put("token", "second", 0)
            speaker.secrets(["token"])
            await is_heard.wait()
        assert list(await store.open("token")) == ["second"]
    finally:
        await ours.close()
        await theirs.close()


async def test_what_was_being_read_when_it_changed_is_not_kept(
    store: SecretStore, announcer: Announcer, database: Counting, put: Any
) -> None:
    await put("token", "first")
    async with locked(database):
        before = asyncio.create_task(store.open("token"))
        await reading(database, 1)
        announcer.secrets(["token"])
        after = asyncio.create_task(store.open("token"))
        await reading(database, 2)
    assert list(await before) == list(await after) == ["first"]
    await store.open("token")
    assert database.reads == 2


async def test_after_a_change_the_next_one_to_ask_reads_anew_whatever_was_under_way(
    store: SecretStore, announcer: Announcer, database: Counting, put: Any
) -> None:
    await put("token", "first")
    async with locked(database):
        before = asyncio.create_task(store.open("token"))
        await reading(database, 1)
        announcer.secrets(["token"])
    await before
    await put("token", "second", 0)
    assert list(await store.open("token")) == ["second"]


async def test_while_postgresql_is_away_what_was_known_is_good_for_a_minute(
    store: SecretStore, database: Counting, put: Any, later: Later
) -> None:
    await put("token", "first")
    await store.open("token")
    await database.close()
    later.seconds = SECRET_KEPT_SECONDS
    for _ in range(3):
        assert list(await store.open("token")) == ["first"]
    assert database.reads == 2, "it is not asked again and again"
    later.seconds = SECRET_KEPT_AWAY_SECONDS + 1
    with pytest.raises(SecretUnavailable, match="PostgreSQL") as caught:
        await store.open("token")
    assert not caught.value.is_missing


async def test_a_postgresql_that_does_not_answer_holds_up_nobody_for_long(
    store: SecretStore, database: Counting, put: Any, later: Later
) -> None:
    await put("token", "first")
    await store.open("token")
    later.seconds = SECRET_KEPT_SECONDS
    async with locked(database):
        begun = monotonic()
        assert list(await store.open("token")) == ["first"]
        assert SECRET_ASK_SECONDS <= monotonic() - begun < 10
        begun = monotonic()
        assert list(await store.open("token")) == ["first"]
        assert monotonic() - begun < SECRET_ASK_SECONDS


async def test_a_secret_that_changed_is_not_served_from_memory_while_postgresql_is_away(
    store: SecretStore, announcer: Announcer, database: Counting, put: Any
) -> None:
    await put("token", "first")
    await store.open("token")
    await database.close()
    announcer.secrets(["token"])
    with pytest.raises(SecretUnavailable, match="PostgreSQL"):
        await store.open("token")


async def test_a_caller_that_goes_away_takes_nothing_from_the_others(
    store: SecretStore, database: Counting, put: Any
) -> None:
    await put("token", "first")
    async with locked(database):
        first, second = (asyncio.create_task(store.open("token")) for _ in range(2))
        await reading(database, 1)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
    assert list(await second) == ["first"]
    assert database.reads == 1


@pytest.mark.parametrize(
    ("sealer", "said"),
    [(None, "no key to open it with"), (Sealer([bytes(32)]), "which this node does not have")],
)
async def test_a_secret_that_cannot_be_opened_here_is_not_missing(
    database: Counting, announcer: Announcer, put: Any, sealer: Sealer | None, said: str
) -> None:
    await put("token", "hunter2")
    with pytest.raises(SecretUnavailable, match=said) as caught:
        await SecretStore(database, sealer, announcer).open("token")
    assert not caught.value.is_missing
    assert "hunter2" not in str(caught.value)


async def test_a_previous_version_that_cannot_be_opened_does_not_hide_the_newest(
    database: Counting, announcer: Announcer
) -> None:
    old, new = Sealer([bytes(32)]), Sealer([bytes(range(32))])
    await put_secret(database, old, "token", read_value("first"), DAY)
    await put_secret(database, new, "token", read_value("second"), DAY)
    assert list(await SecretStore(database, new, announcer).open("token")) == ["second"]
    with pytest.raises(SecretUnavailable):
        await SecretStore(database, old, announcer).open("token")


async def test_what_is_kept_has_a_bound_and_the_least_used_goes_first(
    database: Counting, announcer: Announcer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SECRETS_KEPT_MAX > 2
    monkeypatch.setattr(secret_store, "SECRETS_KEPT_MAX", 2)
    store = SecretStore(database, SEALER, announcer)

    async def ask(name: str) -> None:
        with pytest.raises(SecretUnavailable):
            await store.open(name)

    for name in ("a", "b", "a", "c", "a"):
        await ask(name)
    assert database.reads == 3
    await ask("b")
    assert database.reads == 4


SHOP, BANK, STRANGER = "shop.example", "bank.example:8443", "stranger.example"


async def hosts_of(database: Database, name: str = "token") -> tuple[str, ...] | None:
    return (await read_secret(database, SEALER, name)).hosts


async def test_the_first_target_that_a_secret_is_sent_to_is_the_only_one(
    store: SecretStore, database: Counting, put: Any
) -> None:
    await put("token", "hunter2")
    assert await hosts_of(database) is None
    for _ in range(3):
        assert list(await store.open("token", [SHOP], is_sent=True)) == ["hunter2"]
    assert (database.binds, await hosts_of(database)) == (1, (SHOP,))
    for is_sent in (True, False):
        with pytest.raises(SecretNotForHost) as caught:
            await store.open("token", [SHOP, STRANGER], is_sent=is_sent)
        assert "windlass secret bind token shop.example stranger.example" in str(caught.value)
        assert "hunter2" not in str(caught.value)
        assert caught.value.facts == {"secret": "token", "host": STRANGER}
    assert database.binds == 1, "a node that knows asks nobody"


async def test_of_many_nodes_that_use_a_secret_first_one_decides(
    database: Counting, database_url: str, announcer: Announcer, put: Any
) -> None:
    await put("token", "first")

    async def use(elsewhere: Database, target: str) -> str | None:
        try:
            await SecretStore(elsewhere, SEALER, announcer).open("token", [target], is_sent=True)
        except SecretNotForHost:
            return None
        return target

    async with several(database_url, 6) as nodes:
        used = await asyncio.gather(
            *(use(node, f"host-{n % 3}.example") for n, node in enumerate(nodes * 3))
        )
    [winner] = {target for target in used if target is not None}
    assert await hosts_of(database) == (winner,)
    assert used.count(winner) == 6, "all that went to the first host, and nothing else"
    async with database.side() as connection:
        events = await connection.fetch("SELECT data FROM windlass.event WHERE type = 'bound'")
    assert [json.loads(event["data"]) for event in events] == [{"hosts": [winner]}]


async def test_hosts_that_are_stated_are_obeyed_by_what_is_signed_too(
    store: SecretStore, database: Counting, announcer: Announcer
) -> None:
    hosts = Hosts(names=(SHOP, "*.bank.example"))
    await put_secret(database, SEALER, "key", generate("hmac"), DAY, hosts)
    await put_secret(database, SEALER, "token", read_value("first"), DAY, hosts)
    for target in (SHOP, "eu.bank.example"):
        await store.open("key", [target])
        await store.open("token", [target], is_sent=True)
    with pytest.raises(SecretNotForHost):
        await store.open("key", [STRANGER])
    assert database.binds == 0
    await bind_secret(database, SEALER, "key", Hosts(names=(STRANGER,)))
    announcer.secrets(["key"])
    await store.open("key", [STRANGER])


@pytest.mark.parametrize("kind", GENERATED)
async def test_a_signing_key_signs_for_many_and_is_sent_to_nobody(
    store: SecretStore, database: Counting, kind: Generated
) -> None:
    key = generate(kind)
    await put_secret(database, SEALER, "key", key, DAY)
    for target in (SHOP, BANK):
        await store.open("key", [target])
    with pytest.raises(AuthFailed, match="'key' is a key to sign with") as caught:
        await store.open("key", [SHOP], is_sent=True)
    assert key.text not in str(caught.value)
    assert await hosts_of(database, "key") is None


async def test_a_rotation_keeps_the_hosts_and_a_secret_made_anew_has_none(
    store: SecretStore, database: Counting, announcer: Announcer, put: Any
) -> None:
    await put("token", "first")
    await store.open("token", [SHOP], is_sent=True)
    for overlap_seconds in (DAY, 0):
        await put("token", f"two {overlap_seconds}", overlap_seconds)
        assert await hosts_of(database) == (SHOP,)
    await bind_secret(database, SEALER, "token", Hosts(names=None))
    assert await hosts_of(database) is None
    announcer.secrets(["token"])
    await store.open("token", [BANK], is_sent=True)
    await delete_secret(database, "token")
    await put("token", "third")
    assert await hosts_of(database) is None
    announcer.secrets(["token"])
    await store.open("token", [STRANGER], is_sent=True)


async def test_a_secret_that_is_not_bound_is_not_had_while_postgresql_is_away(
    store: SecretStore, database: Counting, announcer: Announcer, put: Any
) -> None:
    await put("token", "first")
    await put("bound", "second")
    await store.open("token")
    await store.open("bound", [SHOP], is_sent=True)
    await database.close()
    with pytest.raises(SecretUnavailable, match="PostgreSQL") as caught:
        await store.open("token", [SHOP], is_sent=True)
    assert not caught.value.is_missing
    assert list(await store.open("bound", [SHOP], is_sent=True)) == ["second"]


async def test_a_secret_that_was_deleted_meanwhile_is_not_bound(
    store: SecretStore, database: Counting, put: Any
) -> None:
    await put("token", "first")
    await store.open("token")
    await delete_secret(database, "token")
    with pytest.raises(SecretUnavailable, match="deleted"):
        await store.open("token", [SHOP], is_sent=True)
    await put("token", "second")
    assert await hosts_of(database) is None
