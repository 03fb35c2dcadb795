"""The claims of an ID token (OpenID Connect): are they for us, whom do they name, with which role?

Claims have been signed by the provider; who signed them is judged elsewhere. Here is judged whether
they were made for this client and this login (Core §3.1.3.7), and what they mean here:

    iss aud azp nonce ── exactly ours         exp iat nbf ── by the database's clock, with a leeway
    sub ── who it is, for ever                groups, roles ── the highest that one of them means

A name is what people see. It never says who somebody is: that does `iss` with `sub`, nothing else.
"""

from __future__ import annotations

import contextlib
import hmac
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from windlass.config.settings import USER_ROLES
from windlass.limits import (
    CLAIM_VALUES_MAX,
    ID_TOKEN_LEEWAY_SECONDS,
    SUBJECT_CHARS_MAX,
    USER_NAME_CHARS_MAX,
)
from windlass.model.identity.account import read_new_user_name
from windlass.model.identity.rights import ROLES, Role, has_role

Claims = Mapping[str, Any]
assert USER_ROLES == ROLES, "settings stand below the table of rights, and name the same roles"

_UNSAFE: Final = re.compile(r"[^a-z0-9._@+-]+")
_BEFORE: Final = re.compile(r"^[^a-z0-9]+")
_NUMBER_CHARS: Final = 4  # "-20", and one more


class ClaimRefused(ValueError):
    """A claim is not what it has to be. Its words are ours, and show nothing that it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRules:
    """Which role the values of a claim give."""

    claim: str | None  # None: none does
    roles: tuple[tuple[str, Role], ...]  # what the provider says -> what it means here
    default: Role | None  # None: who has none may not come in


def check_claims(claims: Claims, *, issuer: str, client_id: str, nonce: str, now: float) -> None:
    """Were they made for this client, this login and this moment? Raises ClaimRefused."""
    if claims.get("iss") != issuer:
        raise ClaimRefused("it is from another issuer (iss)")
    _check_audience(claims, client_id)
    said = claims.get("nonce")
    if not isinstance(said, str) or not _is_same(said, nonce):
        raise ClaimRefused("it was made for another login (nonce)")
    _check_times(claims, now)
    subject_of(claims)


def _is_same(text: str, other: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "surrogatepass"), other.encode())


def _check_audience(claims: Claims, client_id: str) -> None:
    audience, party = claims.get("aud"), claims.get("azp")
    several = audience if isinstance(audience, list) else [audience]
    if client_id not in several:
        raise ClaimRefused("it was made for another client (aud)")
    if party is None and len(several) > 1:
        raise ClaimRefused("it has several audiences and does not say for whom it was made (azp)")
    if party is not None and party != client_id:
        raise ClaimRefused("it was made for another client (azp)")


def _check_times(claims: Claims, now: float) -> None:
    ends, made = _seconds(claims, "exp"), _seconds(claims, "iat")
    begins = _seconds(claims, "nbf") if claims.get("nbf") is not None else made
    hint = "; are the clocks of the provider and of PostgreSQL right?"
    if ends + ID_TOKEN_LEEWAY_SECONDS <= now:
        raise ClaimRefused(f"it expired {_shown(now - ends)} ago (exp){hint}")
    if made - ID_TOKEN_LEEWAY_SECONDS > now:
        raise ClaimRefused(f"it was made {_shown(made - now)} in the future (iat){hint}")
    if begins - ID_TOKEN_LEEWAY_SECONDS > now:
        raise ClaimRefused(f"it is not good before {_shown(begins - now)} from now (nbf){hint}")


def _seconds(claims: Claims, name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ClaimRefused(f"{name} is no number of seconds")
    try:
        seconds = float(value)
    except OverflowError:
        seconds = math.inf
    if not math.isfinite(seconds):
        raise ClaimRefused(f"{name} is no number of seconds")
    return seconds


def _shown(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 10**7 else "very many seconds"


def subject_of(claims: Claims) -> str:
    """Who it is, among all that the issuer knows. Raises ClaimRefused."""
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 1 <= len(subject) <= SUBJECT_CHARS_MAX:
        raise ClaimRefused(f"it names nobody in 1 to {SUBJECT_CHARS_MAX} characters (sub)")
    if not subject.isprintable():
        raise ClaimRefused("it names somebody in characters that cannot be shown (sub)")
    return subject


def role_of(claims: Claims, rules: RoleRules) -> Role | None:
    """The highest role that one of the values has. None: may not come in."""
    best = rules.default
    values: set[str] = set()
    # An address that nobody has verified is anybody's.
    if rules.claim is not None and (rules.claim != "email" or claims.get("email_verified") is True):
        values.update(_texts(_at(claims, rules.claim)))
    for name, role in rules.roles:
        if name in values and (best is None or has_role(role, best)):
            best = role
    return best


def _texts(value: object) -> Iterator[str]:
    """A claim is one text or a list of them; whatever else is said there means nothing."""
    items = value if isinstance(value, list) else [value]
    yield from (item for item in items[:CLAIM_VALUES_MAX] if isinstance(item, str))


def _at(claims: Claims, path: str) -> object:
    """The claim of this name, or what a path of names with dots leads to: `realm_access.roles`."""
    if path in claims:
        return claims[path]
    found: object = claims
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found


def name_of(claims: Claims, wanted: str | None) -> str:
    """What to call the user: of the claim that is `wanted`, or else of the first that says it."""
    for text in _names(claims, wanted):
        with contextlib.suppress(ValueError):
            return read_new_user_name(_safe(text))
    # Nobody's name; it tells two of them apart.
    return f"member-{sha256(subject_of(claims).encode('utf-8', 'replace')).hexdigest()[:12]}"


def _names(claims: Claims, wanted: str | None) -> Iterator[str]:
    if wanted is not None:
        yield from _texts(_at(claims, wanted))
    else:
        yield from _texts(claims.get("preferred_username"))
        if claims.get("email_verified") is True:
            yield from _texts(claims.get("email"))
    yield subject_of(claims)


def _safe(text: str) -> str:
    """Of the letters that a name may have, with room for a number behind it."""
    plain = unicodedata.normalize("NFKD", text[: 4 * USER_NAME_CHARS_MAX]).casefold()
    marked = "".join(char for char in plain if not unicodedata.combining(char))
    name = _BEFORE.sub("", _UNSAFE.sub("-", marked))
    return name[: USER_NAME_CHARS_MAX - _NUMBER_CHARS].rstrip("-.")


def namesake(name: str, number: int) -> str:
    """How the second of one name is called, and the third."""
    return name if number == 1 else f"{name}-{number}"
