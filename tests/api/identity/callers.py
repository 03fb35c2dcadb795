"""People and programs that call an API: with cookies as browsers send them, or with tokens."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Final

import aiohttp

from tests.api.http.raw import exchange
from tests.api.served import Served
from windlass.engine.identity.passwords import Passwords
from windlass.engine.identity.users import add_user
from windlass.model.identity.rights import Role

PASSWORD: Final = "three small green boats"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True, kw_only=True)
class Browser:
    """Has a cookie and the CSRF token of its page, and says where its page is from."""

    api: Served
    cookie: str
    csrf: str
    said: dict[str, Any] = field(default_factory=dict)  # at login

    async def call(self, method: str, path: str, json: Any = None, **headers: str) -> Said:
        given = {"Cookie": self.cookie, "Sec-Fetch-Site": "same-origin", "X-CSRF-Token": self.csrf}
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return await say(self.api, method, path, json, {**given, **named})


async def say(
    api: Served, method: str, path: str, json_: Any = None, headers: dict[str, str] | None = None
) -> Said:
    """As whoever sends these headers, and no others."""
    data = None if json_ is None else BytesIO(json.dumps(json_).encode())
    given = {"Content-Type": "application/json"} if data is not None else {}
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client:
        kept = {name: text for name, text in {**given, **(headers or {})}.items() if text}
        async with client.request(method, api.url + path, data=data, headers=kept) as answer:
            return Said(
                status=answer.status,
                headers={name.lower(): text for name, text in answer.headers.items()},
                body=await answer.read(),
            )


async def raw(api: Served, method: str, path: str, *headers: tuple[str, str]) -> bytes:
    """As no client would send it."""
    lines = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close"]
    lines += [f"{name}: {text}" for name, text in headers]
    return await exchange(api.url, ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


async def a_user(api: Served, name: str = "ann", role: Role = "operator") -> None:
    passwords: Passwords = api.parts.passwords
    await add_user(api.database, passwords, name, role, PASSWORD)


async def browser(api: Served, name: str = "ann", password: str = PASSWORD) -> Browser:
    """Logged in, as a page of ours does it."""
    given = {"user": name, "password": password}
    said = await say(api, "POST", "/v1/session", given, {"Sec-Fetch-Site": "same-origin"})
    assert said.status == 201, said.body
    cookie = said.headers["set-cookie"].partition(";")[0]
    return Browser(api=api, cookie=cookie, csrf=said.json["csrf_token"], said=said.json)


async def a_token(api: Served, name: str = "ann", password: str = PASSWORD) -> str:
    """Logged in, as a program does it."""
    given = {"user": name, "password": password, "wants_token": True}
    said = await say(api, "POST", "/v1/session", given)
    assert said.status == 201, said.body
    token: str = said.json["token"]
    return token


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def a_key(api: Served, name: str = "a key", **body: Any) -> Any:
    """As the admin makes it: for a machine."""
    return await api.post("/v1/keys", {"name": name, **body}, 201)
