"""What PostgreSQL keeps of a password: enough to recognise it, not enough to log in with it.

Given a verifier in place of a password, PostgreSQL stores it as it is. So no password of ours is
ever part of a statement, which may be logged, or in a file that a server's account reads.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os

from windlass.embedded.limits import SCRAM_SALT_BYTES


def verifier(password: str, iterations: int) -> str:
    """SCRAM-SHA-256 (RFC 5803) of a password of ASCII letters, which need no preparation."""
    salt = os.urandom(SCRAM_SALT_BYTES)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, iterations)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    words = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${iterations}:{words[0]}${words[1]}:{words[2]}"
