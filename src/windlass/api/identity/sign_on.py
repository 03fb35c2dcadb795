"""/v1/session/oidc: log in through an identity provider (OpenID Connect), in a browser.

    GET /v1/session/oidc ──303──► provider ──303──► GET /v1/session/oidc/callback ──303──► return_to

Between the two a cookie keeps a secret in the browser that began: whoever makes another browser
follow his own link back does not log it in as himself (login CSRF). It is `SameSite=Lax`, for the
way back begins at another site; the session's own cookie is `Strict` and does not come along there,
so the session that a browser has is noted when it leaves. Of a request nothing says where anybody
is sent: not Host, not X-Forwarded-*; `public_url` does.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from starlette.types import ASGIApp

from windlass.api.http.auth import CrossSite, cookie_in, session_cookie, session_in
from windlass.api.http.caller import Caller, caller_of
from windlass.api.http.query import Param
from windlass.api.http.reply import Header, Reply, json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.security_headers import UNNAMED
from windlass.api.http.shapes import ref
from windlass.api.identity.session import AuthIsOff
from windlass.api.parts import ApiParts
from windlass.engine.identity.sign_on_answers import ReturnedBrowser
from windlass.errors import Conflict, Unauthorized, Unavailable
from windlass.limits import (
    RETURN_TO_CHARS_MAX,
    SESSION_SECONDS_MAX,
    SIGN_ON_CODE_CHARS_MAX,
    SIGN_ON_SECONDS,
)
from windlass.model.identity.rights import NOBODY

if TYPE_CHECKING:
    from windlass.engine.identity.sign_on import SignOn

PATH: Final = "/v1/session/oidc"
CALLBACK_PATH: Final = f"{PATH}/callback"
METHODS_PATH: Final = "/v1/session/methods"
_TAG: Final = "Identity"
_COOKIE: Final = "__Host-windlass-login"
_ATTRIBUTES: Final = "Path=/; Secure; HttpOnly; SameSite=Lax"
# A path of ours, as it stands in an address: what a browser could take for another host is none.
_RETURN_TO_PATTERN: Final = r"^/(?![/\\])[!-\[\]-~]*$"
_RETURN_TO: Final = re.compile(_RETURN_TO_PATTERN.strip("^$"))
_VISIBLE: Final = re.compile(r"[ -~]*")


class NoSignOn(Conflict):
    """There is no identity provider; log in with a name and a password."""

    code = "no_sign_on"

    def __init__(self) -> None:
        super().__init__(
            "nobody logs in through an identity provider here: WINDLASS_OIDC_ISSUER is not set; "
            "log in with a name and a password"
        )


class SignOns:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts

    async def methods(self, _request: Call, _query: dict[str, Any]) -> ASGIApp:
        settings = self._parts.settings
        is_on = settings.auth == "on"
        oidc = None
        if is_on and self._parts.sign_on is not None:
            # Absolute: the cookie has to be of the host that browsers are sent back to.
            oidc = {"name": settings.oidc_name, "url": f"{settings.public_url}{PATH}"}
        return json_reply({"auth": settings.auth, "password": is_on, "oidc": oidc})

    async def begin(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        sign_on = self._sign_on()
        caller = caller_of(request.scope)
        _check_is_visit(caller)
        secret = cookie_in(caller, f"{_COOKIE}=".encode())
        begun = await sign_on.begin(
            address=caller.address,
            return_to=query.get("return_to", "/"),
            secret=secret.decode("latin-1") if secret is not None else None,
            session_id=await self._session_of(caller),
        )
        cookie = f"{_COOKIE}={begun.secret}; Max-Age={SIGN_ON_SECONDS:.0f}; {_ATTRIBUTES}"
        return _go(begun.url, (b"set-cookie", cookie.encode()))

    async def callback(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        sign_on = self._sign_on()
        caller = caller_of(request.scope)
        secret = cookie_in(caller, f"{_COOKIE}=".encode())
        signed_on = await sign_on.finish(
            ReturnedBrowser(
                state=query.get("state", ""),
                secret=secret.decode("latin-1") if secret is not None else None,
                code=query.get("code"),
                error=query.get("error"),
                issuer=query.get("iss"),
                session_id=await self._session_of(caller),
            ),
            address=caller.address,
            device=caller.headers.get(b"user-agent", b"").decode("latin-1"),
        )
        cookie = session_cookie(signed_on.session.token, SESSION_SECONDS_MAX)
        return _go(f"{self._parts.settings.public_url}{signed_on.return_to}", cookie)

    def _sign_on(self) -> SignOn:
        if self._parts.settings.auth == "off":
            raise AuthIsOff
        if self._parts.sign_on is None:
            raise NoSignOn
        return self._parts.sign_on

    async def _session_of(self, caller: Caller) -> UUID | None:
        """The session that the browser has, if it shows one that is good."""
        token = session_in(caller)
        if token is not None:
            with contextlib.suppress(Unauthorized, Unavailable):
                return (await self._parts.tokens.principal(token)).credential_id
        return None


def _check_is_visit(caller: Caller) -> None:
    """A person follows a link, from wherever; a page of somebody else does not begin logins behind
    his back, as with an image. Raises CrossSite.
    """
    site = caller.headers.get(b"sec-fetch-site")
    if site in (None, b"same-origin", b"none"):
        return
    if caller.headers.get(b"sec-fetch-dest") != b"document":
        raise CrossSite("a page of another site begins a login without showing it")


def _go(url: str, cookie: Header) -> Reply:
    location = (b"location", url.encode())
    # The address that is left behind holds a code, or where somebody works.
    return Reply(b"", 303, (location, cookie), UNNAMED)


def _read_return_to(text: str) -> str:
    if len(text) > RETURN_TO_CHARS_MAX or not _RETURN_TO.fullmatch(text):
        raise ValueError(
            f"must be a path of this server that begins with one /, of at most "
            f"{RETURN_TO_CHARS_MAX} visible ASCII characters without a backslash"
        )
    return text


def _text_param(name: str, chars_max: int, description: str) -> Param:
    def read(text: str) -> str:
        if len(text) > chars_max or not _VISIBLE.fullmatch(text):
            raise ValueError(f"must be at most {chars_max} visible ASCII characters")
        return text

    schema = {"type": "string", "maxLength": chars_max, "pattern": "^[ -~]*$"}
    return Param(name=name, read=read, description=description, schema=schema)


def routes(parts: ApiParts) -> list[Route]:
    sign_ons = SignOns(parts)
    return [
        Route(
            method="GET",
            path=METHODS_PATH,
            needs=NOBODY,
            handle=sign_ons.methods,
            summary="Ask in what ways one may log in",
            tag=_TAG,
            answers={200: Answer(description="The ways", schema=ref("LoginMethods"))},
        ),
        Route(
            method="GET",
            path=PATH,
            needs=NOBODY,
            handle=sign_ons.begin,
            summary="Log in through the identity provider (OpenID Connect)",
            tag=_TAG,
            query=(
                Param(
                    name="return_to",
                    read=_read_return_to,
                    description="Where to go afterwards: a path of this server",
                    schema={
                        "type": "string",
                        "maxLength": RETURN_TO_CHARS_MAX,
                        "pattern": _RETURN_TO_PATTERN,
                        "default": "/",
                    },
                ),
            ),
            answers={
                303: Answer(
                    description="To the provider",
                    headers={
                        "Location": "Its login page",
                        "Set-Cookie": "By which the browser is known when it comes back",
                    },
                )
            },
            problems=(403, 409, 429, 431, 503),
        ),
        Route(
            method="GET",
            path=CALLBACK_PATH,
            needs=NOBODY,
            handle=sign_ons.callback,
            summary="Come back from the identity provider",
            tag=_TAG,
            query=(
                _text_param("state", 100, "Which login it is"),
                _text_param("code", SIGN_ON_CODE_CHARS_MAX, "Good for one ID token"),
                _text_param("iss", RETURN_TO_CHARS_MAX, "Which provider it is (RFC 9207)"),
                _text_param("error", 200, "Why there is no code"),
            ),
            takes_any_query=True,
            answers={
                303: Answer(
                    description="You are logged in",
                    headers={"Location": "`return_to`", "Set-Cookie": "The session"},
                )
            },
            problems=(401, 403, 409, 431, 503),
        ),
    ]
