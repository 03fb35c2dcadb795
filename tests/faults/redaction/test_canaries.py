"""No secret is found where nobody put it: logs, metrics, problems, answers, Redis, a dump of the
database, command lines, environments (docs/security.md).

Nodes live through success, failures, retries, dead letters, timeouts, crashes, refused requests and
servers that cut them off, with a canary wherever a secret can enter. Then everything that was
written or said is searched for all of them. ALLOWED is the whole list of where one may be.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import aiohttp
import asyncpg
import psutil
import pytest
from redis.asyncio import Redis

from tests.faults.redaction.canaries import Canaries, Places, found
from tests.faults.redaction.life import Life
from tests.faults.redaction.shop import Shop, open_shop
from tests.ports import free_port, free_ports
from tests.until import until
from windlass.embedded.binaries import postgres_bin_dir
from windlass.embedded.client import Login
from windlass.testing.servers import PrivateServers

# Where a canary may be: which, where (both as patterns), and why. Nowhere else.
_OF_INPUT: Final = "token in an address|password in a body|Authorization of an input"
_ECHOED: Final = f"({_OF_INPUT}), said back"
_READS_INPUT: Final = (
    r"answer of (POST /v1/jobs|GET /v1/(jobs|dead-letters)(/ID|/\{job_id\})?)"
    r"|windlass job( get)?|dump of windlass\.(job|job_history)"
)
_READS_ANSWERS: Final = (
    r"answer of GET /v1/jobs/\{job_id\}/(attempts|events|webhook-status)"
    r"|windlass job (deliveries|why)|dump of windlass\.attempt"
)
ALLOWED: Final[tuple[tuple[str, str, str], ...]] = (
    (
        f"({_OF_INPUT}), kept silent|{_ECHOED}|argument of a task",
        _READS_INPUT,
        "an input is shown as it was given; what not everybody may read has a name instead",
    ),
    (
        _ECHOED,
        _READS_ANSWERS,
        "a receiver said back what an input says; who reads its answer may read the input",
    ),
    (
        "session .*|CSRF token|.* the choice",
        "answer of (login|password)",
        "shown to whom it is made for, in the answer that makes it",
    ),
    (
        "(another )?one-time password.*|.*key of .*|generated secret|secret of a target.*",
        "answer that shows .*",
        "shown to whom it is made for, in the answer that makes it",
    ),
    (
        "first (admin key|one-time password)",
        "terminal of json",
        "shown once, to whoever sits at the first start",
    ),
    (
        "secret in a path",
        "answers to wrong paths",
        "the caller is told which path it was that leads nowhere",
    ),
    (
        "password of (PostgreSQL|Redis)|secret_key|a secret in a mistyped variable",
        "environment of (a node|a child of a node)",
        "where its owner has put it; a task's process has it from the node, whose code runs in it",
    ),
)
ENDED: Final = ("succeeded", "dead", "cancelled", "expired")


@pytest.mark.timeout(300)
async def test_no_secret_is_found_where_nobody_put_it(
    servers: PrivateServers, database_url: str, tmp_path: Path
) -> None:
    life = Life(
        folder=tmp_path, database_url=database_url, redis_url=servers.redis_of(database_url)
    )
    canaries = life.canaries
    since = servers.postgres.log_path.stat().st_size
    canaries.add("password of PostgreSQL", urlsplit(database_url).password or "")
    canaries.add("password of Redis", urlsplit(life.redis_url).password or "")
    sealing = canaries.add("secret_key", secrets.token_hex(32))
    strange = {"WINDLASS_OIDC_CLIENT_SECRETS": canaries.new("a secret in a mistyped variable")}
    async with (
        open_shop(canaries) as (shop, shop_url),
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as client,
        watch_redis(life),
    ):
        life.client = client
        try:
            await life.start(
                "json", WINDLASS_SECRET_KEY=sealing, WINDLASS_LOG_FORMAT="json", **strange
            )
            await life.start("console", WINDLASS_SECRET_KEY=sealing)
            key = await be_admin(life)
            await sign_in(life, key)
            await be_refused(life, key)
            await deliver(life, key, shop, shop_url)
            await run_tasks(life, key)
            await read_everything(life, key)
            await be_cut_off(life, key)
            await look_at_processes(life)
        finally:
            await life.end()
    await take_down(life, servers.postgres.log_path, since)
    check(life)
    assert len(canaries.planted) > 40
    assert len(life.places.texts) > 70
    # Every place was filled with what it is there for.
    whole = {where: b"".join(texts) for where, texts in life.places.texts.items()}
    assert b"Traceback" in whole["log as json"]
    assert b"job_dead" in whole["log as console"]
    assert re.search(rb"exit code -11|SIGSEGV|signal 11", whole["dump of windlass.attempt"])
    assert b"windlass_http" in whole["answer of GET /metrics"]
    assert len(life.places.texts["commands to Redis"]) > 100
    assert len(life.places.texts["Redis"]) > 4
    assert set(shop.calls) > {"/500/bearer", "/token", "/later", "/quiet/400"}


@pytest.mark.timeout(300)
async def test_no_secret_is_found_in_what_is_said_of_wrong_settings(
    servers: PrivateServers, database_url: str, tmp_path: Path
) -> None:
    life = Life(
        folder=tmp_path, database_url=database_url, redis_url=servers.redis_of(database_url)
    )
    life.canaries.add("password of PostgreSQL", urlsplit(database_url).password or "")
    life.canaries.add("password of Redis", urlsplit(life.redis_url).password or "")
    await be_misconfigured(life)
    check(life)
    said = {where: b"".join(texts) for where, texts in life.places.texts.items()}
    assert all(
        b"***" in said[f"windlass {verb} with wrong settings"] for verb in ("node", "config")
    )
    assert b"password" in said["windlass doctor that is refused"]


def test_a_canary_is_found_however_it_is_written() -> None:
    canaries, places = Canaries(), Places()
    secret = canaries.new("secret")
    for number, form in enumerate(
        (
            secret.encode(),
            secret.encode().hex().encode(),
            *(base64.b64encode(b"x" * n + secret.encode() + b"yz") for n in range(5)),
            base64.urlsafe_b64encode(b"\xff" + secret.encode()),
        )
    ):
        places.add(str(number), b"..." + form + b"...")
    places.add("none", b"nothing of the kind")
    odd = canaries.add("odd", 'a"b/c+d é=\\secret')
    places.add("quoted", quote(odd, safe=""))
    places.add("JSON", json.dumps({"a": odd}))
    seen = {where for _, where in found(canaries, places)}
    assert seen == places.texts.keys() - {"none"}


def check(life: Life) -> None:
    unexpected = {
        f"{what} in {where}": shown
        for (what, where), shown in found(life.canaries, life.places).items()
        if not any(re.fullmatch(a, what) and re.fullmatch(b, where) for a, b, _reason in ALLOWED)
    }
    assert not unexpected, json.dumps(unexpected, indent=1, ensure_ascii=False)


# -- who calls -------------------------------------------------------------------------------------


async def be_admin(life: Life) -> str:
    """The first start prints a key and a one-time password, to its terminal alone."""
    said = (life.folder / "json.out").read_text()
    key = re.search(r"admin key: (\S+)", said)
    password = re.search(r"one-time password (\S+)", said)
    assert key is not None
    assert password is not None
    life.canaries.add("first admin key", key[1])
    once = life.canaries.add("first one-time password", password[1])
    chosen = life.canaries.new("password that the admin chose")
    begun = await life.must(
        201,
        "POST",
        "/v1/session",
        json={"user": "admin", "password": once, "wants_token": True},
        says="answer of login",
    )
    first = life.canaries.add("session token before the choice", begun["token"])
    changed = await life.must(
        200,
        "PUT",
        "/v1/session/password",
        key=first,
        json={"old": once, "new": chosen},
        says="answer of password",
    )
    life.canaries.add("session token after the choice", changed["token"])
    return key[1]


async def sign_in(life: Life, key: str) -> None:
    canaries = life.canaries
    password = canaries.new("password of a user")
    await life.must(
        201,
        "POST",
        "/v1/users",
        key=key,
        json={"name": "ann", "role": "operator", "password": password},
    )
    made = await life.must(
        201,
        "POST",
        "/v1/users",
        key=key,
        json={"name": "bob", "role": "viewer"},
        says="answer that shows a one-time password",
    )
    canaries.add("one-time password of a user", made["one_time_password"])
    reset = await life.must(
        200,
        "POST",
        "/v1/users/bob/reset-password",
        key=key,
        says="answer that shows a one-time password",
    )
    canaries.add("another one-time password", reset["one_time_password"])
    for number, wrong in enumerate((canaries.new("wrong password"), password + "x")):
        await life.must(
            401, "POST", "/v1/session", json={"user": "ann", "password": wrong}, node=number
        )
    assert life.client is not None
    login = {"user": "ann", "password": password}
    async with life.client.post(f"{life.urls[0]}/v1/session", json=login) as answer:
        assert answer.status == 201
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
        life.places.add("answer of login", str(answer.headers).encode() + await answer.read())
        csrf = canaries.add("CSRF token", (await answer.json())["csrf_token"])
    canaries.add("session in a cookie", cookie.partition("=")[2])
    mine = {"Cookie": cookie}
    await life.must(200, "GET", "/v1/session", headers=mine, says="answer of login")
    await life.must(
        201, "POST", "/v1/jobs", json={"kind": "noop"}, headers={**mine, "X-CSRF-Token": csrf}
    )
    wrong_csrf = canaries.new("wrong CSRF token")
    await life.must(
        403, "POST", "/v1/jobs", json={"kind": "noop"}, headers={**mine, "X-CSRF-Token": wrong_csrf}
    )
    for name, scopes in (("reader", {"role": "viewer"}), ("submitter", {"scopes": ["submit"]})):
        status, given = await life.ask(
            "POST",
            "/v1/keys",
            key=key,
            json={"name": name, **scopes},
            says="answer that shows a key",
        )
        if status == 201:
            token = canaries.add(f"key of {name}", given["token"])
            await life.ask("GET", "/v1/jobs", key=token, node=1)
            status, turned = await life.ask(
                "POST",
                f"/v1/keys/{given['id']}/rotate",
                key=key,
                json={},
                says="answer that shows a key",
            )
            assert status in (200, 201), turned
            canaries.add(f"rotated key of {name}", turned["token"])
    assert sum(what.startswith("key of") for what in canaries.planted) > 0


# -- refusals --------------------------------------------------------------------------------------


async def be_refused(life: Life, key: str) -> None:
    """Requests that are wrong, with secrets in them."""
    canaries = life.canaries
    unknown = canaries.add("key that nobody has", "wlk_" + secrets.token_urlsafe(32))
    stale = canaries.add("session that nobody has", "wls_" + secrets.token_urlsafe(32))
    basic = canaries.new("password for basic authentication")
    odd = canaries.new("header that is no key")
    url = canaries.new("token in a query")
    told = canaries.new("secret in a body that is refused")
    in_path = canaries.new("secret in a path")
    basic_header = base64.b64encode(f"u:{basic}".encode()).decode()
    says = "answers that refuse"
    for node in (0, 1):
        for headers in (
            {"Authorization": f"Bearer {unknown}"},
            {"Authorization": f"Basic {basic_header}"},
            {"Authorization": odd},
            {"Authorization": f"Bearer {odd}"},
            {"Cookie": f"__Host-windlass={stale}"},
            {"Cookie": f"__Host-windlass={odd}; other={stale}"},
        ):
            status, _ = await life.ask("GET", "/v1/jobs", headers=headers, says=says, node=node)
            assert status == 401
        for path in (
            f"/v1/jobs?token={url}",
            f"/v1/jobs?queue=a&api_key={url}",
            f"/health?token={url}",
            f"/v1/jobs?cursor={url}",
        ):
            await life.ask("GET", path, key=key, says="answers to wrong queries", node=node)
        for body in (
            f'{{"user": "ann", "password": "{told}"',
            json.dumps({"user": "ann", "password": {"a": told}}),
            json.dumps({"user": "ann", "passwort": told}),
            json.dumps({"user": "ann", "password": told, "x": told}),
            json.dumps({"user": "ann", "password": told * 2_000}),
            json.dumps([told]),
            json.dumps(told),
            f'{{"password": "{told}", "password": "{told}"}}',
            f'{{"user": "ann", "password": "{told}\\ud800"}}',
            f'{{"user": "ann\\u0000", "password": "{told}"}}',
        ):
            for path, method in (
                ("/v1/session", "POST"),
                ("/v1/session/password", "PUT"),
                ("/v1/users", "POST"),
                ("/v1/secrets/wrong", "PUT"),
                ("/v1/keys", "POST"),
            ):
                await life.ask(
                    method,
                    path,
                    key=key,
                    data=body.encode(),
                    says=says,
                    node=node,
                    headers={"Content-Type": "application/json"},
                )
        for value in (f"whsec_{told}", "whsk_" + told, told[:3]):
            await life.ask(
                "PUT", "/v1/secrets/webhook", key=key, json={"value": value}, says=says, node=node
            )
        await life.ask("PUT", "/v1/secrets/a b", key=key, json={"value": told}, says=says)
        await life.ask("PUT", "/v1/secrets/long", key=key, json={"value": told * 9_000}, says=says)
        await life.ask("GET", f"/v1/jobs/{in_path}", key=key, says="answers to wrong paths")
        await life.ask(
            "POST",
            "/v1/jobs/batch",
            key=key,
            says=says,
            data=f'[{{"kind": "http", "input": {{"url": "http://u:{told}@shop.example/"}}}}]'.encode(),
            headers={"Content-Type": "application/json"},
        )
        await life.ask(
            "POST",
            "/v1/jobs",
            key=key,
            says=says,
            json={"kind": "http", "input": {"url": f"http://u:{told}@shop.example/"}},
        )
        await life.ask(
            "POST",
            "/v1/jobs",
            key=key,
            says=says,
            json={
                "kind": "http",
                "input": {"url": "http://shop.example/", "headers": {"Authorization": [told]}},
            },
        )


# -- work ------------------------------------------------------------------------------------------


async def deliver(life: Life, key: str, shop: Shop, shop_url: str) -> None:
    canaries, host = life.canaries, urlsplit(shop_url).netloc
    # Its breaker opens, as many of these fail, and lets a delivery try soon again, each time.
    breaker = {"failures": 5, "rest": "1s", "rest_max": "1s"}
    await life.must(200, "PUT", f"/v1/targets/{host}", key=key, json={"breaker": breaker})
    stored = {
        "bearer": canaries.new("stored bearer token"),
        "api-key": canaries.new("stored API key"),
        "basic": canaries.new("stored password"),
        "oauth": canaries.new("stored client secret"),
        "standby": canaries.new("stored secret that is never sent"),
        "sign": "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode(),
    }
    canaries.add("stored signing key", stored["sign"].removeprefix("whsec_"))
    for name, value in stored.items():
        await life.must(
            200,
            "PUT",
            f"/v1/secrets/{name}",
            key=key,
            json={"value": value, "hosts": [host]},
            says="answer of PUT /v1/secrets",
        )
    rotated = canaries.new("stored bearer token after its rotation")
    made = await life.must(
        200,
        "PUT",
        "/v1/secrets/made",
        key=key,
        json={"generate": "hmac"},
        says="answer that shows a generated secret",
    )
    canaries.add("generated secret", made["value"].partition("_")[2])
    ways: dict[str, Any] = {
        "bearer": {"type": "bearer", "secret": "bearer"},
        "api-key": {"type": "api_key", "header": "X-Shop", "secret": "api-key"},
        "basic": {"type": "basic", "username": "u", "secret": "basic"},
        "oauth": {
            "type": "oauth2",
            "token_url": f"{shop_url}/token",
            "client_id": "c",
            "secret": "oauth",
        },
        "sign": {"type": "signature", "secret": "sign"},
    }
    once = {"max_attempts": 2, "initial": "10ms", "max": "10ms"}

    async def submit(path: str, **more: Any) -> None:
        timeout = more.pop("timeout", "30s")
        url = path if "://" in path else shop_url + path
        job = {"kind": "http", "retry": once, "timeout": timeout, "input": {"url": url, **more}}
        await life.submit(key, job)

    async def deliveries() -> None:
        for status in (200, 400, 500):
            for name, way in ways.items():
                await submit(f"/{status}/{name}", json={"a": 1}, auth=way)

    await deliveries()
    for answered in ("said back", "kept silent"):
        written = canaries.new(f"Authorization of an input, {answered}")
        query = canaries.new(f"token in an address, {answered}")
        given = {
            "json": {"password": canaries.new(f"password in a body, {answered}")},
            "headers": {"Authorization": f"Bearer {written}"},
        }
        folder = "quiet/" if answered == "kept silent" else ""
        for status in (200, 400, 500):
            await submit(f"/{folder}{status}?token={query}", **given)
        await submit(f"/hang?token={query}", timeout="1s", **given)
        await submit(f"http://127.0.0.1:{free_port()}/?token={query}", **given)
    await submit("/hang", timeout="1s", auth=ways["bearer"])
    await submit("/later", auth=ways["bearer"])
    await until(lambda: shop.callback_token, what="a receiver will answer later")
    wrong = canaries.new("wrong callback token")
    for token, is_good in ((wrong, False), (shop.callback_token, True)):
        got, value = await life.ask(
            "POST",
            f"/v1/jobs/{shop.webhook_id}/complete",
            json={"token": token, "state": "succeeded", "result": {"n": 1}},
            says="answer of complete",
        )
        assert (got == 200) is is_good, (got, value)
    await life.must(
        200,
        "PUT",
        "/v1/secrets/bearer",
        key=key,
        json={"value": rotated, "overlap": "1h", "hosts": [host]},
        says="answer of PUT /v1/secrets",
    )
    await deliveries()
    shown = await life.must(
        200,
        "GET",
        f"/v1/targets/{host}/secret",
        key=key,
        says="answer that shows a target's secret",
    )
    for number, secret in enumerate(re.findall(r"whsec_([A-Za-z0-9+/=]+)", json.dumps(shown))):
        canaries.add(f"secret of a target {number}", secret)


async def run_tasks(life: Life, key: str) -> None:
    argument = life.canaries.new("argument of a task")
    once = {"max_attempts": 2, "initial": "10ms", "max": "10ms"}
    gate = life.folder / "go"

    catalogue = await life.must(200, "GET", "/v1/tasks", key=key)
    named = {each["name"].rpartition(".")[2]: each["name"] for each in catalogue["data"]}

    async def go(name: str, path: str | None = None, **more: Any) -> None:
        arguments = {"password": argument, **({} if path is None else {"path": path})}
        given = {"task": named[name], "kwargs": arguments}
        await life.submit(key, {"kind": "python", "retry": once, "input": given, **more})

    await go("log_in")
    await go("crash")
    await go("sleep_on", timeout="1s")
    await go("wait_for", str(gate))
    await asyncio.to_thread(gate.touch)
    await all_end(life, key)


async def all_end(life: Life, key: str) -> None:
    async def have_ended() -> bool:
        states = set()
        for job_id in life.jobs:
            job = await life.must(
                200, "GET", f"/v1/jobs/{job_id}", key=key, says="answer of GET /v1/jobs/ID"
            )
            states.add(job["state"])
        return states <= set(ENDED)

    await until(have_ended, what="all jobs end", within_seconds=90, poll_seconds=0.5)


# -- what can be read ------------------------------------------------------------------------------


async def read_everything(life: Life, key: str) -> None:
    document = await life.must(200, "GET", "/openapi.json")
    for path, methods in document["paths"].items():
        if "get" not in methods or path.endswith(("/stream", "/secret")):
            continue
        if "{" not in path:
            for node in (0, 1):
                await life.ask("GET", path, key=key, node=node)
        elif "{job_id}" in path:
            for job_id in life.jobs:
                await life.ask(
                    "GET", path.replace("{job_id}", job_id), key=key, says=f"answer of GET {path}"
                )
    for name in ("ann", "bob", "admin"):
        await life.ask("GET", f"/v1/users/{name}", key=key)
    for name in ("bearer", "webhook", "sign"):
        await life.ask("GET", f"/v1/secrets/{name}", key=key)
    for job_id in life.jobs[:3]:
        await life.ask("POST", f"/v1/jobs/{job_id}/retry", key=key, says="answer of retry")
    as_admin = {"WINDLASS_URL": life.urls[0], "WINDLASS_TOKEN": key}
    for argv in (
        ("job", "ls", "-o", "json"),
        ("dead", "ls"),
        ("secret", "ls"),
        ("event", "ls"),
        ("target", "ls"),
    ):
        await life.command(*argv, **as_admin)
    for job_id in life.jobs[:1]:
        await life.command("job", "get", job_id, says="windlass job get", **as_admin)
        await life.command("job", "why", job_id, says="windlass job why", **as_admin)
        await life.command("job", "deliveries", job_id, says="windlass job deliveries", **as_admin)
    wrong = life.canaries.new("wrong token of the command line")
    await life.command("job", "ls", WINDLASS_URL=life.urls[0], WINDLASS_TOKEN=wrong)
    await life.command("job", "ls", WINDLASS_URL=f"http://u:{wrong}@127.0.0.1:{free_port()}")


async def be_cut_off(life: Life, key: str) -> None:
    """Servers go while secrets are on their way: what is logged then is logged with a trace."""
    password = life.canaries.new("password while the database goes")
    stored = life.canaries.new("secret while the database goes")
    connection = await asyncpg.connect(life.database_url)
    try:
        for _ in range(4):
            calls = [
                life.ask(
                    "POST",
                    "/v1/session",
                    json={"user": "ann", "password": password},
                    says="answers while the database goes",
                ),
                life.ask(
                    "PUT",
                    "/v1/secrets/late",
                    key=key,
                    json={"value": stored},
                    says="answers while the database goes",
                ),
                life.ask(
                    "POST",
                    "/v1/users",
                    key=key,
                    says="answers while the database goes",
                    json={"name": "eve", "role": "viewer", "password": password},
                ),
            ]
            together = asyncio.gather(*calls)
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            await together
        # A table that is locked: a deadline passes with the statement under way.
        async with connection.transaction():
            await connection.execute(
                "LOCK windlass.app_user IN ACCESS EXCLUSIVE MODE"
                if await connection.fetchval("SELECT to_regclass('windlass.app_user')")
                else "SELECT 1"
            )
            await life.ask(
                "POST",
                "/v1/session",
                json={"user": "ann", "password": password},
                says="answers while the database goes",
            )
        rows = await connection.fetch("SELECT query FROM pg_stat_activity")
        life.places.add("pg_stat_activity", "\n".join(row["query"] or "" for row in rows))
    finally:
        await connection.close()


async def look_at_processes(life: Life) -> None:
    for node in life.processes:
        main = psutil.Process(node.pid)
        for each in (main, *main.children(recursive=True)):
            kind = "a node" if each.pid == main.pid else "a child of a node"
            try:
                life.places.add(f"command line of {kind}", "\0".join(each.cmdline()))
                life.places.add(f"title of {kind}", each.name())
                environ = await asyncio.to_thread(Path(f"/proc/{each.pid}/environ").read_bytes)
                life.places.add(f"environment of {kind}", environ)
            except (psutil.NoSuchProcess, FileNotFoundError):
                continue


async def be_misconfigured(life: Life) -> None:
    """Settings that are wrong, and servers that refuse a password."""
    told = life.canaries.new("secret in a wrong setting")
    good = {"WINDLASS_DATABASE_URL": life.database_url, "WINDLASS_REDIS_URL": life.redis_url}
    [closed] = free_ports(1)
    # All that is wrong is told at once.
    wrong = {
        "DATABASE_URL": [
            f"mysql://u:{told}@db/x",
            f"postgresql://u:{told}@db:port/x",
            f"postgresql://u:{told}@@db/x y",
            f"postgresql://u:{told}",
            f"host=db password={told}",
            told,
            f"postgresql://db/x?password={told}&target_session_attrs=no",
        ],
        "READ_DATABASE_URL": [f"postgres:{told}", f"u:{told}@db"],
        "REDIS_URL": [f"htp://:{told}@cache", f"redis+sentinel://:{told}", f"redis://:{told}@x:y"],
        "SECRET_KEY": [told, f"{told},{told}"],
        "SECRET_KEYS": [told],
        "OTEL_EXPORTER_OTLP_ENDPOINT": [f"ftp://u:{told}@collector"],
        "PUBLIC_URL": [f"https://u:{told}@x.example", f"https://x.example/?token={told}"],
    }
    runs: list[tuple[tuple[str, ...], str, dict[str, str]]] = []
    for turn in range(max(map(len, wrong.values()))):
        environ = {f"WINDLASS_{name}": values[turn % len(values)] for name, values in wrong.items()}
        verbs = [("config", "show", "--sources"), ("node",), ("doctor",)]
        runs += [
            (argv, f"windlass {argv[0]} with wrong settings", environ)
            for argv in (verbs if turn == 0 else verbs[:1])
        ]
    address = urlsplit(life.database_url)
    assert address.password is not None
    refused = life.database_url.replace(address.password, told)
    for database in (refused, f"postgresql://u:{told}@127.0.0.1:{closed}/x"):
        for argv in (("doctor",), ("migrate",), ("node", "--port", str(free_port()))):
            environ = {"WINDLASS_DATABASE_URL": database, "WINDLASS_LOG_LEVEL": "debug"}
            runs.append((argv, f"windlass {argv[0]} that is refused", environ))
    runs += [
        (("config", "show", "--sources"), "windlass config", good),
        (("migrate",), "windlass migrate", good),
        (("doctor",), "windlass doctor", good),
    ]
    for number, text in enumerate(
        (
            f'secret_keys = "{told}"',
            f'[secret]\nkey = "{told}"\n',
            f'database_url = "{told}',
            f'redis_url = ["redis://:{told}@x"]',
            f'passwort = "{told}"',
        )
    ):
        path = life.folder / f"{number}.toml"
        await asyncio.to_thread(path.write_text, text)
        says, environ = "windlass config with a wrong file", {"WINDLASS_CONFIG": str(path)}
        runs.append((("config", "show"), says, environ))
    places = asyncio.Semaphore(2)

    async def run(argv: tuple[str, ...], says: str, environ: dict[str, str]) -> None:
        async with places:
            await life.command(*argv, says=says, **environ)

    async with asyncio.TaskGroup() as group:
        for each in runs:
            group.create_task(run(*each))


# -- what is kept ----------------------------------------------------------------------------------


@asynccontextmanager
async def watch_redis(life: Life) -> AsyncIterator[None]:
    """Every command that Redis is told meanwhile."""
    address = urlsplit(life.redis_url)
    # As it comes: what a library cannot read of it must not be lost.
    reader, writer = await asyncio.open_unix_connection(address.path, limit=1024 * 1024)
    writer.write(f"AUTH {address.password}\r\nMONITOR\r\n".encode())
    assert [await reader.readline() for _ in range(2)] == [b"+OK\r\n", b"+OK\r\n"]

    async def listen() -> None:
        while line := await reader.readline():
            life.places.add("commands to Redis", line)

    listening = asyncio.create_task(listen())
    try:
        yield
        assert not listening.done()
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        writer.close()


async def take_down(life: Life, servers_log: Path, since: int) -> None:
    for path in sorted(life.folder.glob("*.err")):
        life.places.add(f"log as {path.stem}", path.read_bytes())
    for path in sorted(life.folder.glob("*.out")):
        life.places.add(f"terminal of {path.stem}", path.read_bytes())
    with servers_log.open("rb") as file:
        file.seek(since)
        life.places.add("log of PostgreSQL", file.read())
    login = Login.of(life.database_url, is_ours=True)
    process = await asyncio.create_subprocess_exec(
        *(str(postgres_bin_dir() / "pg_dump"), "--inserts", "-d", login.url),
        env=login.environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    dump, said = await process.communicate()
    assert process.returncode == 0, said.decode()
    for part in dump.split(b"INSERT INTO ")[1:]:
        table = re.sub(r"_[0-9p]+$", "", part.partition(b" ")[0].decode())
        life.places.add(f"dump of {table}", part)
    life.places.add("dump of the tables", dump.partition(b"INSERT INTO ")[0])
    async with Redis.from_url(life.redis_url) as redis:
        async for name in redis.scan_iter(count=1_000):
            life.places.add("Redis", name)
            life.places.add("Redis", (await redis.dump(name)) or b"")
