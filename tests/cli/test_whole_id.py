"""Ids by their first digits and nodes by their name, wherever a command takes one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Call, Peer, Says
from tests.cli.things import JOB_ID, job, numbered, page

NODE_ID = numbered(7, "node_")


# What answers of other sorts have beside the fields of a job.
OTHERS = {
    "replayed": 1,
    "phase": "done",
    "title": "Go?",
    "callback_until": None,
    "deliveries": [],
    "job_id": JOB_ID,
    "gates": [],
    "summary": "it runs",
}


def match(noun: str, whole: str, **changes: Any) -> dict[str, Any]:
    made = {"state": "running", "created_at": "2026-01-31T12:00:00Z"}
    return {"id": whole, "noun": noun, "name": "send_mail", **made, **changes}


def serve(peer: Peer, *matches: dict[str, Any], has_more: bool = False) -> None:
    def answer(call: Call) -> Says:
        if call.path.startswith("/v1/ids/"):
            return Says(json={"matches": matches, "has_more": has_more})
        is_list = call.path in ("/v1/events", "/v1/operations", "/v1/approvals")
        return Says(json=page([]) if is_list else job(**OTHERS))

    peer.answer_by(answer)


def test_the_first_digits_of_an_id_are_enough(windlass: Windlass, peer: Peer) -> None:
    serve(peer, match("job", JOB_ID))
    for text in ("job_01901", "01901", "JOB_01901"):
        peer.calls.clear()
        assert windlass("job", "get", text, "-o", "id").out == f"{JOB_ID}\n"
        asked, got = peer.calls
        assert (asked.path, asked.query) == ("/v1/ids/01901", {"noun": ["job"]})
        assert got.path == f"/v1/jobs/{JOB_ID}"


def test_a_whole_id_costs_no_further_request_however_it_is_written(
    windlass: Windlass, peer: Peer
) -> None:
    serve(peer)
    digits = JOB_ID.removeprefix("job_")
    dashed = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    for text in (JOB_ID, digits, dashed, digits.upper()):
        peer.calls.clear()
        assert windlass("job", "get", text).code == 0
        assert [call.path for call in peer.calls] == [f"/v1/jobs/{JOB_ID}"]


@pytest.mark.parametrize(
    ("words", "noun", "path"),
    [
        ("job why ID", "job", "/v1/jobs/{}/why"),
        ("job cancel ID", "job", "/v1/jobs/{}/cancel"),
        ("job logs ID", "job", "/v1/jobs/{}/logs"),
        ("job attempts ID", "job", "/v1/jobs/{}/attempts"),
        ("job events ID", "job", "/v1/jobs/{}/events"),
        ("job deliveries ID", "job", "/v1/jobs/{}/webhook-status"),
        ("job rm ID", "job", "/v1/jobs/{}"),
        ("job complete ID token", "job", "/v1/jobs/{}/complete"),
        ("execution get ID", "execution", "/v1/executions/{}"),
        ("execution jobs ID", "execution", "/v1/executions/{}/jobs"),
        ("execution events ID", "execution", "/v1/executions/{}/events"),
        ("execution signal ID go", "execution", "/v1/executions/{}/signals/go"),
        ("execution rerun ID", "execution", "/v1/executions/{}/rerun"),
        ("execution pause ID", "execution", "/v1/executions/{}/pause"),
        ("operation get ID", "operation", "/v1/operations/{}"),
        ("operation abort ID", "operation", "/v1/operations/{}/abort"),
        ("approval reject ID", "approval", "/v1/approvals/{}/reject"),
        ("node get ID", "node", "/v1/nodes/{}"),
        ("node drain ID", "node", "/v1/nodes/{}/drain"),
        ("node resize ID 8", "node", "/v1/nodes/{}"),
    ],
)
def test_every_command_that_takes_an_id_takes_its_beginning(
    windlass: Windlass, peer: Peer, words: str, noun: str, path: str
) -> None:
    whole = numbered(3, "x_")
    serve(peer, match(noun, whole))
    windlass(*words.replace("ID", "0190").split())
    asked, got = peer.calls[:2]
    assert (asked.path, asked.query) == ("/v1/ids/0190", {"noun": [noun]})
    assert got.path == path.format(whole)


def test_so_do_options_and_lists_of_ids(windlass: Windlass, peer: Peer) -> None:
    serve(peer, match("job", JOB_ID))
    windlass("event", "ls", "--job", "0190", "--execution", "0190")
    assert peer.calls[-1].query["job_id"] == peer.calls[-1].query["execution_id"] == [JOB_ID]
    windlass("operation", "ls", "--node", "web-1")
    assert peer.calls[-1].query["node_id"] == [JOB_ID]
    windlass("approval", "ls", "--execution", "0190")
    assert peer.calls[-1].query["execution_id"] == [JOB_ID]
    windlass("dead", "replay", "0190", JOB_ID)
    assert peer.calls[-1].json == {"ids": [JOB_ID, JOB_ID]}
    windlass("job", "submit", "noop", "--depends-on", "0190")
    assert peer.calls[-1].json["depends_on"] == [JOB_ID]


def test_what_may_mean_several_is_refused_with_what_tells_them_apart(
    windlass: Windlass, peer: Peer
) -> None:
    several = [match("job", numbered(1)), match("job", numbered(2), name="noop", state="dead")]
    serve(peer, *several, has_more=True)
    ended = windlass("job", "cancel", "00")
    assert (ended.code, ended.out) == (2, "")
    head, first, second, others = ended.err.splitlines()
    assert head == "error: 00 may be several jobs; give more digits:"
    assert first.startswith(f"  {numbered(1)}  running, ")
    assert first.endswith(" ago, send_mail")
    assert second.startswith(f"  {numbered(2)}  dead, ")
    assert others == "  and others"
    assert len(peer.calls) == 1, "nothing was cancelled"


def test_what_means_nothing_is_not_found(windlass: Windlass, peer: Peer) -> None:
    serve(peer)
    assert windlass("job", "get", "job_00ff").code == 3
    ended = windlass("node", "drain", "web-9")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == "error: no node has this name, or an id that begins so: web-9\n"
    assert all(call.path.startswith("/v1/ids/") for call in peer.calls)


def test_a_node_goes_by_its_name(windlass: Windlass, peer: Peer) -> None:
    serve(peer, match("node", NODE_ID, name="Web 1"))
    windlass("node", "drain", "Web 1")
    assert [call.path for call in peer.calls] == [
        "/v1/ids/Web%201",
        f"/v1/nodes/{NODE_ID}/drain",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("job get hello", "'hello' is not a job id; one looks like job_<32 hex digits>"),
        ("job get exe_0190", "exe_0190 is the id of an execution; give that of a job"),
        ("operation get op_", "'op_' is not an operation id"),
        (f"job get job_{'0' * 33}", "is not a job id"),
    ],
)
def test_what_cannot_be_an_id_is_a_usage_error_and_asks_nobody(
    windlass: Windlass, peer: Peer, words: str, said: str
) -> None:
    ended = windlass(*words.split())
    assert (ended.code, ended.out, peer.calls) == (2, "", [])
    assert said in ended.err
