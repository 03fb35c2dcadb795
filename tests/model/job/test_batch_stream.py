"""The jobs of a batch out of its bytes: the same as parsing it whole, and never in memory whole."""

from __future__ import annotations

import json
import random
import tracemalloc
from typing import Any

import pytest

from windlass.errors import InvalidInput, MalformedBody
from windlass.limits import BATCH_JOBS_MAX, BODY_BYTES_MAX
from windlass.model.job.batch_stream import WINDOW_BYTES, jobs_in
from windlass.model.json import strict as strict_json


def cut(body: bytes, size: int = 65_536) -> list[bytes]:
    """In pieces, as they come."""
    return [body[start : start + size] for start in range(0, len(body), size)]


def _value(dice: random.Random, depth: int = 0) -> Any:
    kind = dice.choice("isfnblo" if depth < 3 else "isfnb")
    texts = ["", "a", "é", "…", "😀", '"', "\\", "\n", "x" * 50]
    match kind:
        case "i":
            return dice.randint(-(10**9), 10**9)
        case "s":
            return "".join(dice.choices(texts, k=dice.randint(0, 6)))
        case "f":
            return dice.random() * 10 ** dice.randint(-20, 20)
        case "l":
            return [_value(dice, depth + 1) for _ in range(dice.randint(0, 4))]
        case "o":
            return {f"k{n}": _value(dice, depth + 1) for n in range(dice.randint(0, 4))}
        case "b":
            return dice.random() < 0.5
        case _:
            return None


@pytest.mark.parametrize("is_ascii", [True, False])
@pytest.mark.parametrize("indent", [None, 3])
def test_what_is_read_in_windows_is_what_is_read_whole(is_ascii: bool, indent: int | None) -> None:
    seed = random.randrange(2**32)
    dice = random.Random(seed)
    jobs = [{"kind": "noop", "input": _value(dice), "n": n} for n in range(6_000)]
    text = json.dumps({"jobs": jobs}, ensure_ascii=is_ascii, indent=indent)
    body = text.encode()
    assert len(body) > WINDOW_BYTES, "or there is nothing to see"
    for size in (1_000, 65_536, len(body)):
        assert list(jobs_in(cut(body, size))) == jobs, f"seed {seed}"
    assert strict_json.parse(body)["jobs"] == jobs


def test_jobs_larger_than_a_window_are_read() -> None:
    jobs = [{"input": {"text": "é" * n}} for n in (10, WINDOW_BYTES, 3, BODY_BYTES_MAX // 2 - 100)]
    body = json.dumps({"jobs": jobs}, ensure_ascii=False).encode()
    assert list(jobs_in(cut(body))) == jobs


@pytest.mark.parametrize(
    "body",
    [
        b'{"jobs": [{}]}',
        b' \n{ "jobs" :[ {} , 12 ,"a",null,[ ] ] } \n',
        b'{"\\u006aobs":[{}]}',
        b'{"jobs":[' + b" " * 3 * WINDOW_BYTES + b"{}" + b" " * 3 * WINDOW_BYTES + b"]}",
    ],
)
def test_any_way_to_write_it_is_taken(body: bytes) -> None:
    assert list(jobs_in(cut(body))) == json.loads(body)["jobs"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"jobs"',
        b'{"jobs":[',
        b'{"jobs":[{}',
        b'{"jobs":[{}]',
        b'{"jobs":[{}]} {}',
        b'{"jobs":[{},]}',
        b'{"jobs":[{} {}]}',
        b'{"jobs":[{"a":1,"a":2}]}',
        b'{"jobs":[NaN]}',
        b'{"jobs":[{"a":1e999}]}',
        b'{"jobs":[{}],"jobs":[{}]}',
        b'{"jobs":[{"a":"\xff"}]}',
        b'{"jobs":["' + b"a" * WINDOW_BYTES + b"\xff" + b'"]}',
        b"{jobs:[{}]}",
        b'{"jobs":[' + b"[" * 100_000 + b"]" * 100_000 + b"]}",
        b'{"jobs":["' + b"a" * (BODY_BYTES_MAX + 1) + b'"]}',
    ],
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        list(jobs_in(cut(body)))


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{}",
        b'"jobs"',
        b'{"jobs":{}}',
        b'{"jobs":[]}',
        b'{"job":[{}]}',
        b'{"jobs":[{}],"more":1}',
        b'{"jobs":[' + b"{}," * BATCH_JOBS_MAX + b"{}]}",
    ],
)
def test_what_is_no_batch_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput) as refused:
        list(jobs_in(cut(body)))
    assert not isinstance(refused.value, MalformedBody)


def test_a_batch_is_never_in_memory_as_values() -> None:
    job = json.dumps({"input": {"list": [[]] * 5_000}}).encode()
    body = b'{"jobs":[' + b",".join([job] * 40) + b"]}"
    pieces = cut(body)
    tracemalloc.start()
    try:
        assert sum(1 for _ in jobs_in(pieces)) == 40
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * WINDOW_BYTES, "parsed whole it would take many times as much"
