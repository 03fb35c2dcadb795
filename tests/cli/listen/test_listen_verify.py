"""`windlass listen` checks signatures as the official package does, and ed25519 beside."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from standardwebhooks import Webhook

from tests.cli.deliveries import AT, BODY, OTHER, SHARED, signed_by
from windlass.cli.listen.verify import read_key, verify
from windlass.strategies.http.auth.sign import derived_secret, public_key, signature


def test_what_the_official_package_signs_is_verified() -> None:
    headers = signed_by(SHARED)
    assert verify([read_key(SHARED)], headers, BODY, AT.timestamp()).word == "verified"
    # Two keys during a rotation, whichever comes first; padding may be left out.
    keys = [read_key(OTHER), read_key(SHARED.rstrip("="))]
    assert verify(keys, headers, BODY, AT.timestamp()).word == "verified"


def test_the_official_package_and_we_refuse_the_same() -> None:
    now = datetime.now(UTC)
    headers = signed_by(SHARED, now)
    spoiled = [
        ({}, BODY + b" "),
        ({"webhook-id": "job_2"}, BODY),
        ({"webhook-timestamp": str(int(now.timestamp()) - 1)}, BODY),
        ({"webhook-timestamp": "soon"}, BODY),
        ({"webhook-signature": headers["webhook-signature"].replace("v1,", "v2,")}, BODY),
        (signed_by(OTHER, now), BODY),
    ]
    for changes, body in spoiled:
        changed = {**headers, **changes}
        assert verify([read_key(SHARED)], changed, body, now.timestamp()).word == "wrong"
        with pytest.raises(Exception, match=r"[Ss]ignature"):
            Webhook(SHARED).verify(body, changed)
    assert verify([read_key(SHARED)], headers, BODY, now.timestamp()).word == "verified"
    Webhook(SHARED).verify(BODY, headers)


def test_a_signature_is_good_for_five_minutes_before_and_after() -> None:
    headers, key = signed_by(SHARED), read_key(SHARED)
    for seconds, word in ((300, "verified"), (-300, "verified"), (301, "wrong"), (-301, "wrong")):
        assert verify([key], headers, BODY, AT.timestamp() + seconds).word == word
    late = verify([key], headers, BODY, AT.timestamp() + 301)
    assert late.why == "signed more than 5 minutes from now"


def test_an_ed25519_signature_is_verified_with_the_public_key() -> None:
    private = Ed25519PrivateKey.generate()
    raw = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    key = read_key("whpk_" + base64.b64encode(raw).decode())
    content = b"job_1.%d." % int(AT.timestamp()) + BODY
    good = "v1a," + base64.b64encode(private.sign(content)).decode()
    headers = signed_by(SHARED)
    for given, word in (
        (good, "verified"),
        (f"{headers['webhook-signature']} {good}", "verified"),
        (headers["webhook-signature"], "wrong"),
        ("v1a," + base64.b64encode(private.sign(content + b" ")).decode(), "wrong"),
        ("v1a,AAAA", "wrong"),
        ("v1a,not base64", "wrong"),
        ("v1a", "wrong"),
    ):
        found = verify([key], {**headers, "webhook-signature": given}, BODY, AT.timestamp())
        assert found.word == word, given


def test_what_windlass_signs_is_verified_with_any_key_of_a_rotation() -> None:
    private = "whsk_" + base64.b64encode(b"s" * 32).decode()
    master = "whmk_" + base64.b64encode(b"m" * 32).decode()
    public = public_key(private)
    assert public is not None
    at = int(AT.timestamp())
    headers = {
        "webhook-id": "job_1",
        "webhook-timestamp": str(at),
        "webhook-signature": signature(
            [private, SHARED, master],
            target="shop.example",
            webhook_id="job_1",
            timestamp=at,
            body=BODY,
        ),
    }
    for secret, word in (
        (public, "verified"),
        (SHARED, "verified"),
        (derived_secret(master, "shop.example"), "verified"),
        (derived_secret(master, "bank.example"), "wrong"),
        (OTHER, "wrong"),
    ):
        assert verify([read_key(secret)], headers, BODY, at).word == word


def test_what_is_not_signed_and_what_cannot_be_checked_are_told_apart() -> None:
    assert verify([read_key(SHARED)], {}, BODY, 0.0).word == "unsigned"
    assert verify([], signed_by(SHARED), BODY, 0.0).word == "unchecked"
