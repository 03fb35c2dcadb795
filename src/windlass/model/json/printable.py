"""Text that can be shown in one line: in a list, in a log, in a terminal.

Refused are control characters, what ends a line, what is invisible, and what turns the direction of
the text around it. Not refused are joiners, without which some scripts and many emoji fall apart.
What is refused is something that a regular expression can say, so that schemas say it too.
"""

from __future__ import annotations

import re
from typing import Final

_HIDDEN: Final = (
    r"\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
)
# One character, for schemas. In JSON text there is no half of a surrogate pair.
CHAR_PATTERN: Final = f"[^{_HIDDEN}]"
_PRINTABLE: Final = re.compile(rf"[^{_HIDDEN}\ud800-\udfff]*")


def is_printable(text: str) -> bool:
    """The empty text is."""
    return text.isprintable() or _PRINTABLE.fullmatch(text) is not None
