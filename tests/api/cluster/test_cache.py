"""/v1/system/cache: what caches have answered, and what must be dropped, told whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.api.served import Served
from tests.until import until
from windlass.engine.cache.cache import Cache, Codec
from windlass.limits import CACHE_KEYS_BYTES_MAX, CACHE_KEYS_MAX

PATH = "/v1/system/cache"


def letters(served: Served) -> Cache[str, str]:
    async def load_many(keys: Sequence[str]) -> dict[str, str]:
        return {key: key.upper() for key in keys if key != "none"}

    codec: Codec[str, str] = Codec(decode=lambda payload: msgspec.msgpack.decode(payload, type=str))
    return served.parts.caches.make("letters", load_many, codec)


async def test_every_cache_says_what_it_has_answered(patient_lane: None, api: Served) -> None:
    async def is_up() -> bool:
        return api.parts.lane.is_up

    # A cache forgets what it has when Redis comes: it may have missed what was to be dropped.
    await until(is_up, what="the fast lane is up")
    cache = letters(api)
    fresh = {"hits": 0, "redis_hits": 0, "loads": 0, "errors": 0, "hit_rate": None}
    told = [{"cache": name, "entries": 0, **fresh} for name in ("definition", "letters")]
    assert await api.get(PATH) == told
    await cache.get_many(["a", "b", "none"])
    await cache.get("a")
    _, its = await api.get(PATH)
    assert (its["entries"], its["hits"], its["loads"], its["hit_rate"]) == (2, 1, 3, 0.25)


async def test_with_no_node_alive_nobody_is_told(api: Served) -> None:
    letters(api)
    for wish in ({"keys": ["a"]}, {"all": True}):
        said = await api.post(f"{PATH}/invalidate", {"cache": "letters", **wish})
        assert said == {"acknowledged": [], "missing": [], "dropped": 0}


BAD: list[tuple[Any, dict[str, str]]] = [
    ([], {"": "must be an object such as"}),
    ({}, {"/cache": "is needed", "": "needs either"}),
    ({"cache": "letters"}, {"": "needs either"}),
    ({"cache": "letters", "all": True, "keys": ["a"]}, {"": "needs either"}),
    ({"cache": "letters", "all": False}, {"/all": "must be true"}),
    ({"cache": "letters", "keys": []}, {"/keys": "a list of 1 to"}),
    ({"cache": "letters", "keys": ["k"] * (CACHE_KEYS_MAX + 1)}, {"/keys": "a list of 1 to"}),
    ({"cache": "letters", "keys": [1]}, {"/keys": "printable"}),
    ({"cache": "letters", "keys": ["é" * 100] * 40}, {"/keys": f"{CACHE_KEYS_BYTES_MAX} bytes"}),
    ({"cache": "a b", "key": ["a"]}, {"/cache": "must", "/key": "unknown field", "": "needs"}),
]


@pytest.mark.parametrize(("body", "problems"), BAD)
async def test_every_problem_of_a_wish_is_told(
    door: Served, body: Any, problems: dict[str, str]
) -> None:
    told = await door.post(f"{PATH}/invalidate", body, 422)
    details = {problem["pointer"]: problem["detail"] for problem in told["errors"]}
    assert details.keys() == problems.keys()
    assert all(text in details[pointer] for pointer, text in problems.items())


async def test_a_cache_that_nobody_has_is_not_found(api: Served) -> None:
    told = await api.post(f"{PATH}/invalidate", {"cache": "toast", "all": True}, 404)
    assert "'toast'" in told["detail"]
