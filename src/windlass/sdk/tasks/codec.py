"""Serialization by one type hint: values to JSON and back (msgspec, pydantic).

What is written is read again at once by the hint's own decoder, so that what the caller may send
and what the node will take are the same by construction. A hint that msgspec knows nothing of
allows anything; pydantic's models are recognised by their methods, without importing it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from pathlib import PurePath
from typing import Any, Final

import msgspec

UNKNOWN: Final = Any


def encode_unknown(value: Any) -> Any:
    """What msgspec has no words for."""
    if hasattr(type(value), "model_dump"):  # pydantic
        return value.model_dump(mode="json")
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{_article(type(value).__name__)} cannot be written as JSON")


def decode_unknown(hint: Any, value: Any) -> Any:
    if hasattr(hint, "model_validate"):  # pydantic
        return hint.model_validate(value)
    if not isinstance(hint, type):  # Iterable[int], Callable[…]: nothing can be said
        return value
    if issubclass(hint, PurePath) and isinstance(value, str):
        return hint(value)
    if isinstance(value, hint):
        return value
    raise ValueError(f"must be {_article(hint.__name__)}")


def schema_unknown(hint: Any) -> dict[str, Any]:
    if hasattr(hint, "model_json_schema"):  # pydantic
        schema: dict[str, Any] = hint.model_json_schema()
        return schema
    if isinstance(hint, type) and issubclass(hint, PurePath):
        return {"type": "string"}
    return {}


_ENCODER: Final = msgspec.json.Encoder(enc_hook=encode_unknown)


class Unusable(ValueError):
    """A value that its hint does not allow, or that JSON cannot hold."""


class Codec:
    def __init__(self, hint: Any) -> None:
        self.hint = hint if _is_known(hint) else UNKNOWN
        self._read = msgspec.json.Decoder(self.hint, dec_hook=decode_unknown).decode

    @cached_property
    def _read_many(self) -> Callable[[bytes], Any]:
        return msgspec.json.Decoder(list[self.hint], dec_hook=decode_unknown).decode  # type: ignore[name-defined]

    def encode(self, value: Any) -> bytes:
        """The value as JSON. Raises Unusable."""
        try:
            written = _ENCODER.encode(value)
            if value is not None and b"null" in written:
                _refuse_lost_numbers(value)
            self._read(written)
        except RecursionError:
            raise Unusable("holds itself, or is nested too deep") from None
        except Exception as trouble:  # the user's own code speaks here too
            raise Unusable(_said(trouble)) from None
        return written

    def encode_many(self, values: list[Any]) -> list[bytes]:
        """Each as JSON, several times quicker than one by one. Raises Unusable: one of them is."""
        try:
            written = list(map(_ENCODER.encode, values))
            together = b"[%b]" % b",".join(written)
            if b"null" in together:
                _refuse_lost_numbers(values)
            self._read_many(together)
        except Exception as trouble:
            raise Unusable(_said(trouble)) from None
        return written

    def decode(self, value: Any) -> Any:
        """From what a JSON reader gave. Raises Unusable."""
        if self.hint is UNKNOWN:
            return value
        try:
            return msgspec.convert(value, self.hint, str_keys=True, dec_hook=decode_unknown)
        except Exception as trouble:
            raise Unusable(_said(trouble)) from None


def schemas_of(hints: list[Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The JSON Schema of each, and of those that they refer to."""
    known = [hint if _has_schema(hint) else Any for hint in hints]
    schemas, below = msgspec.json.schema_components(
        known, schema_hook=schema_unknown, ref_template="#/$defs/{name}"
    )
    below = dict(below)
    _hoist([*schemas, *below.values()], below)
    return [dict(schema) for schema in schemas], below


def _hoist(found: Any, below: dict[str, Any]) -> None:
    """pydantic says inside a schema what it refers to; a reference counts from the top."""
    if isinstance(found, list):
        for inner in found:
            _hoist(inner, below)
    elif isinstance(found, dict):
        below.update(found.pop("$defs", {}))
        for inner in found.values():
            _hoist(inner, below)


def _is_known(hint: Any) -> bool:
    try:
        msgspec.json.Decoder(hint, dec_hook=decode_unknown)
    except Exception:
        return False
    return True


def _has_schema(hint: Any) -> bool:
    try:
        msgspec.json.schema(hint, schema_hook=schema_unknown)
    except Exception:
        return False
    return True


def _refuse_lost_numbers(value: Any) -> None:
    """NaN and the infinities are written as null, and nobody would ever know."""
    plain = msgspec.to_builtins(value, enc_hook=encode_unknown, str_keys=True)
    json.dumps(plain, allow_nan=False)


def _said(trouble: Exception) -> str:
    said = str(trouble) or type(trouble).__name__
    if "JSON compliant" in said:
        return "holds NaN or an infinity, which JSON cannot say"
    # msgspec says where inside the value; `$` alone is the value itself.
    return said.removesuffix(" - at `$`").replace("at `$", "at `")


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
