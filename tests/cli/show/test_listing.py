"""Lists: cursors, formats, and text that cannot harm a terminal."""

from __future__ import annotations

import json

from tests.cli.conftest import Windlass
from tests.cli.peer import Call, Peer, Says
from tests.cli.things import JOB_ID, job, numbered, page


def serve(peer: Peer, count: int) -> None:
    """A list of `count` jobs; a cursor is the number of the next one."""

    def answer(call: Call) -> Says:
        start = int(call.query.get("cursor", ["0"])[0])
        stop = min(start + int(call.query["limit"][0]), count)
        jobs = [job(id=numbered(n)) for n in range(start, stop)]
        return Says(json=page(jobs, str(stop) if stop < count else None))

    peer.answer_by(answer)


def test_a_list_stops_at_its_limit_and_says_that_there_is_more(
    windlass: Windlass, peer: Peer
) -> None:
    serve(peer, 120)
    ended = windlass("job", "ls")
    assert ended.code == 0
    assert len(ended.out.splitlines()) == 1 + 50
    assert ended.err == "there are more; --all shows every one\n"
    assert len(peer.calls) == 1


def test_a_limit_beyond_a_page_follows_cursors(windlass: Windlass, peer: Peer) -> None:
    serve(peer, 2000)
    ended = windlass("job", "ls", "--limit", "700", "-o", "id")
    assert ended.out.split() == [numbered(n) for n in range(700)]
    assert [call.query["limit"] for call in peer.calls] == [["500"], ["200"]]


def test_all_follows_every_cursor(windlass: Windlass, peer: Peer) -> None:
    serve(peer, 1234)
    assert windlass("job", "ls", "--all", "-o", "id").out.split() == [
        numbered(n) for n in range(1234)
    ]
    told = json.loads(windlass("job", "ls", "--all", "-o", "json").out)
    assert len(told["data"]) == 1234
    assert told["next_cursor"] is None


def test_an_empty_page_with_a_cursor_is_not_the_end(windlass: Windlass, peer: Peer) -> None:
    peer.answer(
        Says(json=page([], "a")), Says(json=page([], "b")), Says(json=page([{"id": "evt_1"}]))
    )
    ended = windlass("event", "ls", "--type", "finished", "-o", "id")
    assert ended.out == "evt_1\n"
    assert [call.query.get("cursor") for call in peer.calls] == [None, ["a"], ["b"]]


def test_filters_are_passed_on(windlass: Windlass, peer: Peer) -> None:
    serve(peer, 0)
    filters = "--state dead --state expired --queue mail --kind http --tag urgent --limit 3"
    ended = windlass("job", "ls", *filters.split())
    assert (ended.out, ended.err) == ("", "no jobs match\n")
    assert peer.calls[0].query == {
        "state": ["dead", "expired"],
        "queue": ["mail"],
        "kind": ["http"],
        "tag": ["urgent"],
        "limit": ["3"],
    }


def test_json_is_the_answer_byte_for_byte(windlass: Windlass, peer: Peer) -> None:
    raw = '{"data": [{"id":"job_1", "input":{"exact":1.10,"big":1e2,"é":"\\u00e9"}}],"x" : null}'
    peer.answer(Says(raw=raw.encode()))
    assert windlass("job", "ls", "-o", "json").out == raw + "\n"
    assert windlass("job", "get", JOB_ID, "-o", "json").out == raw + "\n"


def test_jsonl_is_one_object_a_line(windlass: Windlass, peer: Peer) -> None:
    jobs = [job(id=numbered(n), tags=["a\nb", "\u2028"]) for n in range(3)]
    peer.answer(Says(json=page(jobs)))
    lines = windlass("job", "ls", "-o", "jsonl").out.rstrip("\n").split("\n")
    assert [json.loads(line) for line in lines] == jobs


def test_the_table_has_a_row_for_each_and_nothing_is_cut(windlass: Windlass, peer: Peer) -> None:
    jobs = [job(id=numbered(n), queue="q" * n) for n in (1, 60)]
    peer.answer(Says(json=page(jobs)))
    head, short, long = windlass("job", "ls").out.splitlines()
    assert head.split()[:4] == ["ID", "WHAT", "STATE", "QUEUE"]
    assert short.startswith(numbered(1))
    assert "q" * 60 in long
    assert "ago (2026-01-31 12:00:00Z)" in long
    assert short.index("0/5") == long.index("0/5")


def test_columns_are_aligned_under_wide_characters(windlass: Windlass, peer: Peer) -> None:
    jobs = [job(id="job_1", kind=kind) for kind in ("邮件", "mail")]
    peer.answer(Says(json=page(jobs)))
    _, wide, narrow = windlass("job", "ls").out.splitlines()
    # Each of the two characters takes two columns.
    assert wide.index("queued") + 2 == narrow.index("queued")


def test_text_from_elsewhere_cannot_command_the_terminal(windlass: Windlass, peer: Peer) -> None:
    hostile = "\x1b]0;owned\x07\x9b31m\r\nerror"
    peer.answer(Says(json=job(state="dead", error={"message": hostile}, tags=[hostile])))
    shown = windlass("job", "get", JOB_ID).out
    assert "\\x1b]0;owned\\x07\\x9b31m  error" in shown
    assert [c for c in shown if not c.isprintable() and c != "\n"] == []


def test_one_job_is_shown_field_by_field_without_what_is_empty(
    windlass: Windlass, peer: Peer
) -> None:
    finished = job(
        state="succeeded",
        attempt=3,
        snoozes=1,  # an attempt that spent no try
        started_at="2026-01-31T12:00:00Z",
        finished_at="2026-01-31T12:00:01.500Z",
        input={"to": "a@b.c"},
        result=[1, 2],
    )
    peer.answer(Says(json=finished))
    shown = dict(line.split(maxsplit=1) for line in windlass("job", "get", JOB_ID).out.splitlines())
    assert shown["state"] == "succeeded"
    assert shown["tries"] == "2/5"
    assert shown["took"] == "1.5 s"
    assert shown["input"] == '{"to":"a@b.c"}'
    assert shown["result"] == "[1,2]"
    assert "error" not in shown
    assert "deadline" not in shown
