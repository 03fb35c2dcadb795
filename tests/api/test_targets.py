"""Targets over HTTP: limits, the breaker, enable and disable, and who waits."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.api.acting_node import ActingNode
from tests.api.served import Served
from windlass.engine.jobs.claim import park

SHOP = "/v1/targets/shop.example"


async def put(api: Served, host: str = "shop.example", **limits: Any) -> dict[str, Any]:
    made: dict[str, Any] = await api.call("PUT", f"/v1/targets/{host}", 200, json=limits)
    return made


async def events(api: Served) -> list[tuple[str, str]]:
    found = (await api.get("/v1/events"))["data"]
    return [(event["type"], event["subject"]) for event in found if event["noun"] == "target"]


async def test_limits_and_breaker_are_set_whole_and_go_back_to_their_defaults(api: Served) -> None:
    await api.get(SHOP, 404)
    breaker = {"failures": 3, "rest": "2s", "rest_max": "1m"}
    made = await put(api, rate=2.5, max_running=4, breaker=breaker)
    assert (made["host"], made["state"], made["rate"]) == ("shop.example", "enabled", 2.5)
    assert (made["max_running"], made["running"]) == (4, 0)
    shown = made["breaker"]
    assert (shown["failures"], shown["rest"], shown["rest_max"]) == (3, 2.0, 60.0)
    assert (shown["state"], shown["opens"], shown["opened_at"]) == ("closed", 0, None)
    made = await put(api, rate=None)
    assert (made["rate"], made["max_running"], made["running"]) == (None, None, None)
    shown = made["breaker"]
    assert (shown["failures"], shown["rest"], shown["rest_max"]) == (10, 5.0, 300.0)
    assert await api.get(SHOP) == made
    assert await events(api) == [("put", "shop.example")] * 2


async def test_who_names_one_rest_of_a_breaker_means_the_other_to_fit(api: Served) -> None:
    long = (await put(api, breaker={"rest": "10m"}))["breaker"]
    assert (long["rest"], long["rest_max"]) == (600.0, 600.0)
    short = (await put(api, breaker={"rest_max": 2}))["breaker"]
    assert (short["rest"], short["rest_max"]) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("limits", "pointers"),
    [
        ({"rate": 0, "max_running": 0, "x": 1}, ["/rate", "/max_running", "/x"]),
        ({"rate": True}, ["/rate"]),
        ({"max_running": 1.5}, ["/max_running"]),
        ({"breaker": 5}, ["/breaker"]),
        ({"rate": "1", "breaker": {"failures": -1, "y": 1}}, ["/rate", "/breaker/failures"]),
        ({"breaker": {"rest": "0s", "rest_max": "8d"}}, ["/breaker/rest", "/breaker/rest_max"]),
        ({"breaker": {"rest": "1m", "rest_max": "1s"}}, ["/breaker/rest_max"]),
        ([], [""]),
    ],
)
async def test_every_bad_limit_is_named(door: Served, limits: Any, pointers: list[str]) -> None:
    refused = await door.call("PUT", SHOP, 422, json=limits)
    told = [problem["pointer"] for problem in refused["errors"]]
    assert told[: len(pointers)] == pointers


@pytest.mark.parametrize("host", ["a b", "shop.example:0", "shop.example:99999", "u@h", "[::g]"])
async def test_what_is_no_host_is_refused(door: Served, host: str) -> None:
    refused = await door.get(f"/v1/targets/{quote(host, safe='')}", 422)
    assert refused["errors"][0]["pointer"] == "{host}"


async def test_a_target_is_found_however_its_host_is_written(api: Served) -> None:
    await put(api)
    await put(api, "%5B2001:db8::1%5D:8080")
    await put(api, "plain.example:80")
    for written, host in [
        ("SHOP.example", "shop.example"),
        ("shop.example:443", "shop.example"),
        ("shop.example%3A443", "shop.example"),
        ("[2001:DB8::1]:8080", "[2001:db8::1]:8080"),
        ("plain.example", "plain.example:80"),
    ]:
        assert (await api.get(f"/v1/targets/{written}"))["host"] == host
    assert (await api.post("/v1/targets/plain.example/disable"))["host"] == "plain.example:80"
    await api.get("/v1/targets/shop.example:8443", 404)


async def test_a_target_is_disabled_with_a_reason_and_enabled_again(api: Served) -> None:
    for verb in ("enable", "disable", "reset"):
        await api.post(f"{SHOP}/{verb}", status=404)
    await put(api)
    heard: list[str] = []
    api.parts.announcer.on_target(heard.extend)
    off = await api.post(f"{SHOP}/disable", {"reason": "they are moving"})
    assert (off["state"], off["disabled_reason"]) == ("disabled", "they are moving")
    again = await api.post(f"{SHOP}/disable")
    assert again["disabled_at"] == off["disabled_at"]
    assert again["disabled_reason"] == "they are moving"
    on = await api.post(f"{SHOP}/enable")
    assert (on["state"], on["disabled_at"], on["disabled_reason"]) == ("enabled", None, None)
    assert set(heard) == {"shop.example"}
    assert [kind for kind, _ in await events(api)] == ["put", "disabled", "disabled", "enabled"]
    refused = await api.post(f"{SHOP}/disable", {"why": "x"}, 422)
    assert refused["errors"][0]["pointer"] == "/why"


async def test_a_reset_closes_the_breaker(api: Served) -> None:
    await put(api)
    await api.database.run("target_open", "shop.example", "http 503", 0.0)
    breaker = (await api.get(SHOP))["breaker"]
    assert (breaker["state"], breaker["opens"], breaker["reason"]) == ("open", 1, "http 503")
    assert breaker["open_until"] > breaker["opened_at"]
    breaker = (await api.post(f"{SHOP}/reset"))["breaker"]
    assert (breaker["state"], breaker["opens"], breaker["reason"]) == ("closed", 0, None)
    assert (breaker["opened_at"], breaker["open_until"]) == (None, None)
    assert (await events(api))[-1] == ("breaker_reset", "shop.example")


async def test_who_waits_for_a_target_is_counted(api: Served, node: ActingNode) -> None:
    for n in range(3):
        await api.submit(kind="http", input={"url": f"https://shop.example/{n}"})
    attempts = await node.claim()
    assert [attempt.target for attempt in attempts] == ["shop.example"] * 3
    await park(api.database, attempts[:2], ["breaker"] * 2)
    target = await api.get(SHOP)
    assert (target["parked"], target["parked_more"], target["running"]) == (2, False, None)


@pytest.mark.parametrize(
    ("reason", "said"),
    [({"reason": "they are moving"}, "is disabled (they are moving);"), ({}, "is disabled;")],
)
async def test_why_a_job_waits_for_a_disabled_target_is_said_as_far_as_it_is_known(
    api: Served, node: ActingNode, reason: dict[str, str], said: str
) -> None:
    job = await api.submit(kind="http", input={"url": "https://shop.example/"})
    await park(api.database, await node.claim(), ["disabled"])
    await api.post(f"{SHOP}/disable", reason)
    why = await api.get(f"/v1/jobs/{job['id']}/why")
    assert said in str(why)


async def test_targets_are_listed_by_host_in_pages(api: Served) -> None:
    for host in ("c.example", "a.example:8080", "%5B::1%5D"):
        await put(api, host)
    first = await api.get("/v1/targets?limit=2")
    assert len(first["data"]) == 2
    cursor = quote(first["next_cursor"], safe="")
    rest = await api.get(f"/v1/targets?limit=2&cursor={cursor}")
    hosts = [target["host"] for target in first["data"] + rest["data"]]
    assert sorted(hosts) == ["[::1]", "a.example:8080", "c.example"]
    assert rest["next_cursor"] is None
