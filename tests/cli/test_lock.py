"""Locks on the command line: what is asked, what is shown, and how it exits."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says, problem
from tests.cli.server import Server, running_server
from tests.cli.test_nouns import fields
from tests.cli.things import JOB_ID, page

HELD = {"name": "a", "token": 7, "expires_at": "2026-01-31T12:00:30Z", "capacity": 1}
LOCK = {
    "name": "a",
    "capacity": 2,
    "token": 7,
    "held": 2,
    "waiting": 1000,
    "waiting_more": True,
    "changed_at": "2026-01-31T12:00:00Z",
    "holders": [
        {"token": 6, "job_id": JOB_ID, "owner": None, "expires_at": None},
        {"token": 7, "job_id": None, "owner": "key_1", "expires_at": "2026-01-31T12:00:30Z"},
    ],
    "waiters": [{"job_id": None, "owner": "key_2", "priority": "normal"}],
}
TAKEN = problem(409, code="lock_held", detail="lock 'a' is taken")


def test_a_lock_is_shown_with_who_holds_it_and_who_waits(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=page([LOCK])))
    listed = windlass("lock", "ls").out
    for word in ("a", "1000+", JOB_ID, "key_1"):
        assert word in listed
    assert windlass("lock", "ls", "-o", "id").out == "a\n"
    peer.answer(Says(json=LOCK))
    shown = fields(windlass("lock", "get", "card: 1").out)
    assert (shown["capacity"], shown["waiters"]) == ("2", "key_2")
    assert peer.calls[-1].path == "/v1/locks/card%3A%201"


def test_acquire_shows_the_token_and_how_long_it_is_good(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=201, json=HELD))
    shown = fields(windlass("lock", "acquire", "a", "--ttl", "1m", "--capacity", "3").out)
    assert shown["token"] == "7"
    [call] = peer.calls
    assert (call.method, call.path) == ("POST", "/v1/locks/a")
    assert call.json == {"ttl": "1m", "capacity": 3, "wait": 0}
    assert windlass("lock", "acquire", "a", "-o", "id").out == "7\n"
    assert json.loads(windlass("lock", "acquire", "a", "-o", "json").out) == HELD


def test_a_lock_that_is_taken_is_a_conflict(windlass: Windlass, peer: Peer) -> None:
    peer.answer(TAKEN)
    ended = windlass("lock", "acquire", "a")
    assert (ended.code, len(peer.calls)) == (5, 1)
    assert "lock 'a' is taken" in ended.err


def test_a_wait_that_is_over_timed_out(windlass: Windlass, peer: Peer) -> None:
    peer.answer(TAKEN)
    ended = windlass("lock", "acquire", "a", "--wait", "20ms")
    assert ended.code == 7
    assert peer.calls[0].json["wait"] == pytest.approx(0.02, abs=0.02)
    keys = {call.headers["idempotency-key"] for call in peer.calls}
    assert len(keys) == 1, "made again it is the same call"


def test_a_wait_without_a_time_goes_on_until_the_lock_is_there(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(TAKEN, TAKEN, Says(status=201, json=HELD))
    assert windlass("lock", "acquire", "a", "--wait", "-o", "id").out == "7\n"
    assert [call.json["wait"] for call in peer.calls] == [60, 60, 60]


def test_another_conflict_ends_the_wait(windlass: Windlass, peer: Peer) -> None:
    peer.answer(problem(422, code="invalid_input", detail="no"))
    assert windlass("lock", "acquire", "a", "--wait", "5s").code == 2


def test_renew_and_release_name_the_token(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json={"name": "a", "token": 7, "expires_at": "2026-01-31T12:00:30Z"}))
    assert fields(windlass("lock", "renew", "a", "7", "--ttl", "2m").out)["token"] == "7"
    assert (peer.calls[-1].method, peer.calls[-1].json) == ("PUT", {"token": 7, "ttl": "2m"})
    peer.answer(Says(status=204))
    released = windlass("lock", "release", "a", "7")
    assert (released.code, released.out) == (0, "a released\n")
    assert (peer.calls[-1].method, peer.calls[-1].query) == ("DELETE", {"token": ["7"]})
    peer.answer(problem(409, code="lock_lost", detail="token 7 does not hold lock 'a'"))
    assert windlass("lock", "renew", "a", "7").code == 5
    again = windlass("lock", "release", "a", "7")
    assert (again.code, again.out) == (5, "")
    assert "token 7 does not hold lock 'a'" in again.err


def test_the_capacity_is_set(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=LOCK))
    assert fields(windlass("lock", "resize", "a", "2").out)["held"] == "2"
    assert (peer.calls[-1].method, peer.calls[-1].json) == ("PATCH", {"capacity": 2})


def test_a_job_is_submitted_with_its_locks(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=201, json={"id": JOB_ID, "state": "queued"}))
    windlass("job", "submit", "noop", "--lock", "a", "--lock", "b", "-o", "id")
    assert peer.calls[-1].json["locks"] == ["a", "b"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("windlass")) as running:
        yield running


def test_from_the_first_hold_to_the_job_that_waited_for_it(
    windlass: Windlass, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDLASS_URL", server.url)
    monkeypatch.setenv("WINDLASS_TOKEN", server.token)
    token = windlass("lock", "acquire", "a", "--ttl", "1m", "-o", "id").out.strip()
    assert windlass("lock", "acquire", "a").code == 5
    assert windlass("lock", "acquire", "a", "--wait", "100ms").code == 7
    job = windlass("job", "submit", "noop", "--lock", "a", "-o", "id").out.strip()
    assert "it waits for lock 'a'" in windlass("job", "why", job).out
    assert job in windlass("lock", "get", "a").out
    assert windlass("lock", "renew", "a", token).code == 0
    assert windlass("lock", "release", "a", token).code == 0
    assert windlass("job", "watch", job).code == 0
    assert windlass("lock", "renew", "a", token).code == 5
    lapsing = windlass("lock", "acquire", "a", "--ttl", "1s", "-o", "id").out.strip()
    job = windlass("job", "submit", "noop", "--lock", "a", "-o", "id").out.strip()
    assert windlass("job", "watch", job).code == 0, "its time ran out, and the job was next"
    assert int(lapsing) > int(token)
