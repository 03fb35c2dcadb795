"""What is sealed opens with its key where it belongs, nowhere else; and how keys are written."""

from __future__ import annotations

import base64
import os
from dataclasses import replace
from pathlib import Path

import pytest

from windlass.config.secret_key import UnusableKeyFile, decode_keys, read_keys
from windlass.engine.secrets.seal import CannotOpen, Sealer, key_id, sealer_of
from windlass.limits import SECRET_KEYS_MAX

OLD, NEW = bytes(range(32)), bytes(range(32, 64))


def test_what_was_sealed_opens_again_and_shows_nothing_meanwhile() -> None:
    sealer = Sealer([OLD])
    sealed = sealer.seal("päss\nword", "here")
    assert "päss".encode() not in sealed.box
    assert sealed.key_id == key_id(OLD)
    assert sealer.open(sealed, "here") == "päss\nword"
    assert sealer.seal("päss\nword", "here").box != sealed.box, "each sealing has its own nonce"


def test_it_opens_where_it_belongs_only() -> None:
    sealer = Sealer([OLD])
    with pytest.raises(CannotOpen, match="belongs to another name"):
        sealer.open(sealer.seal("x", "here"), "there")


@pytest.mark.parametrize("index", [0, -1])
def test_a_changed_byte_is_noticed(index: int) -> None:
    sealer = Sealer([OLD])
    sealed = sealer.seal("some words", "here")
    box = bytearray(sealed.box)
    box[index] ^= 1
    with pytest.raises(CannotOpen, match="was changed"):
        sealer.open(replace(sealed, box=bytes(box)), "here")


def test_the_first_key_seals_and_all_of_them_open() -> None:
    before, after = Sealer([OLD]), Sealer([NEW, OLD])
    assert after.open(before.seal("x", "here"), "here") == "x"
    sealed = after.seal("x", "here")
    assert sealed.key_id == after.key_id == key_id(NEW)
    with pytest.raises(CannotOpen, match=f"under key {key_id(NEW)}, which this node does not have"):
        before.open(sealed, "here")


def test_an_id_tells_keys_apart_and_is_no_part_of_them() -> None:
    assert key_id(OLD) != key_id(NEW)
    assert key_id(OLD) not in OLD.hex()


def test_a_sealer_needs_whole_keys() -> None:
    for keys in ([], [OLD, b"short"]):
        with pytest.raises(ValueError, match="32 bytes"):
            Sealer(keys)


@pytest.mark.parametrize(
    "text",
    [
        OLD.hex(),
        OLD.hex().upper(),
        base64.b64encode(OLD).decode(),
        base64.urlsafe_b64encode(OLD).decode().rstrip("="),
        f" {OLD.hex()} ,",
    ],
)
def test_a_key_is_written_in_hex_or_base64(text: str) -> None:
    assert decode_keys(text) == [OLD]


def test_both_alphabets_of_base64_mean_the_same_key() -> None:
    odd = b"\xfb\xff" * 16
    assert decode_keys(base64.b64encode(odd).decode()) == [odd]
    assert decode_keys(base64.urlsafe_b64encode(odd).decode()) == [odd]


def test_several_keys_keep_their_order_and_count_once() -> None:
    assert decode_keys(f"{NEW.hex()},{OLD.hex()},{NEW.hex()}") == [NEW, OLD]
    with pytest.raises(ValueError):  # noqa: PT011 (it says nothing, so as to show no key)
        decode_keys(",".join(os.urandom(32).hex() for _ in range(SECRET_KEYS_MAX + 1)))


def test_keys_are_read_from_a_file_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "a, b.key"
    file.write_text(f"{NEW.hex()}\n{base64.b64encode(OLD).decode()}\n")
    assert read_keys(f"file:{file}") == [NEW, OLD]
    sealer = sealer_of(f"file:{file}")
    assert sealer is not None
    assert sealer.key_ids == {key_id(NEW), key_id(OLD)}
    assert sealer_of(None) is None


@pytest.mark.parametrize("content", [None, b"", b"hunter2", b"\xff\xfe"])
def test_a_file_without_keys_is_named_and_not_shown(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "secret.key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UnusableKeyFile, match=r"secret\.key .* put it back") as caught:
        read_keys(f"file:{file}")
    assert "hunter2" not in str(caught.value)
