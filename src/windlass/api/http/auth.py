"""Authentication: by API key or by session, and protection against forged requests (CSRF).

    Authorization: Bearer wlk_…       a key; also a session's token, for programs that log in
    Cookie: __Host-windlass=wls_…     a session in a browser

A browser sends the cookie whoever wrote the page. So what it changes must come from a page of ours
(Sec-Fetch-Site; Origin, of browsers that do not send that) and carry X-CSRF-Token, which a page of
ours has read in `GET /v1/session` and no other can read. The token is made from the session's own:
nothing is kept for it, and it changes with it.

Promises: a header is believed before a cookie; what is no token is refused before anybody is asked.
"""

from __future__ import annotations

import base64
import hmac
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

from starlette.types import Scope

from windlass.api.http.caller import Caller
from windlass.api.http.reply import Header
from windlass.config.parsers import is_loopback
from windlass.engine.identity.keys import KEY_PREFIX, SESSION_PREFIX
from windlass.engine.identity.tokens import TOKEN_CHARS, Tokens
from windlass.errors import Forbidden, Unauthorized, Unavailable, WindlassError
from windlass.limits import COOKIES_BYTES_MAX
from windlass.model.identity.principal import Principal

COOKIE: Final = "__Host-windlass"
CSRF_HEADER: Final = "X-CSRF-Token"
_COOKIE: Final = COOKIE.encode() + b"="
_PREFIX: Final = b"bearer "
_KINDS: Final = (KEY_PREFIX.encode(), SESSION_PREFIX.encode())
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_ATTRIBUTES: Final = "Path=/; Secure; HttpOnly; SameSite=Strict"


class CrossSite(Forbidden):
    """The request came with a session's cookie, but not from a page of this server; or without its
    X-CSRF-Token. A program sends a key instead of a cookie.
    """

    code = "cross_site"


class ForeignHost(Forbidden):
    """The request names a host that is not this machine, and authentication is off: a page of a
    stranger may have had its own name lead here (DNS rebinding). `public_url` names another host.
    """

    code = "foreign_host"

    def __init__(self) -> None:
        super().__init__(
            "authentication is off here, so only requests to this machine by one of its own names "
            "are heard, such as http://127.0.0.1:5777; set public_url to the address at which "
            "browsers reach this server, or WINDLASS_AUTH=on"
        )


class CookiesTooLarge(WindlassError):
    """The cookies are more than is taken."""

    code = "cookies_too_large"
    status = 431

    def __init__(self) -> None:
        super().__init__(f"the cookies are longer than {COOKIES_BYTES_MAX} bytes")


class Authenticator:
    """Answers who calls."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def principal(self, caller: Caller, scope: Scope) -> Principal:
        """Raises Unauthorized, CrossSite, CookiesTooLarge."""
        authorization = caller.headers.get(b"authorization")
        if authorization is not None:
            return await self._tokens.principal(_bearer(authorization))
        token = session_in(caller)
        if token is None:
            raise Unauthorized
        if scope["method"] not in _SAFE:
            check_same_site(caller)
            _check_csrf(caller, token)
        return await self._tokens.principal(token)


def _bearer(authorization: bytes) -> bytes:
    """The token in the header. Raises Unauthorized for what cannot be one."""
    token = authorization[len(_PREFIX) :].strip()
    if authorization[: len(_PREFIX)].lower() != _PREFIX or not _may_be_token(token):
        raise Unauthorized
    return token


def _may_be_token(text: bytes) -> bool:
    return len(text) == TOKEN_CHARS and text.startswith(_KINDS)


def session_in(caller: Caller) -> bytes | None:
    """The token of the session in the cookie. None: there is none. Raises CookiesTooLarge."""
    token = cookie_in(caller, _COOKIE)
    return token if token is not None and _may_be_token(token) else None


def cookie_in(caller: Caller, begins: bytes) -> bytes | None:
    """What follows `begins`, a cookie's name and =. None: there is none. Raises CookiesTooLarge."""
    cookies = caller.headers.get(b"cookie")
    if cookies is None:
        return None
    if len(cookies) > COOKIES_BYTES_MAX:
        raise CookiesTooLarge
    for cookie in cookies.split(b";"):
        text = cookie.strip()
        if text.startswith(begins):
            return text[len(begins) :]
    return None


def token_in(caller: Caller) -> bytes | None:
    """Whichever token the caller showed: for whom it ends."""
    authorization = caller.headers.get(b"authorization")
    return _bearer(authorization) if authorization is not None else session_in(caller)


async def may_go_on(tokens: Tokens, caller: Caller, right: str) -> bool:
    """Would whoever was let in be let in again? For answers that go on for long."""
    if caller.known.credential_id is None:
        return True  # nothing was shown that could be revoked
    token = token_in(caller)
    assert token is not None, "it was let in by one"
    try:
        (await tokens.principal(token)).check_right(right)
    except (Unauthorized, Forbidden):
        return False
    except Unavailable:
        return True  # nobody can say, and there is nothing to be told either
    return True


def check_same_site(caller: Caller) -> None:
    """A browser says where its page is from; who says nothing is none. Raises CrossSite."""
    site = caller.headers.get(b"sec-fetch-site")
    if site is not None:
        if site not in (b"same-origin", b"none"):
            raise CrossSite("the request comes from a page of another site")
        return
    origin = caller.headers.get(b"origin")
    if origin is not None and not _is_ours(origin, caller):
        raise CrossSite("the request comes from a page of another site")


def _is_ours(origin: bytes, caller: Caller) -> bool:
    if caller.own_origin is not None and origin.lower() == caller.own_origin:
        return True
    host = caller.headers.get(b"host", b"")
    try:
        found = urlsplit(origin.decode("ascii"))
        is_same = found.netloc.lower() == host.decode("ascii").lower() != ""
    except ValueError:
        return False
    # A page of ours that came without TLS may have been written by whoever is in between.
    return is_same and (found.scheme == "https" or not caller.is_secure)


def check_is_here(caller: Caller, method: str) -> None:
    """Where nobody is asked for a key: a program of this machine calls, or a page of ours. Other
    pages may link here, and that is all. Raises ForeignHost, CrossSite.
    """
    host = caller.headers.get(b"host")
    if host is not None and not _is_here(host, caller.own_origin):
        raise ForeignHost
    if caller.headers.get(b"sec-fetch-mode") != b"navigate" or method not in _SAFE:
        check_same_site(caller)


def _is_here(host: bytes, own_origin: bytes | None) -> bool:
    if own_origin is not None and host.lower() == own_origin.partition(b"://")[2]:
        return True
    if b"@" in host:
        return False
    try:
        name = (urlsplit(f"//{host.decode('ascii')}").hostname or "").removesuffix(".")
    except ValueError:
        return False
    return is_loopback(name) or name.endswith(".localhost")


def origin_of(public_url: str) -> bytes:
    """As browsers write it in Origin: without the usual port."""
    found = urlsplit(public_url)
    usual = ":443" if found.scheme == "https" else ":80"
    return f"{found.scheme}://{found.netloc.removesuffix(usual)}".lower().encode()


def csrf_token(token: bytes) -> str:
    """What a page of ours shows beside the cookie with this token."""
    digest = hmac.digest(token, b"windlass csrf", sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _check_csrf(caller: Caller, token: bytes) -> None:
    shown = caller.headers.get(CSRF_HEADER.lower().encode(), b"")
    if not hmac.compare_digest(shown, csrf_token(token).encode()):
        raise CrossSite(
            f"a change with a cookie needs the header {CSRF_HEADER}: read csrf_token in "
            "GET /v1/session; a program sends a key instead of a cookie"
        )


def session_cookie(token: str, seconds: int) -> Header:
    return b"set-cookie", f"{COOKIE}={token}; Max-Age={seconds}; {_ATTRIBUTES}".encode()


def no_cookie() -> Header:
    return b"set-cookie", f"{COOKIE}=; Max-Age=0; {_ATTRIBUTES}".encode()
