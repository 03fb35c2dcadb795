"""The setting SECRET_KEY: how the keys that encrypt secrets are written.

`SECRET_KEY` holds one key or several separated by commas, each 32 bytes as 64 hexadecimal digits or
in base64; or `file:PATH` of a file that holds them, by commas or line by line. The first one
encrypts; all of them decrypt, so a new key is put before the old one until everything is
re-encrypted. No error shows a key or a part of one.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Final

from windlass.errors import WindlassError
from windlass.limits import SECRET_KEYS_MAX

FILE: Final = "file:"
KEY_BYTES: Final = 32
ALLOWED: Final = (
    f"{KEY_BYTES} bytes in base64 or hex (openssl rand -base64 {KEY_BYTES}), at most "
    f"{SECRET_KEYS_MAX} of them separated by commas, or file:PATH"
)
_FILE_BYTES_MAX: Final = 64 * 1024
_HEX: Final = re.compile(r"[0-9A-Fa-f]{64}")
# Both alphabets of base64; 43 characters hold 32 bytes, and the padding may be missing.
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{43}=?")


class UnusableKeyFile(WindlassError):
    """The file that SECRET_KEY names does not give keys."""

    code = "invalid_settings"

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        super().__init__(
            f"the key file {path} {why}; put it back from a backup: secrets that were encrypted "
            "under a lost key cannot be read by anybody"
        )


def decode_keys(text: str) -> list[bytes]:
    """The keys in `text`, each once. Raises ValueError, which says nothing."""
    words = [word.strip() for word in re.split(r"[,\n]", text.strip().strip(","))]
    keys = list(dict.fromkeys(_decode(word) for word in words))
    if len(keys) > SECRET_KEYS_MAX:
        raise ValueError
    return keys


def read_keys(setting: str) -> list[bytes]:
    """The keys that a checked setting means. Raises UnusableKeyFile."""
    if not setting.startswith(FILE):
        return decode_keys(setting)
    path = Path(setting.removeprefix(FILE))
    try:
        with path.open("rb") as file:
            text = file.read(_FILE_BYTES_MAX).decode("ascii")
        return decode_keys(text)
    except OSError as trouble:
        raise UnusableKeyFile(path, f"cannot be read ({trouble.strerror})") from None
    except ValueError:
        raise UnusableKeyFile(
            path, f"does not hold {ALLOWED.removesuffix(', or file:PATH')}"
        ) from None


def _decode(word: str) -> bytes:
    if _HEX.fullmatch(word):
        return bytes.fromhex(word)
    if not _BASE64.fullmatch(word):
        raise ValueError
    return base64.urlsafe_b64decode(word.rstrip("=").translate(str.maketrans("+/", "-_")) + "=")
