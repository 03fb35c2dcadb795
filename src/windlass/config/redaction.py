"""Redaction: show a setting to a person without showing a secret.

A password can stand in any address, and a mistyped name (`SECRET_KEYS`) must not print what the
right one would have hidden. So names are judged by their words, and addresses are cleaned always.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote, urlsplit

HIDDEN = "***"
SHOWN_CHARS_MAX = 80

_SECRET_WORD = re.compile(r"secret|passw|token|credential|(?:^|_)keys?(?:$|_)", re.IGNORECASE)
# Greedy up to the last @: a password may itself hold `@`, `:` or `/`.
_USERINFO = re.compile(r"^([a-z0-9+.-]*:?/*).*@", re.IGNORECASE | re.DOTALL)
_QUERY_SECRET = re.compile(r"([?&][^=&]*(?:passw|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)
# As libpq also takes them: `host=db password='it is'`.
_WORD_SECRET = re.compile(
    r"((?:^|\s)[^=\s]*(?:passw|secret|token|key)[^=\s]*\s*=\s*)(?:'[^']*'?|\S+)", re.IGNORECASE
)
# Where a port should be: a port, or, where its @ was forgotten, a password.
_NO_PORT = re.compile(r"(://(?:[^/?#@]*,)?[^/?#@,:\[\]]*:)(?![0-9]*(?:[/?#,]|$))[^/?#@]*")


def shown_address(url: str) -> str:
    """An address without whoever's name and password it holds."""
    text = _QUERY_SECRET.sub(rf"\g<1>{HIDDEN}", _USERINFO.sub(rf"\g<1>{HIDDEN}@", url))
    return _NO_PORT.sub(rf"\g<1>{HIDDEN}", _WORD_SECRET.sub(rf"\g<1>{HIDDEN}", text))


def where_of(url: str) -> str:
    """The hosts of an address, for a sentence: "db1:5432,db2:5432", or the path of a socket."""
    parts = urlsplit(url)
    named = parts.netloc.rpartition("@")[2] or parse_qs(parts.query).get("host", [""])[-1]
    return unquote(named) or parts.path or "its usual address"


def shown(setting: str, value: object) -> str:
    """`value` as an error or `windlass config show` may print it."""
    if value is None:
        return "none"
    if _SECRET_WORD.search(setting):
        return HIDDEN
    if isinstance(value, tuple | list):
        return "[" + ", ".join(shown(setting, item) for item in value[:20]) + "]"
    if isinstance(value, dict):
        return "{…}"
    if isinstance(value, int) and value.bit_length() > 64:
        return "a huge number"  # Python itself refuses to print one of more than 4,300 digits
    if isinstance(value, bool | int | float):
        return repr(value)
    if setting.endswith("_url") and "://" not in str(value):
        return HIDDEN  # who knows what has been pasted there
    text = shown_address(str(value))
    if len(text) > SHOWN_CHARS_MAX:
        text = text[:SHOWN_CHARS_MAX] + "…"
    return repr(text)
