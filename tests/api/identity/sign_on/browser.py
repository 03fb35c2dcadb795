"""A browser, as far as logging in needs one: it keeps cookies, and follows what it is told.

`public_url` leads to whichever node a test says. Cookies that are `SameSite=Strict` do not come
along when another site has sent it here, and secure ones go to loopback, as with real browsers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from http.cookies import Morsel, SimpleCookie
from types import TracebackType
from typing import Any, Self

import aiohttp

from tests.api.identity.sign_on.provider_process import PUBLIC_URL

SESSION, LOGIN = "__Host-windlass", "__Host-windlass-login"


@dataclass(slots=True, kw_only=True)
class Seen:
    """An answer."""

    status: int
    headers: dict[str, str]
    body: Any

    @property
    def location(self) -> str:
        assert self.status in (302, 303), f"{self.status} {self.body}"
        return self.headers["Location"]

    @property
    def code(self) -> str:
        return str(self.body["code"])


@dataclass(slots=True)
class Browser:
    node_url: str
    cookies: dict[str, Morsel[str]] = field(default_factory=dict)
    client: aiohttp.ClientSession = field(
        default_factory=lambda: aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
    )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.client.close()

    async def get(
        self, url: str, headers: dict[str, str] | None = None, *, is_sent: bool = False
    ) -> Seen:
        """`is_sent`: another site sent it there."""
        headers = headers or {}
        is_ours = url.startswith((PUBLIC_URL, "/"))
        if is_ours:
            url = self.node_url + url.removeprefix(PUBLIC_URL)
            headers = {"Cookie": self._cookies(is_sent=is_sent), **headers}
        async with self.client.get(url, headers=headers, allow_redirects=False) as answer:
            text = await answer.text()
            if is_ours:
                self._keep(answer)
            is_json = "json" in answer.content_type
            return Seen(
                status=answer.status,
                headers={name: ", ".join(answer.headers.getall(name)) for name in answer.headers},
                body=await answer.json(content_type=None) if is_json else text,
            )

    async def begin(self, return_to: str | None = None) -> str:
        """Where the provider is to be asked."""
        path = "/v1/session/oidc" + (f"?return_to={return_to}" if return_to is not None else "")
        return (await self.get(path)).location

    async def visit_provider(self, return_to: str | None = None) -> str:
        """Where it sends the browser back to."""
        return (await self.get(await self.begin(return_to))).location

    async def log_in(self, return_to: str | None = None) -> Seen:
        """All of it."""
        return await self.get(await self.visit_provider(return_to), is_sent=True)

    async def caller(self) -> dict[str, Any]:
        """Who it is logged in as."""
        seen = await self.get("/v1/session")
        assert seen.status == 200, seen.body
        return dict(seen.body)

    @property
    def has_session(self) -> bool:
        return SESSION in self.cookies

    def _cookies(self, *, is_sent: bool) -> str:
        kept = (one for one in self.cookies.values() if not (is_sent and _is_strict(one)))
        return "; ".join(f"{one.key}={one.value}" for one in kept)

    def _keep(self, answer: aiohttp.ClientResponse) -> None:
        for line in answer.headers.getall("Set-Cookie", []):
            for name, morsel in SimpleCookie(line).items():
                assert morsel["secure"], line
                assert (morsel["httponly"], morsel["path"]) == (True, "/"), line
                self.cookies[name] = morsel
                if morsel["max-age"] == "0":
                    del self.cookies[name]


def _is_strict(cookie: Morsel[str]) -> bool:
    return bool(cookie["samesite"].lower() == "strict")
