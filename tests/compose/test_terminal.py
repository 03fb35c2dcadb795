"""What is written to the terminal: in its columns, and without secrets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windlass.compose.terminal import COLUMNS_MAX, Off, banner, shown_server, some_of

WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=120)


@given(st.lists(WORDS, min_size=1, max_size=30))
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(words: list[str]) -> None:
    text = banner("1", [("data", " ".join(words))], [Off(what="it", how=" ".join(words))])
    assert all(len(line) <= COLUMNS_MAX for line in text.splitlines())
    assert "".join(text.split()).count("".join(words)) >= 2


def test_of_many_names_some_are_shown_and_the_others_counted() -> None:
    assert some_of(["a", "b"], 20) == "a, b"
    assert some_of([f"task_{n}" for n in range(9)], 30) == "task_0, task_1, and 7 more"


def test_a_server_is_shown_without_who_logs_in() -> None:
    assert shown_server("postgresql://bob:canary@db:5432/shop?x=1") == "db:5432/shop"
    assert shown_server("postgresql://bob:canary@one,two/shop") == "one,two/shop"
    socket = "postgresql://bob:canary@/shop?host=/run/pg&port=5432"
    assert shown_server(socket) == "/run/pg/shop"
    assert shown_server("redis://:canary@cache") == "cache"
    assert shown_server("unix:///run/valkey.sock") == "/run/valkey.sock"
