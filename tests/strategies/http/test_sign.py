"""Signatures, as a receiver that has only the official library sees them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
import traceback

import aiohttp
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.strategies.drawer import Drawer, master_key, private_key, shared_key
from tests.strategies.http.pooled import no_pool
from tests.strategies.receiver import Receiver
from windlass.limits import SIGNING_KEYS_MAX
from windlass.strategies.http.auth import sign
from windlass.strategies.http.auth.auth import Credentials
from windlass.strategies.http.auth.sign import public_key, signature

OLD, NEW = shared_key(1), shared_key(2)
ID = "job_0123456789abcdef"
SHOP = "shop.example"

timestamps = st.integers(min_value=0, max_value=2**40)
shared_keys = st.binary(min_size=24, max_size=64)
seeds = st.binary(min_size=32, max_size=32)


def text(prefix: str, key: bytes) -> str:
    return prefix + base64.b64encode(key).decode()


def verify_private(public: str, signed: str, content: bytes) -> None:
    """Raises unless one of the `v1a` signatures is of this key."""
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public.removeprefix("whpk_")))
    for one in signed.split(" "):
        version, _, proof = one.partition(",")
        if version == "v1a":
            try:
                return key.verify(base64.b64decode(proof), content)
            except InvalidSignature:
                continue
    raise InvalidSignature


@given(key=shared_keys, body=st.binary(), timestamp=timestamps)
def test_a_shared_key_signs_the_exact_bytes(key: bytes, body: bytes, timestamp: int) -> None:
    signed = signature(
        [text("whsec_", key)], target=SHOP, webhook_id=ID, timestamp=timestamp, body=body
    )
    content = b".".join([ID.encode(), str(timestamp).encode(), body])
    proof = hmac.new(key, content, hashlib.sha256).digest()
    assert signed == "v1," + base64.b64encode(proof).decode()


@given(seed=seeds, body=st.binary(), timestamp=timestamps)
def test_a_private_key_signs_the_exact_bytes(seed: bytes, body: bytes, timestamp: int) -> None:
    value = text("whsk_", seed)
    signed = signature([value], target=SHOP, webhook_id=ID, timestamp=timestamp, body=body)
    public = public_key(value)
    assert public is not None
    content = b".".join([ID.encode(), str(timestamp).encode(), body])
    verify_private(public, signed, content)
    with pytest.raises(InvalidSignature):
        verify_private(public, signed, content + b"!")


@given(body=st.text().map(str.encode), key=shared_keys)
def test_whatever_text_is_sent_the_official_library_verifies_it(body: bytes, key: bytes) -> None:
    value, now = text("whsec_", key), int(time.time())
    headers = {
        "webhook-id": ID,
        "webhook-timestamp": str(now),
        "webhook-signature": signature(
            [value], target=SHOP, webhook_id=ID, timestamp=now, body=body
        ),
    }
    Webhook(value).verify(body, headers, json_parse=False)
    with pytest.raises(WebhookVerificationError):
        Webhook(value).verify(body + b"!", headers, json_parse=False)


@given(
    keys=st.lists(shared_keys.map(lambda key: text("whsec_", key)) | seeds.map(
        lambda seed: text("whsk_", seed)), min_size=1, max_size=4),
    body=st.binary(max_size=64),
)  # fmt: skip
def test_each_live_value_signs_newest_first_whatever_its_sort(keys: list[str], body: bytes) -> None:
    together = signature(keys, target=SHOP, webhook_id=ID, timestamp=1, body=body)
    alone = [signature([key], target=SHOP, webhook_id=ID, timestamp=1, body=body) for key in keys]
    assert together.split(" ") == alone


async def test_a_receiver_with_the_official_library_verifies_every_delivery_through_a_rotation(
    receiver: Receiver,
) -> None:
    drawer = Drawer(webhook=OLD)
    sent = []
    async with aiohttp.ClientSession() as session:
        credentials = Credentials(drawer, no_pool)

        async def deliver(number: int) -> None:
            body = f'{{"number": {number}, "name": "Ærøskøbing"}}'.encode()
            prepared = await credentials.prepare(
                None,
                target=SHOP,
                webhook_id=f"job_{number}",
                timestamp=int(time.time()),
                body=body,
            )
            async with session.post(receiver.url, data=body, headers=prepared.headers):
                sent.append(number)

        await deliver(1)
        drawer.values["webhook"] = [NEW, OLD]
        await deliver(2)
        drawer.values["webhook"] = [NEW]
        await deliver(3)

    def verified_with(value: str) -> list[int]:
        numbers = []
        for request, body in receiver.seen:
            try:
                numbers.append(Webhook(value).verify(body, dict(request.headers))["number"])
            except WebhookVerificationError:
                continue
        return numbers

    assert verified_with(OLD) == [1, 2], "who has not changed yet verifies until the overlap ends"
    assert verified_with(NEW) == [2, 3], "who has changed verifies from the overlap's first moment"
    assert verified_with(shared_key(3)) == []
    assert sent == [1, 2, 3]


async def test_a_rotation_to_ed25519_is_verified_by_receivers_of_both_sorts(
    receiver: Receiver,
) -> None:
    public = public_key(private_key())
    assert public is not None
    async with aiohttp.ClientSession() as session:
        credentials = Credentials(Drawer(webhook=[private_key(), OLD]), no_pool)
        prepared = await credentials.prepare(
            None, target=SHOP, webhook_id=ID, timestamp=int(time.time()), body=b"{}"
        )
        async with session.post(receiver.url, data=b"{}", headers=prepared.headers):
            pass
    [(request, body)] = receiver.seen
    assert Webhook(OLD).verify(body, dict(request.headers)) == {}
    content = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode()
    verify_private(public, request.headers["webhook-signature"], content + body)


def test_a_key_without_its_padding_is_the_same_key() -> None:
    assert OLD.endswith("=")
    said = [
        signature([value], target=SHOP, webhook_id=ID, timestamp=1, body=b"")
        for value in (OLD, OLD.rstrip("="))
    ]
    assert said[0] == said[1]


@pytest.mark.parametrize("length", [24, 64])
def test_a_shared_key_of_every_allowed_length_signs(length: int) -> None:
    assert signature([shared_key(1, length)], target=SHOP, webhook_id=ID, timestamp=1, body=b"")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (shared_key(1, 23), "24 to 64"),
        (shared_key(1, 65), "24 to 64"),
        ("whsec_", "24 to 64"),
        (private_key(1, 31), "32 bytes"),
        (master_key(1, 31), "32 bytes"),
        (master_key(1, 33), "32 bytes"),
        ("whmk_canary-canary", "must be base64"),
        (private_key(1, 64), "32 bytes"),
        ("whsec_" + "A" * 41, "must be base64"),
        ("whsec_canary-canary_canary-canary_canary", "must be base64"),
        (OLD + "\n", "must be base64"),
        ("whsec_ключключключключключключключключ", "must be base64"),
        ("canary", "must start with whsec_, whmk_ or whsk_"),
        ("whpk_" + "A" * 43, "must start with whsec_, whmk_ or whsk_"),
        ("", "must start with whsec_, whmk_ or whsk_"),
    ],
)
def test_what_is_no_key_is_refused_in_words_that_do_not_show_it(value: str, said: str) -> None:
    for use in (
        public_key,
        lambda value: signature([value], target=SHOP, webhook_id=ID, timestamp=1, body=b""),
    ):
        with pytest.raises(ValueError, match=said) as refused:
            use(value)
        hidden = value.partition("_")[2]
        assert not hidden or hidden not in "".join(traceback.format_exception(refused.value))


def test_a_shared_key_has_no_public_half() -> None:
    assert public_key(OLD) is None


def test_the_public_half_is_the_raw_key_of_the_seed() -> None:
    # RFC 8032, section 7.1, test 1.
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    public = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    assert public_key(text("whsk_", seed)) == text("whpk_", public)


def test_keys_are_read_once_and_not_kept_without_end() -> None:
    sign._signer.cache_clear()
    for _ in range(3):
        signature([OLD], target=SHOP, webhook_id=ID, timestamp=1, body=b"")
    assert sign._signer.cache_info().misses == 1
    for number in range(SIGNING_KEYS_MAX + 10):
        key = text("whsec_", number.to_bytes(24, "big"))
        signature([key], target=SHOP, webhook_id=ID, timestamp=1, body=b"")
    assert sign._signer.cache_info().currsize == SIGNING_KEYS_MAX
