"""What a browser brings back from the identity provider, and what may come of it but a session.

The words of refusals are ours: nothing that the provider said is repeated, no code, no token, no
secret. Apart from `sign_on`, for everybody knows of these, and few load what that needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal
from uuid import UUID

from windlass.errors import Forbidden, Unauthorized, Unavailable

DenialReason = Literal["provider", "no_role", "disabled", "last_admin", "name_taken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedBrowser:
    """What a browser brings back from the provider."""

    state: str = field(repr=False)
    secret: str | None = field(repr=False)  # of its cookie; None: it has none
    code: str | None = field(repr=False, default=None)  # None: the provider gave none
    error: str | None = None  # None: the provider named none
    issuer: str | None = None  # None: the provider does not name itself
    session_id: UUID | None = None  # None: it has no session, or does not show it


class SignOnFailed(Unauthorized):
    """What the identity provider answered cannot be believed, or does not fit this client. Nobody
    was logged in; the log of the node says it too.
    """

    code = "sign_on_failed"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"you are not logged in: {why}")


class SignOnExpired(Unauthorized):
    """The login is not under way in this browser: it has ended, is too old, or was begun elsewhere.
    Begin again.
    """

    code = "sign_on_expired"

    def __init__(self) -> None:
        super().__init__(
            "this login is not under way in this browser: it has ended already, it took longer "
            "than ten minutes, or it was begun elsewhere; begin again"
        )


class SignOnDenied(Forbidden):
    """The identity provider has said who it is, and who it is may not come in."""

    code = "sign_on_denied"

    def __init__(self, reason: DenialReason, why: str) -> None:
        self.reason = reason
        super().__init__(why)

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {"reason": self.reason}


class ProviderAway(Unavailable):
    """The identity provider does not answer, or not as one does. Who has a password or a key comes
    in as before.
    """

    code = "provider_away"
    retry_after_seconds: ClassVar[int] = 5


class SignOnBusy(Unavailable):
    """So many log in through the identity provider at once that another has to wait."""

    code = "sign_on_busy"
    retry_after_seconds: ClassVar[int] = 5

    def __init__(self) -> None:
        super().__init__("too many logins are under way at once; try again in a moment")
