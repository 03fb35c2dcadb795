"""The shape of `auth`: which types there are, which fields each has, and what they may hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from windlass.limits import AUTHS_MAX, URL_CHARS_MAX
from windlass.model.job.submission import read_name
from windlass.model.job.target import target_of
from windlass.model.json.pointer import step
from windlass.model.json.printable import is_printable

TEXT_CHARS_MAX: Final = 256
SCOPE_CHARS_MAX: Final = 1_024

HEADER_PATTERN: Final = "[A-Za-z0-9_-]+"
SCOPE_PATTERN: Final = r"[!#-\[\]-~]+( [!#-\[\]-~]+)*"
# They frame the request, or say which delivery it is: no secret belongs there.
OURS_PATTERN: Final = (
    "accept-encoding|connection|content-.*|expect|host|idempotency-key|keep-alive|proxy-.*|te|"
    "trailer|transfer-encoding|upgrade|traceparent|tracestate|webhook-.*|windlass-.*"
)


def check_auth(value: object) -> list[tuple[str, str]]:
    """Problems, with their pointers below `/auth`: `/secret` of one object, `/0/secret` of a list.

    None is no auth, and fine.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        return _check_one(value)
    if len(value) > AUTHS_MAX:
        return [("", f"has {len(value)} entries; at most {AUTHS_MAX} make sense")]
    problems = [
        (f"/{place}{pointer}", detail)
        for place, one in enumerate(value)
        for pointer, detail in _check_one(one)
    ]
    return problems or _check_headers(value)


def _check_one(value: object) -> list[tuple[str, str]]:
    if not isinstance(value, dict):
        return [("", 'must be an object such as {"type": "bearer", "secret": "name"}')]
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in FIELDS:
        return [("/type", f"must be one of: {' '.join(FIELDS)}")]
    fields = FIELDS[kind]
    problems = [
        (step(name), f"unknown field; known are {' '.join(('type', *fields))}")
        for name in value
        if name != "type" and name not in fields
    ]
    for name, trouble in fields.items():
        if name in value or name not in OPTIONAL:
            text = value.get(name)
            said = trouble(text) if isinstance(text, str) else trouble("")
            if said is not None:
                problems.append((step(name), said))
    return problems


def _check_headers(auths: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Two must not set the same header; neither would know who was sent."""
    taken: set[str] = set()
    for place, auth in enumerate(auths):
        wanted = header_of(auth)
        if wanted in taken:
            return [(f"/{place}", f"sets {wanted}, which an entry before it sets too")]
        taken.add(wanted)
    return []


def header_of(auth: Mapping[str, str]) -> str:
    """The header that this auth sets, in lower case; or the certificate."""
    match auth["type"]:
        case "signature":
            return "webhook-signature"
        case "api_key":
            return auth["header"].lower()
        case "mtls":
            return "the client certificate"
        case _:
            return "authorization"


def _name_trouble(text: str) -> str | None:
    try:
        read_name(text)
    except ValueError as trouble:
        return f"must name a secret, which {trouble}"
    return None


def _header_trouble(text: str) -> str | None:
    if not re.fullmatch(HEADER_PATTERN, text) or len(text) > TEXT_CHARS_MAX:
        return "must be a header name such as X-API-Key"
    if re.fullmatch(OURS_PATTERN, text.lower()):
        return "is a header that the delivery itself sets"
    return None


def _username_trouble(text: str) -> str | None:
    # RFC 7617: the first colon ends the name.
    if not 1 <= len(text) <= TEXT_CHARS_MAX or ":" in text or not is_printable(text):
        return f"must be 1 to {TEXT_CHARS_MAX} printable characters without a colon"
    return None


def _client_trouble(text: str) -> str | None:
    if not 1 <= len(text) <= TEXT_CHARS_MAX or not is_printable(text):
        return f"must be 1 to {TEXT_CHARS_MAX} printable characters"
    return None


def _scope_trouble(text: str) -> str | None:
    if len(text) > SCOPE_CHARS_MAX or not re.fullmatch(SCOPE_PATTERN, text):
        return f"must be scopes between single spaces, at most {SCOPE_CHARS_MAX} characters"
    return None


def _url_trouble(text: str) -> str | None:
    if len(text) > URL_CHARS_MAX or not is_printable(text) or target_of(text) is None:
        return f"must be an http or https address of at most {URL_CHARS_MAX} characters"
    if "@" in urlsplit(text).netloc:
        return "must not hold a user name or password; the secret is sent in a header"
    return None


Trouble = Callable[[str], str | None]
FIELDS: Final[Mapping[str, Mapping[str, Trouble]]] = {
    "signature": {"secret": _name_trouble},
    "bearer": {"secret": _name_trouble},
    "api_key": {"header": _header_trouble, "secret": _name_trouble},
    "basic": {"username": _username_trouble, "secret": _name_trouble},
    "oauth2": {
        "token_url": _url_trouble,
        "client_id": _client_trouble,
        "secret": _name_trouble,
        "scope": _scope_trouble,
    },
    "mtls": {"secret": _name_trouble},
}
OPTIONAL: Final = frozenset({"scope"})
