"""Users, keys and sessions through the clients: against a real node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tests.cli.peer import Peer, problem
from tests.sdk.conftest import Server
from tests.sdk.test_objects import Asking
from windlass import errors
from windlass.sdk.http.async_client import AsyncClient
from windlass.sdk.http.client import Client
from windlass.sdk.objects.identity import UserPassword

WORDS = "a mill by the river"


def fresh(word: str = "ann") -> str:
    return f"{word}-{uuid4().hex[:8]}"


@pytest.fixture
async def ann(async_client: AsyncClient) -> UserPassword:
    return await async_client.users.add(fresh(), "operator", WORDS)


@pytest.fixture
async def as_ann(async_client: AsyncClient, ann: UserPassword) -> AsyncIterator[AsyncClient]:
    async with await async_client.log_in(ann.name, WORDS) as client:
        yield client


async def test_a_user_is_made_read_changed_and_deleted(async_client: AsyncClient) -> None:
    name = fresh()
    made = await async_client.users.add(name.upper(), "viewer")
    assert (made.name, made.role, made.must_change_password) == (name, "viewer", True)
    assert made.one_time_password is not None
    assert (made.has_password, made.issuer, made.last_login_at) == (True, None, None)
    read = await async_client.users.get(made.id)
    assert read == await async_client.users.get(name)
    assert name in [user.name async for user in async_client.users.list()]
    changed = await async_client.users.change(name, role="editor", if_match=read.etag)
    assert (changed.role, changed.disabled_at) == ("editor", None)
    with pytest.raises(errors.PreconditionFailed):
        await async_client.users.change(name, role="viewer", if_match=read.etag)
    disabled = await async_client.users.change(name, is_disabled=True)
    assert disabled.disabled_at is not None
    assert disabled.disabled_at <= datetime.now(UTC) + timedelta(minutes=1)
    await async_client.users.delete(name)
    with pytest.raises(errors.NotFound, match=name):
        await async_client.users.get(name)


async def test_a_one_time_password_opens_nothing_but_the_choice_of_another(
    async_client: AsyncClient, ann: UserPassword
) -> None:
    reset = await async_client.users.reset_password(ann.name)
    assert reset.one_time_password is not None
    async with await async_client.log_in(ann.name, reset.one_time_password) as client:
        assert (await client.session()).must_change_password
        with pytest.raises(errors.Forbidden) as refused:
            await client.jobs.submit("noop")
        assert refused.value.code == "password_change_needed"
        me = await client.change_password(reset.one_time_password, WORDS + " again")
        assert (me.must_change_password, me.token) == (False, None)
        assert (await client.jobs.submit("noop"))["id"], "the session goes on"
        await client.log_out()
        with pytest.raises(errors.Unauthorized):
            await client.session()
    with pytest.raises(errors.Unauthorized) as wrong:
        await async_client.log_in(ann.name, WORDS)
    assert wrong.value.code == "login_failed"


async def test_whoever_asks_hears_who_he_is_and_what_he_lacks(
    async_client: AsyncClient, as_ann: AsyncClient, ann: UserPassword
) -> None:
    me = await as_ann.session()
    assert (me.kind, me.id, me.name, me.role) == ("user", ann.id, ann.name, "operator")
    assert me.session_id is not None
    assert "jobs:submit" in me.rights
    [lack] = [lack for lack in me.lacks if lack.right == "users:edit"]
    assert lack.roles == ["admin"]
    assert (await async_client.session()).kind == "key", "the other client stays who it is"


async def test_what_one_may_not_says_what_it_takes_and_who_has_it(as_ann: AsyncClient) -> None:
    with pytest.raises(errors.Forbidden) as refused:
        await as_ann.users.list()
    assert (refused.value.needs, refused.value.roles) == ("users:edit", ["admin"])
    assert refused.value.code == "forbidden"
    assert refused.value.problem is not None


async def test_a_key_is_made_rotated_and_revoked(async_client: AsyncClient, server: Server) -> None:
    made = await async_client.keys.add(
        fresh("ci"), scopes=["jobs:submit", "jobs:read"], queues=["ci"], expires_in="90d"
    )
    assert (made.scopes, made.queues) == (["jobs:submit", "jobs:read"], ["ci"])
    assert made.user_id is None, "an admin's key makes keys of machines"
    assert made.expires_at is not None
    async with AsyncClient(server.url, made.token) as machine:
        job = await machine.jobs.submit("noop", queue="ci")
        assert (await machine.jobs.get(job["id"])).queue == "ci"
        with pytest.raises(errors.Forbidden) as refused:
            await machine.jobs.submit("noop", queue="mail")
        assert refused.value.code == "confined"
        with pytest.raises(errors.Forbidden):
            await machine.queues.pause("ci")
    again = await async_client.keys.rotate(made.id, "1h")
    assert again.token != made.token
    assert again.overlap_until is not None
    read = await async_client.keys.get(made.id)
    assert "token" not in read
    assert made.id in [key.id async for key in async_client.keys.list()]
    await async_client.keys.revoke(made.id)
    for token in (made.token, again.token):
        async with AsyncClient(server.url, token) as machine:
            with pytest.raises(errors.Unauthorized):
                await machine.session()


async def test_one_has_keys_of_ones_own_for_no_more_than_one_may(as_ann: AsyncClient) -> None:
    mine = await as_ann.keys.add("laptop", role="viewer", expires_at=None)
    assert mine.user_id == (await as_ann.session()).user_id
    assert [key.id for key in await as_ann.keys.list()] == [mine.id]
    with pytest.raises(errors.InvalidInput) as refused:
        await as_ann.keys.add("more", role="editor")
    assert refused.value.problems[0].pointer == "/role"
    with pytest.raises(errors.Forbidden):
        await as_ann.keys.add("machine", role="viewer", is_personal=False)


async def test_sessions_are_listed_and_ended(
    async_client: AsyncClient, as_ann: AsyncClient, ann: UserPassword
) -> None:
    async with await async_client.log_in(ann.name, WORDS) as other:
        found = await as_ann.sessions.list()
        assert [session.is_this for session in found] == [False, True]
        assert {session.user_name for session in found} == {ann.name}
        assert (await as_ann.sessions.end_all()).ended == 1
        with pytest.raises(errors.Unauthorized):
            await other.session()
    [mine] = await async_client.sessions.list(user=ann.name)
    await async_client.sessions.end(mine.id)
    with pytest.raises(errors.Unauthorized):
        await as_ann.session()
    assert (await async_client.sessions.end_all(ann.id)).ended == 0


async def test_too_many_tries_are_refused_at_once_and_say_how_long(
    async_client: AsyncClient,
) -> None:
    name = fresh("nobody")
    for _ in range(5):
        with pytest.raises(errors.Unauthorized):
            await async_client.log_in(name, "whatever it may be")
    with pytest.raises(errors.TooManyTries) as refused:
        await async_client.log_in(name, "whatever it may be")
    assert refused.value.retry_after is not None
    assert refused.value.retry_after >= 1
    assert refused.value.limit == 5


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("verb", ["log_in", "session", "change_password"])
async def test_what_is_refused_is_not_asked_for_again(peer: Peer, status: int, verb: str) -> None:
    peer.answer(problem(status, detail="no"))
    kind = errors.Unauthorized if status == 401 else errors.Forbidden
    async with AsyncClient(peer.url, "wls_x") as client:
        with pytest.raises(kind):
            await getattr(client, verb)(*([] if verb == "session" else ["a", "b"]))
    assert len(peer.calls) == 1


async def test_a_login_that_met_a_busy_server_is_told_and_not_repeated(peer: Peer) -> None:
    peer.answer(problem(429, code="too_many_tries", detail="too many", limit=5))
    async with AsyncClient(peer.url, "wlk_x") as client:
        with pytest.raises(errors.TooManyTries, match="too many"):
            await client.log_in("ann", WORDS)
    [call] = peer.calls
    assert "idempotency-key" not in call.headers


async def test_nothing_secret_is_in_a_repr(async_client: AsyncClient) -> None:
    made = await async_client.users.add(fresh(), "viewer")
    key = await async_client.keys.add(fresh("key"), role="viewer")
    assert made.one_time_password is not None
    async with await async_client.log_in(made.name, made.one_time_password) as client:
        shown = f"{made!r} {made} {key!r} {key} {client!r} {client.transport!r}"
        assert await client.session()
    assert made.one_time_password not in shown
    assert key.token not in shown
    assert made.name in shown


def test_the_client_that_waits_does_the_same(client: Client) -> None:
    made = client.users.add(fresh(), "admin", WORDS)
    with client.log_in(made.name, WORDS) as me:
        assert repr(me) == repr(client)
        assert me.session().name == made.name
        changed = me.change_password(WORDS, WORDS + " two")
        assert changed.name == made.name
        assert [one.is_this for one in me.sessions.list()] == [True]
        key = me.keys.add("laptop", role="viewer", is_personal=True)
        assert [found.id for found in me.keys.list(user=made.name)] == [key.id]
        me.log_out()
        with pytest.raises(errors.Unauthorized):
            me.users.get(made.name)
    client.users.delete(made.name)
    assert client.session().kind == "key"


def test_nobody_logs_in_where_no_token_is_shown() -> None:
    """As it is for the client of an App inside its node: that is the process itself."""
    with pytest.raises(TypeError, match="where nobody logs in"):
        Client(transport=Asking()).log_in("ann", WORDS)
