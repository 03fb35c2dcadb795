"""From what was typed to an id: its first digits are enough, and nodes go by their name, too.

Promises: a whole id costs no request. What may mean several things is refused (exit code 2) with
what tells them apart; what means nothing is not found (exit code 3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from windlass.cli.exits import BadUsage, Exit, Stopped
from windlass.cli.http.client import Client, not_windlass, segment
from windlass.cli.show.moment import relative
from windlass.ids import PREFIXES

Noun = Literal["job", "execution", "operation", "approval", "node"]
_WHOLE: Final = re.compile(r"[0-9a-f]{32}")
_BEGINNING: Final = re.compile(r"[0-9a-f]{1,31}")


def whole_id(client: Client, noun: Noun, text: str) -> str:
    """The id that is meant. Raises Stopped."""
    segment(text)  # refuses what is no name of anything
    bare = text.lower().removeprefix(PREFIXES[noun])
    # PostgreSQL writes its ids with dashes.
    if _WHOLE.fullmatch(digits := bare.replace("-", "")):
        return PREFIXES[noun] + digits
    if noun != "node" and not _BEGINNING.fullmatch(bare):
        raise BadUsage(_no_id(noun, text))
    typed = text if noun == "node" else bare
    found = client.get(f"/v1/ids/{segment(typed)}", {"noun": noun}).value
    match found.get("matches"):
        case [one]:
            return str(one["id"])
        case []:
            begins = "has this name, or an id that begins so" if noun == "node" else "begins so"
            what = "node" if noun == "node" else f"id of {_a(noun)}"
            raise Stopped(f"no {what} {begins}: {text}", Exit.NOT_FOUND)
        case [*several]:
            raise BadUsage(_ambiguous(noun, text, several, found["has_more"]))
        case _:
            raise not_windlass()


def whole_id_or_none(client: Client, noun: Noun, text: str | None) -> str | None:
    return None if text is None else whole_id(client, noun, text)


def whole_ids(client: Client, noun: Noun, texts: Sequence[str]) -> list[str]:
    return [whole_id(client, noun, text) for text in texts]


def _ambiguous(noun: Noun, text: str, several: Sequence[Mapping[str, Any]], has_more: bool) -> str:
    lines = [
        f"  {one['id']}  "
        + ", ".join([one["state"] or "of all nodes", relative(one["created_at"]), one["name"]])
        for one in several
    ]
    how = "name one by its id" if noun == "node" else "give more digits"
    return "\n".join(
        [f"{text} may be several {noun}s; {how}:", *lines, *(["  and others"] if has_more else [])]
    )


def _no_id(noun: Noun, text: str) -> str:
    for other, prefix in PREFIXES.items():
        if text.startswith(prefix) and other != noun:
            return f"{text} is the id of {_a(other)}; give that of {_a(noun)}"
    shown = text if len(text) <= 60 else text[:60] + "…"
    return f"{shown!r} is not {_a(noun)} id; one looks like {PREFIXES[noun]}<32 hex digits>"


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
