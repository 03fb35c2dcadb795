"""At a terminal and in a pipe: colour, progress, Ctrl-C, and a reader that leaves."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event

import pytest

from tests.cli.peer import Call, Peer, Says
from tests.cli.things import JOB_ID, job, numbered, page

COMMAND = [sys.executable, "-m", "windlass"]
# The same, hearing Ctrl-C although whoever runs these tests may not: what a shell starts with `&`,
# and all that it starts in turn, is made deaf to it.
HEARING = [
    sys.executable,
    "-c",
    (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL);"
        "os.execv(sys.argv[1], sys.argv[1:])"
    ),
    *COMMAND,
]


def environment(peer: Peer, columns: int = 120) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")}
    for name in ("NO_COLOR", "FORCE_COLOR"):
        kept.pop(name, None)
    return {**kept, "WINDLASS_URL": peer.url, "TERM": "xterm-256color", "COLUMNS": str(columns)}


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Our end and the program's end of a terminal."""
    ours, theirs = pty.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def read_terminal(ours: int, seen: Callable[[str], None]) -> str:
    """What the program wrote until it let go of the terminal; `seen` is told as it grows."""
    found = b""
    while True:
        try:
            piece = os.read(ours, 65_536)
        except OSError:  # how Linux says that nobody holds the other end any more
            piece = b""
        if not piece:
            return found.decode()
        found += piece
        seen(found.decode(errors="replace"))


def at_a_terminal(
    peer: Peer, *words: str, columns: int = 120, seen: Callable[[str], None] = lambda _: None
) -> str:
    with terminal() as (ours, theirs):
        process = subprocess.Popen(
            [*COMMAND, *words], env=environment(peer, columns), stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        shown = read_terminal(ours, seen)
        process.wait(30)
    return shown


def test_a_table_is_coloured_at_a_terminal_and_ids_are_whole_where_there_is_room(
    peer: Peer,
) -> None:
    ended = job(id=numbered(1), state="dead", finished_at="2026-01-31T12:00:00Z")
    peer.answer(Says(json=page([ended])))
    shown = at_a_terminal(peer, "job", "ls")
    assert "\x1b[31mdead" in shown
    assert f"{numbered(1)}  noop" in shown
    assert "(2026-01-31 12:00:00Z)" in shown


def test_a_narrow_terminal_shortens_ids_and_keeps_rows_on_one_line(peer: Peer) -> None:
    error = {"cause": "exception", "message": "x" * 300}
    dead = job(id=JOB_ID, state="dead", finished_at="2026-01-31T12:00:00Z", error=error)
    peer.answer(Says(json=page([dead])))
    _, row, note = at_a_terminal(peer, "dead", "ls", columns=80).splitlines()
    assert note == "no room for attempt; -o json has all"
    assert row.startswith(f"{JOB_ID[:22]}  noop")
    assert "d ago" in row
    assert "(2026" not in row
    assert "…" in row
    # In a pipe it is whole.
    ran = subprocess.run(
        [*COMMAND, "dead", "ls"], env=environment(peer, 80), capture_output=True, check=True
    )
    assert JOB_ID.encode() in ran.stdout


def test_the_same_table_in_a_pipe_has_no_colour(peer: Peer) -> None:
    peer.answer(Says(json=page([job(state="dead")])))
    ran = subprocess.run(
        [*COMMAND, "job", "ls"], env=environment(peer), capture_output=True, check=True
    )
    assert b"dead" in ran.stdout
    assert b"\x1b" not in ran.stdout + ran.stderr


def test_json_is_indented_for_a_person_and_harmless(peer: Peer) -> None:
    peer.answer(Says(json=job(result={"text": "\x1b[31m\x9b2J é"})))
    shown = at_a_terminal(peer, "job", "get", JOB_ID, "-o", "json")
    assert '\r\n  "id": ' in shown
    assert "\\u001b[31m\\u009b2J é" in shown
    assert "\x9b" not in shown


def test_waiting_at_a_terminal_shows_where_the_job_is(peer: Peer) -> None:
    # The job moves on when its state before was seen.
    words = ["queued", "running, attempt 2 of 5"]
    were_seen = [Event(), Event()]

    def answer(_: Call) -> Says:
        match len(peer.calls):
            case 1:
                return Says(json=job())
            case 2:
                were_seen[0].wait(30)
                return Says(json=job(state="running", attempt=2))
            case _:
                were_seen[1].wait(30)
                return Says(json=job(state="succeeded", result={"sum": 3}))

    def seen(shown: str) -> None:
        for word, was_seen in zip(words, were_seen, strict=True):
            if f"{JOB_ID} {word}" in shown:
                was_seen.set()

    peer.answer_by(answer)
    shown = at_a_terminal(peer, "job", "watch", JOB_ID, seen=seen)
    assert all(was_seen.is_set() for was_seen in were_seen)
    assert shown.endswith('{\r\n  "sum": 3\r\n}\r\n')
    # Somebody looks: the server is asked for news often, not only for the end.
    assert peer.calls[1].query == {"wait": ["0.250s"]}


def test_ctrl_c_ends_with_130_and_without_a_traceback(peer: Peer) -> None:
    asked, let_go = Event(), Event()

    def hold(_: Call) -> Says:
        if len(peer.calls) > 1:
            asked.set()
            let_go.wait(30)
        return Says(json=job(state="running"))

    peer.answer_by(hold)
    with subprocess.Popen(
        [*HEARING, "job", "watch", JOB_ID],
        env=environment(peer),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert asked.wait(30)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            let_go.set()
            process.kill()
    assert process.returncode == 130
    assert (out, err) == ("", f"{JOB_ID} running\n")


@pytest.mark.parametrize("output", ["id", "table", "jsonl"])
def test_a_reader_that_leaves_ends_it_without_a_word(peer: Peer, output: str) -> None:
    peer.answer(Says(json=page([job(id=numbered(n)) for n in range(500)], "more")))
    listing = f"exec {sys.executable} -m windlass job ls --limit 5000 -o {output}"
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; ({listing}) | head -1"],
        env=environment(peer),
        capture_output=True,
        text=True,
        check=False,
    )
    assert len(ran.stdout.splitlines()) == 1
    assert (ran.stderr, ran.returncode) == ("", 141)
