"""Signatures of ID tokens: a published key has signed the claims, or they are none."""

from __future__ import annotations

import base64
import hmac
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jws
from joserfc.jwk import ECKey, RSAKey

from windlass.engine.identity.id_token import KeyUnknown, TokenRefused, read_id_token

EC = ECKey.generate_key("P-256", {"kid": "ec"})
RSA = RSAKey.generate_key(2048, {"kid": "rsa"})
KEYS = [EC.as_dict(private=False), RSA.as_dict(private=False)]


def signed(payload: str = '{"sub": "1"}', **header: Any) -> str:
    return jws.serialize_compact({"alg": "ES256", "kid": "ec", **header}, payload, EC)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def test_claims_that_a_published_key_has_signed_are_read() -> None:
    assert read_id_token(signed(), KEYS) == {"sub": "1"}


@pytest.mark.parametrize(
    "payload", ["[]", "1", "", "{", '{"sub": "1", "sub": "2"}', '{"exp": NaN}', "[" * 30_000]
)
def test_what_is_signed_must_be_one_plain_object(payload: str) -> None:
    with pytest.raises(TokenRefused):
        read_id_token(signed(payload), KEYS)


@pytest.mark.parametrize(
    "change",
    [
        {"use": "enc"},
        {"alg": "ES384"},
        {"alg": ["ES256"]},
        {"use": {"sig": True}},
        {"kid": ["ec"]},
        {"crv": "P-384"},
        {"kty": "oct"},
        {"kid": "another"},
        {"x": "AAAA"},
        {"x": None},
        {"y": 7},
    ],
)
def test_a_key_for_something_else_verifies_nothing(change: dict[str, Any]) -> None:
    with pytest.raises(KeyUnknown):
        read_id_token(signed(), [{**KEYS[0], **change}])


def test_of_a_key_only_what_is_public_is_looked_at() -> None:
    private = {**EC.as_dict(private=True), "key_ops": ["sign"], "d": "nonsense"}
    assert read_id_token(signed(), [private]) == {"sub": "1"}


def test_a_public_key_is_no_secret_of_hmac() -> None:
    secret = RSA.as_pem(private=False)
    header, payload = b'{"alg":"HS256","kid":"rsa"}', b'{"sub":"1"}'
    signed_text = f"{_text(header)}.{_text(payload)}"
    forged = f"{signed_text}.{_text(hmac.digest(secret, signed_text.encode(), 'sha256'))}"
    offered = {"kty": "oct", "kid": "rsa", "k": _text(secret)}
    with pytest.raises(TokenRefused, match="alg"):
        read_id_token(forged, [*KEYS, offered])


def test_a_key_that_is_too_long_to_compute_with_is_not_tried() -> None:
    number = _text(b"\xff" * 4_000)
    huge = {"kty": "RSA", "kid": "rsa", "n": number, "e": number}
    token = jws.serialize_compact({"alg": "RS256", "kid": "rsa"}, "{}", RSA)
    with pytest.raises(KeyUnknown):
        read_id_token(token, [huge])


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_a_key_that_is_too_short_to_trust_is_not_tried() -> None:
    weak = RSAKey.generate_key(1024, {"kid": "rsa"})
    token = jws.serialize_compact({"alg": "RS256", "kid": "rsa"}, "{}", weak)
    with pytest.raises(KeyUnknown):
        read_id_token(token, [weak.as_dict(private=False)])


def test_of_two_keys_with_one_name_either_may_have_signed() -> None:
    other = ECKey.generate_key("P-256", {"kid": "ec"}).as_dict(private=False)
    assert read_id_token(signed(), [other, KEYS[0]]) == {"sub": "1"}


PARTS = st.text(alphabet="ABCeyJ0-_=.é\n ", max_size=60)


@given(text=st.one_of(PARTS, st.lists(PARTS, min_size=3, max_size=3).map(".".join)))
def test_any_text_is_refused_and_is_no_error(text: str) -> None:
    with pytest.raises((TokenRefused, KeyUnknown)):
        read_id_token(text, KEYS)


@given(
    header=st.dictionaries(
        st.sampled_from(["alg", "kid", "typ", "crit", "b64", "jku", "jwk", "x5c", "enc", "zip"]),
        st.none() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=2),
    )
)
def test_any_header_is_refused_and_is_no_error(header: dict[str, Any]) -> None:
    with pytest.raises((TokenRefused, KeyUnknown)):
        read_id_token(f"{_text(json.dumps(header).encode())}.e30.AAAA", KEYS)


@given(at=st.integers(min_value=0), bit=st.integers(min_value=0, max_value=7))
def test_a_token_with_one_bit_changed_is_another(at: int, bit: int) -> None:
    token = signed().encode()
    place = at % len(token)
    changed = bytearray(token)
    changed[place] ^= 1 << bit
    text = changed.decode("latin-1")
    try:
        claims = read_id_token(text, KEYS)
    except (TokenRefused, KeyUnknown):
        return
    # The last letter of a part has bits that mean nothing.
    assert claims == {"sub": "1"}
    assert text[-1] != token.decode()[-1] or place == token.rindex(b".") - 1
