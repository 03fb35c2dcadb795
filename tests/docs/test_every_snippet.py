"""Nothing that a page gives to type or to paste is there without somebody who does it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.docs.follow import Reader, is_known, of
from tests.docs.pages import PAGES, PYTHON, Step, steps
from tests.docs.readers import ELSEWHERE, NOT_RUN, READERS
from tests.docs.shown import holds_shown, is_shown
from tests.house.repository import ROOT

BY_PAGE = {reader.page: reader for reader in READERS}


def left_out(page: str, text: str | None = None) -> Iterator[str]:
    """What nobody does, and what is said of something that is not there."""
    found, reader, excused = steps(page, text), BY_PAGE.get(page), NOT_RUN.get(page, {})
    if reader is None:
        yield from (f"{step}: nobody reads the page" for step in found)
        return
    for n, step in enumerate(found):
        if of(step, excused) is None and not is_known(step, reader):
            yield f"{step}: nobody knows how to do {step.language or 'this'}"
        if step.file is not None and step.language in PYTHON and not used(step, found[n:], reader):
            yield f"{step}: {step.file} is saved, and nothing uses it"
    for key in {*reader.keys(), *excused}:
        if not any(of(step, {key: True}) for step in found):
            yield f"{page}: nothing begins with {key!r}"


def used(step: Step, later: list[Step], reader: Reader) -> bool:
    assert step.file is not None
    module = step.file.rpartition("/")[2].removesuffix(".py")
    texts = [other.text for other in later if other is not step]
    texts += [reader.app, *reader.before.values(), *reader.after.values(), *reader.shows.values()]
    return any(module in text for text in texts)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ELSEWHERE])
def test_every_snippet_of_a_page_is_done_by_somebody(page: str) -> None:
    assert list(left_out(page)) == []


def test_whoever_reads_a_page_and_whatever_is_not_run_is_there() -> None:
    assert BY_PAGE.keys() | ELSEWHERE.keys() | NOT_RUN.keys() <= set(PAGES)
    assert len(BY_PAGE) == len(READERS)
    assert not BY_PAGE.keys() & ELSEWHERE.keys()
    assert all((ROOT / test).is_file() for test in ELSEWHERE.values())
    assert all(reason for page in NOT_RUN.values() for reason in page.values())


@pytest.mark.parametrize(
    "added",
    [
        "```rust\nfn main() {}\n```\n",
        "```yaml\na: 1\n```\n",
        "```\nsaid\n```\n",
        '```json\n{"never": "sent"}\n```\n',
        "```console\nonly shown\n```\n",
        "```python\n# unused_anywhere.py\n```\n",
    ],
)
def test_a_new_block_that_nobody_does_is_found(added: str) -> None:
    text = (ROOT / "docs" / "outbox.md").read_text()
    assert list(left_out("docs/outbox.md", text)) == []
    assert len(list(left_out("docs/outbox.md", text + "\n" + added))) == 1


def test_what_is_said_of_something_that_has_gone_is_found() -> None:
    gone = sorted(left_out("docs/http.md", "# HTTP\n"))
    assert gone[0] == "docs/http.md: nothing begins with 'mail()'"


def test_code_without_a_fence_is_refused() -> None:
    with pytest.raises(AssertionError, match="fence this"):
        steps("docs/http.md", "Type:\n\n    windlass up\n")


def test_what_a_page_shows_is_compared_word_by_word_but_for_what_is_different_each_time() -> None:
    shown = "ID         STATE   BEAT\nnode_2470…  active  2.5 s ago (2026-11-16 00:17:33Z)\n…\nend"
    said = "ID   STATE   BEAT\nnode_4c9ff60a50364c64  active  now (2030-01-01 10:11:12Z)\n{}end\n"
    assert is_shown(shown, said.format(""))
    assert is_shown(shown, said.format("more\nand more\n"))
    assert not is_shown(shown, said.format("").replace("active", "lost"))
    assert not is_shown(shown, said.format("").replace("node_", "job_"))
    assert not is_shown(shown, said.format("") + "more\n")
    assert not is_shown("9.0", "8.0")
    assert is_shown('{"a":1,\n "b":2}', '{"a":1,"b":2}')
    assert holds_shown("a\nc", "a\nb\nc\nd")
    assert not holds_shown("c\na", "a\nb\nc\nd")
