"""Whom a webhook calls: a host and port, written one way.

`https://api.shop.example/hooks` -> `api.shop.example`; any port but 443 is written with it:
`http://127.0.0.1:8080/` -> `127.0.0.1:8080`, `http://shop.example/` -> `shop.example:80`.
The migration 0003_target has the same rule for jobs that come by SQL.
"""

from __future__ import annotations

from urllib.parse import urlsplit

TARGET_CHARS_MAX = 300


def target_of(url: str) -> str | None:
    """The target of an address, or None when it is not one."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host or len(host) > TARGET_CHARS_MAX - 8:
        return None
    return write_target(host, port or (443 if parts.scheme == "https" else 80))


def write_target(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host.lower()
    return shown if port == 443 else f"{shown}:{port}"


def read_target(text: str) -> str:
    """A target as a person writes it. Raises ValueError that says what one looks like."""
    found = target_of(text if "://" in text else f"https://{text}")
    if found is None or any(mark in text.split("://")[-1] for mark in "/?#@"):
        raise ValueError("must be a host, with its port unless that is 443: shop.example:8080")
    return found
