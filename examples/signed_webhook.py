"""A webhook that proves where it comes from, and a receiver that checks it.

WINDLASS_EGRESS_ALLOW=127.0.0.0/8 make up     # lets webhooks reach this machine
.venv/bin/python -m examples.signed_webhook
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import windlass


def is_signed(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """Standard Webhooks: a signature over id, time and body, by a key that only two know."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    made = base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
    given = headers["webhook-signature"].split()
    return any(hmac.compare_digest(f"v1,{made}", one) for one in given)


class Receiver(HTTPServer):
    """Answers 204 to what is signed and 401 to everything else; the first time it is not well."""

    secret = ""
    deliveries = 0


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.deliveries += 1
        headers = {name.lower(): value for name, value in self.headers.items()}
        signed = is_signed(self.server.secret, headers, body)
        status = 401 if not signed else 503 if self.server.deliveries == 1 else 204
        print(f"received: {body.decode()} signed={signed} answered={status}")
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quietly."""


def main() -> None:
    receiver = Receiver(("127.0.0.1", 0), Handler)
    host = f"127.0.0.1:{receiver.server_port}"
    with windlass.Client() as client:
        receiver.secret = client.targets.secret(host)["secrets"][0]
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        job = client.jobs.submit(
            kind="http",
            input={"url": f"http://{host}/paid", "json": {"order": 42, "paid": True}},
            retry={"max_attempts": 3, "initial": "100ms"},
        )
        ended = client.jobs.wait(job["id"], 30)
        print("ended:   ", ended["state"], "after", ended["attempt"], "attempts")
    receiver.shutdown()
    receiver.server_close()


if __name__ == "__main__":
    main()
