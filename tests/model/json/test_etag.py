"""Entity tags: how they are read, and when a precondition holds."""

from __future__ import annotations

import re

import pytest

from windlass.errors import PreconditionFailed
from windlass.model.json.etag import (
    EVERY,
    HEADER_PATTERN,
    Precondition,
    is_among,
    read_tags,
    tag_of,
)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("*", EVERY),
        ('"a"', {'"a"'}),
        ('"a", W/"b"', {'"a"', 'W/"b"'}),
        ('"a" ,\t"b,c"', {'"a"', '"b,c"'}),
        ('""', {'""'}),
        ('"*"', {'"*"'}),
    ],
)
def test_a_list_of_tags_is_read_as_the_schema_says(text: str, tags: set[str]) -> None:
    assert read_tags(text) == tags
    assert re.fullmatch(HEADER_PATTERN, text)


@pytest.mark.parametrize(
    "text",
    ["", "a", '"a', '"a""b"', '"a",', ',"a"', "*,*", '*, "a"', 'w/"a"', '"a b"', '"é"', '"a"\n'],
)
def test_what_is_no_list_of_tags_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="each in its quotes"):
        read_tags(text)
    assert not re.fullmatch(HEADER_PATTERN, text)


def test_a_tag_tells_parts_apart() -> None:
    tags = [tag_of(), tag_of(None), tag_of(1), tag_of("1"), tag_of(1, None), tag_of(None, 1)]
    assert len(set(tags)) == len(tags)
    assert tag_of(1, None) == tag_of(1, None)
    assert read_tags(tag_of(1)) == {tag_of(1)}


@pytest.mark.parametrize(
    ("wanted", "tag", "holds"),
    [
        (Precondition(), None, True),
        (Precondition(), '"a"', True),
        (Precondition(match=EVERY), '"a"', True),
        (Precondition(match=EVERY), None, False),
        (Precondition(match=frozenset({'"a"'})), '"a"', True),
        (Precondition(match=frozenset({'W/"a"'})), '"a"', False),
        (Precondition(match=frozenset({'"*"'})), '"a"', False),
        (Precondition(none_match=EVERY), None, True),
        (Precondition(none_match=EVERY), '"a"', False),
        (Precondition(none_match=frozenset({'W/"a"'})), '"a"', False),
        (Precondition(none_match=frozenset({'"b"'})), '"a"', True),
        (Precondition(match=frozenset({'"a"'}), none_match=EVERY), '"a"', False),
    ],
)
def test_a_precondition_holds_or_is_refused(
    wanted: Precondition, tag: str | None, holds: bool
) -> None:
    if holds:
        wanted.check("queue", "mail", tag)
        return
    with pytest.raises(PreconditionFailed) as refused:
        wanted.check("queue", "mail", tag)
    assert (refused.value.status, refused.value.etag) == (412, tag)
    assert refused.value.facts["errors"][0]["detail"] == str(refused.value)


def test_readers_compare_weakly() -> None:
    assert is_among('"a"', frozenset({'W/"a"'}))
    assert not is_among('"a"', frozenset({'"b"'}))
