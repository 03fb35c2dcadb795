"""`windlass audit`: what it asks for, what it shows, and an export that is whole or says so."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says, problem
from tests.cli.things import page

NDJSON = {"Content-Type": "application/x-ndjson"}


def entry(number: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"aud_{number:032x}",
        "at": "2026-01-31T12:00:00.500Z",
        "actor_kind": "user",
        "actor_id": "user_1",
        "actor_name": "ann",
        "credential_id": "ses_1",
        "address": "192.0.2.1",
        "request_id": "r-1",
        "node_id": "node_1",
        "action": "queue.put",
        "noun": "queue",
        "object_id": None,
        "object_name": "mail",
        "before": {"rate": 2.0, "max_jobs": None},
        "after": {"rate": 3.0, "max_jobs": 5},
        "note": None,
        "count": None,
        **fields,
    }


def lines(*entries: dict[str, Any], cut: int = 0, **facts: Any) -> Says:
    raw = b"".join(json.dumps(one).encode() + b"\n" for one in entries)
    length = {"Content-Length": str(len(raw) + cut)}
    return Says(raw=raw, headers={**NDJSON, **length}, hangs_up=True, **facts)


def test_a_change_is_shown_as_what_it_was_and_what_it_became(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(
        Says(json=page([entry(), entry(2, action="job.replay", object_name=None, count=7)]))
    )
    head, first, second = windlass("audit", "ls").out.splitlines()
    assert head.split()[:4] == ["AT", "ACTOR", "ACTION", "OBJECT"]
    for part in ("ann", "queue.put", "mail", "192.0.2.1", "rate=2.0 -> 3.0", "max_jobs=5"):
        assert part in first
    assert "×7" in second
    [asked] = peer.calls
    assert asked.path == "/v1/audit"


def test_filters_are_asked_for_as_the_api_names_them(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=page([])))
    typed = ("--actor", "ann", "--actor-kind", "user", "--action", "queue.put", "--noun", "queue")
    more = ("--object", "mail", "--address", "192.0.2.1", "--request-id", "r-1")
    ended = windlass("audit", "ls", *typed, *more, "--since", "2026-01-01T00:00:00Z", "-o", "json")
    assert ended.code == 0
    [asked] = peer.calls
    wanted = {
        "actor": "ann",
        "actor_kind": "user",
        "action": "queue.put",
        "noun": "queue",
        "object": "mail",
        "address": "192.0.2.1",
        "request_id": "r-1",
        "created_after": "2026-01-01T00:00:00Z",
    }
    assert {name: asked.query[name][0] for name in wanted} == wanted
    assert windlass("audit", "ls").err == "nothing of that was done\n"


def test_hostile_names_do_not_move_the_cursor(windlass: Windlass, peer: Peer) -> None:
    hostile = entry(actor_name="ann\x1b[2J\u202e", object_name="a\nb\x07", note="\x1b]0;owned\x07")
    peer.answer(Says(json=page([hostile])))
    shown = windlass("audit", "ls").out
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert len(shown.splitlines()) == 2


def test_an_export_is_a_line_an_entry(windlass: Windlass, peer: Peer) -> None:
    peer.answer(lines(entry(1), entry(2)))
    ended = windlass("audit", "export", "--noun", "queue")
    assert ended.code == 0
    assert [json.loads(line) for line in ended.out.splitlines()] == [entry(1), entry(2)]
    [asked] = peer.calls
    assert (asked.path, asked.query) == ("/v1/audit/export", {"noun": ["queue"]})


def test_an_export_that_breaks_off_says_so(windlass: Windlass, peer: Peer) -> None:
    peer.answer(lines(entry(1), cut=500))
    ended = windlass("audit", "export")
    assert ended.code == 9
    assert json.loads(ended.out.splitlines()[0]) == entry(1)


def test_who_may_not_read_it_is_told_what_he_lacks(windlass: Windlass, peer: Peer) -> None:
    detail = "this needs audit:read, which admin have"
    for verb in ("ls", "export"):
        peer.answer(problem(403, code="forbidden", detail=detail))
        ended = windlass("audit", verb)
        assert ended.code == 4
        assert detail in ended.err
