"""Keys derived for each target, as receivers that have only the official library see them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.strategies.drawer import master_key, private_key, shared_key
from windlass.limits import DERIVED_KEYS_MAX
from windlass.strategies.http.auth import sign
from windlass.strategies.http.auth.sign import derived_secret, public_key, signature

OLD, NEW = master_key(1), master_key(2)
ID = "job_0123456789abcdef"
SHOP, BANK = "shop.example", "bank.example:8443"

masters = st.binary(min_size=32, max_size=32).map(
    lambda key: "whmk_" + base64.b64encode(key).decode()
)
targets = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


def sent(values: list[str], target: str, body: bytes = b"{}") -> dict[str, str]:
    """The headers of a delivery."""
    now = int(time.time())
    signed = signature(values, target=target, webhook_id=ID, timestamp=now, body=body)
    return {"webhook-id": ID, "webhook-timestamp": str(now), "webhook-signature": signed}


def verifies(secret: str, headers: dict[str, str], body: bytes = b"{}") -> bool:
    try:
        Webhook(secret).verify(body, headers, json_parse=False)
    except WebhookVerificationError:
        return False
    return True


def test_the_derivation_is_the_one_that_receivers_secrets_were_made_with() -> None:
    key = hmac.new(bytes([1]) * 32, b"windlass webhook shop.example", hashlib.sha256).digest()
    assert derived_secret(OLD, SHOP) == "whsec_" + base64.b64encode(key).decode()
    # Written out, so that no change of the derivation goes unseen.
    assert derived_secret(OLD, SHOP) == "whsec_YKf0d5yRmXdQQvvseAftIwO8x+DnIsQQsubcmAes3l0="


@given(
    master=masters,
    pair=st.lists(targets, min_size=2, max_size=2, unique=True),
    body=st.text().map(str.encode),
)
def test_the_official_library_verifies_with_the_targets_secret_and_with_no_other(
    master: str, pair: list[str], body: bytes
) -> None:
    mine, theirs = pair
    headers = sent([master], mine, body)
    assert headers["webhook-signature"].startswith("v1,")
    assert verifies(derived_secret(master, mine), headers, body)
    assert not verifies(derived_secret(master, mine), headers, body + b"!")
    assert not verifies(derived_secret(master, theirs), headers, body)


@given(targets, targets, masters, masters)
def test_secrets_are_the_same_only_for_the_same_target_and_master(
    one: str, other: str, first: str, second: str
) -> None:
    is_same = (one, first) == (other, second)
    assert (derived_secret(first, one) == derived_secret(second, other)) == is_same


def test_a_rotation_of_the_master_rotates_every_target_with_an_overlap() -> None:
    for target in (SHOP, BANK):
        old, new = derived_secret(OLD, target), derived_secret(NEW, target)
        for values, known in (([OLD], [old]), ([NEW, OLD], [old, new]), ([NEW], [new])):
            headers = sent(values, target)
            assert [one for one in (old, new) if verifies(one, headers)] == known


def test_a_rotation_from_a_shared_key_or_a_private_one_is_verified_by_both() -> None:
    headers = sent([NEW, shared_key(3)], SHOP)
    assert verifies(derived_secret(NEW, SHOP), headers)
    assert verifies(shared_key(3), headers)
    versions = sent([NEW, private_key()], SHOP)["webhook-signature"].split(" ")
    assert [one.partition(",")[0] for one in versions] == ["v1", "v1a"]


@pytest.mark.parametrize("value", [shared_key(), private_key()])
def test_other_keys_sign_the_same_for_every_target_and_derive_nothing(value: str) -> None:
    one, other = (
        signature([value], target=target, webhook_id=ID, timestamp=1, body=b"")
        for target in (SHOP, BANK)
    )
    assert one == other
    with pytest.raises(ValueError, match="is no master key") as refused:
        derived_secret(value, SHOP)
    assert value.partition("_")[2] not in str(refused.value)


def test_a_master_key_has_no_public_half() -> None:
    assert public_key(OLD) is None


def test_derived_keys_are_made_once_and_not_kept_without_end() -> None:
    sign._derived_signer.cache_clear()
    for _ in range(3):
        sent([OLD], SHOP)
    assert sign._derived_signer.cache_info().misses == 1
    for number in range(DERIVED_KEYS_MAX + 10):
        sent([OLD], f"{number}.example")
    assert sign._derived_signer.cache_info().currsize == DERIVED_KEYS_MAX
