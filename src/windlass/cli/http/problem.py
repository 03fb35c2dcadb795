"""What the server refused, from its problem document (RFC 9457), and the exit code for it."""

from __future__ import annotations

from typing import Any, Final

from windlass.cli.exits import Exit, Stopped
from windlass.cli.limits import POINTERS_SHOWN_MAX
from windlass.sdk.http.problems import document_of
from windlass.sdk.http.transport import Response

EXITS: Final[dict[int, Exit]] = {
    400: Exit.USAGE,
    401: Exit.NOT_ALLOWED,
    403: Exit.NOT_ALLOWED,
    404: Exit.NOT_FOUND,
    405: Exit.USAGE,
    409: Exit.CONFLICT,
    412: Exit.CONFLICT,
    413: Exit.LIMITED,
    422: Exit.USAGE,
    429: Exit.LIMITED,
    502: Exit.UNREACHABLE,
    503: Exit.UNREACHABLE,
    504: Exit.UNREACHABLE,
}
# An idempotency key that was used for something else is a conflict, although its status is 422.
EXITS_BY_CODE: Final[dict[str, Exit]] = {"idempotency_mismatch": Exit.CONFLICT}
# What somebody at a terminal does about it.
ADVICE_BY_CODE: Final[dict[str, str]] = {
    "password_change_needed": "choose it with `windlass password`",
    "forbidden": "`windlass whoami` tells what you may, and who has the rest",
    "no_session": "log in with `windlass login`",
}
_LOGIN_FAILED: Final = "login_failed"
_GIVE_A_KEY: Final = (
    "\n  log in with `windlass login`, give a key with --token, or set WINDLASS_TOKEN"
)


class Refused(Stopped):
    """An answer that is no success."""

    def __init__(
        self,
        status: int,
        document: dict[str, Any],
        retry_after: str | None = None,
        key_hint: str | None = None,  # None: a key was given
        login_ended: str | None = None,  # None: no login was stored
    ) -> None:
        self.status, self.document = status, document
        self.problem_code = str(document.get("code") or "")
        said = _sentence(status, document, retry_after)
        if status == 401 and self.problem_code != _LOGIN_FAILED:
            hint = f"\n  {key_hint}" if key_hint is not None else ""
            said = login_ended or f"{said}{_GIVE_A_KEY}{hint}"
        super().__init__(said, _exit_for(status, document))


def refusal(
    response: Response, key_hint: str | None = None, login_ended: str | None = None
) -> Refused:
    """Any answer but a success, whoever wrote it: Windlass, or a proxy before it."""
    status, document = response.status, document_of(response.body)
    if document is None:
        shown = " ".join(response.body[:200].decode(errors="replace").split())
        document = {"detail": f"the server answered {status}{': ' if shown else ''}{shown}"}
    retry_after = response.headers.get("retry-after")
    return Refused(status, document, retry_after, key_hint, login_ended)


def _exit_for(status: int, document: dict[str, Any]) -> Exit:
    by_code = EXITS_BY_CODE.get(str(document.get("code")))
    return by_code or EXITS.get(status, Exit.FAILED)


def _sentence(status: int, document: dict[str, Any], retry_after: str | None) -> str:
    detail = document.get("detail") or document.get("title") or f"the server answered {status}"
    lines = [str(detail), *_pointers(document)]
    if retry_after:
        lines.append(f"  try again in {retry_after} s")
    if advice := ADVICE_BY_CODE.get(str(document.get("code"))):
        lines.append(f"  {advice}")
    # An unexpected error is looked up in the server's log by this.
    if status >= 500 and document.get("request_id"):
        lines.append(f"  request id: {document['request_id']}")
    return "\n".join(lines)


def _pointers(document: dict[str, Any]) -> list[str]:
    errors = document.get("errors")
    if not isinstance(errors, list):
        return []
    lines = [
        f"  {found.get('pointer') or '/'}: {found.get('detail', '')}"
        for found in errors[:POINTERS_SHOWN_MAX]
        if isinstance(found, dict)
    ]
    more = len(errors) - POINTERS_SHOWN_MAX
    return [*lines, f"  and {more} more"] if more > 0 else lines
