"""Security headers: what a browser is told never to do with an answer of ours.

    ANSWER            every answer of the API: it is data, and nothing in it is ever shown or run
    UNNAMED           the same, of an address that is not told to where it leads
    page(style)       a page of ours without scripts, with one style that is known by its hash
    dashboard(nonce)  a page that is an application: its scripts and styles are files of ours

Owns: the headers that are the same in every answer. They are put together once; an answer takes
them as they are.
Promises: no page of anybody else may frame what we send, load it or read it (there is no CORS: no
`Access-Control-*` is sent anywhere), and nothing of ours is kept by a cache.
"""

from __future__ import annotations

import base64
from hashlib import sha256
from typing import Final

Headers = tuple[tuple[bytes, bytes], ...]

_COMMON: Final[Headers] = (
    # Answers hold somebody's work: they are not for caches, and not for guessing what they are.
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    # Not `no-referrer`: then a form of our own would come with `Origin: null`.
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
_POLICY: Final = b"content-security-policy"
_ALONE: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

ANSWER: Final[Headers] = (*_COMMON, (_POLICY, b"default-src 'none'; frame-ancestors 'none'"))
# The address that is left holds what nobody else may see, not even another page of ours.
UNNAMED: Final[Headers] = tuple(
    (name, b"no-referrer" if name == b"referrer-policy" else value) for name, value in ANSWER
)
# A year, for this host alone. Never said to a name of this machine: all its ports share the name.
HSTS: Final = (b"strict-transport-security", b"max-age=31536000")
AUTH_OFF: Final = (b"windlass-auth", b"off")


def page(style: str) -> Headers:
    """For a page whose one <style> element holds exactly this text."""
    digest = base64.b64encode(sha256(style.encode()).digest()).decode()
    return (*_COMMON, (_POLICY, f"{_ALONE}; style-src 'sha256-{digest}'".encode()))


def dashboard(nonce: str) -> Headers:
    """For a page of scripts and styles that are files of ours. Style elements that its libraries
    make while it runs carry the nonce, which is another one in each answer.
    """
    policy = (
        "default-src 'none'; script-src 'self'; "
        f"style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; font-src 'self'; "
        "connect-src 'self'; worker-src 'self' blob:; manifest-src 'self'; object-src 'none'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return (*_COMMON, (_POLICY, policy.encode()))
