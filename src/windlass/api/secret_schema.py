"""A secret as it is shown: never its value, unless Windlass has just made it."""

from __future__ import annotations

from typing import Final

from windlass.api.http.shapes import COUNT, INSTANT, TEXT, Named, Schema, listed, nullable, record


def _secret() -> dict[str, Schema]:
    return {
        "name": TEXT,
        "kind": {"type": "string", "enum": ["hmac", "ed25519", "derived", "other"]},
        "public_key": nullable(TEXT),
        "version": COUNT,
        "versions": COUNT,
        "created_at": INSTANT,
        "rotated_at": nullable(INSTANT),
        "overlap_until": nullable(INSTANT),
        "is_readable": {"type": "boolean"},
        "hosts": nullable(listed(TEXT)),
    }


SCHEMAS: Final[Named] = {
    "Secret": record(**_secret()),
    "SecretPut": {
        **record(**_secret()),
        "properties": {**_secret(), "value": {**TEXT, "description": "Only if generated"}},
    },
}
