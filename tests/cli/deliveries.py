"""Deliveries as a sender signs them, and as they are told."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

from standardwebhooks import Webhook

from windlass.cli.listen.receive import Delivery
from windlass.cli.listen.verify import Verdict
from windlass.cli.listen.view import lines

SHARED = "whsec_" + base64.b64encode(b"a secret of twenty-four b").decode()
OTHER = "whsec_" + base64.b64encode(b"another of twenty-four by").decode()
BODY = b'{"sum": 3, "note": "\xc3\xa9"}'
AT = datetime(2030, 1, 31, 12, tzinfo=UTC)


def signed_by(secret: str, at: datetime = AT, body: bytes = BODY) -> dict[str, str]:
    """Headers as the official package signs."""
    return {
        "webhook-id": "job_1",
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign("job_1", at, body.decode()),
    }


def delivery(**changes: object) -> Delivery:
    facts: dict[str, object] = {
        "at": AT,
        "method": "POST",
        "path": "/hooks?a=1",
        "headers": (("Host", "here"), ("webhook-id", "job_1")),
        "body": BODY,
        "webhook_id": "job_1",
        "attempt": "2",
        "times": 1,
        "verdict": Verdict(word="verified"),
        "status": 200,
        "ms": 1.23,
        "trouble": None,
        **changes,
    }
    return Delivery(**facts)  # type: ignore[arg-type]


def told(found: Delivery, parts: str | None = None) -> list[str]:
    return ["  ".join(text for text, _ in line) for line in lines(found, parts)]  # type: ignore[arg-type]
