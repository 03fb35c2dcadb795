"""Sign-on: logging in through an identity provider (OpenID Connect, authorization code with PKCE).

    begin   a row: hash of state, hash of the browser's secret ──► to the provider, with a cookie
    finish  the row is taken, once ──► code for ID token ──► its claims ──► user, role ──► a session

Promises: a login ends once, in the browser that began it, within ten minutes, on whichever node.
Nobody gets a session unless all of it is right: cookie, state, issuer, code, signature, audience,
times, nonce. A user is who the issuer says (`iss` and `sub`): a user of another origin is never
taken for him, whatever he is called. His role is what the claims say at each login, and when it
changes his other sessions end; the last admin is not made less, and stays out. Whom the provider
lets in and we do not is in the audit log.
Never: asks the provider within a transaction, or keeps a token or a code.

Of a login under way the database has hashes alone. The nonce and the code verifier are made of what
comes back in two ways, the state in the address and the secret in the cookie:

    verifier = HMAC(secret, "verifier" state)        nonce = HMAC(secret, "nonce" state)

Who has read the table, the log of a proxy or the address can make neither.
"""

from __future__ import annotations

import base64
import contextlib
import hmac
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

import structlog

from windlass import ids
from windlass.clock import monotonic
from windlass.config import Settings
from windlass.engine.audit.record import Entry, record
from windlass.engine.audit.refused import RefusedRecorder
from windlass.engine.identity.id_token import KeyUnknown, TokenRefused, read_id_token
from windlass.engine.identity.login import count_beginning, logged_in
from windlass.engine.identity.provider import Provider
from windlass.engine.identity.sessions import BegunSession, begin_session, end_session, end_sessions
from windlass.engine.identity.sign_on_answers import (
    DenialReason,
    ReturnedBrowser,
    SignOnBusy,
    SignOnDenied,
    SignOnExpired,
    SignOnFailed,
)
from windlass.engine.identity.tokens import Tokens
from windlass.engine.identity.users import (
    LastAdmin,
    NameTaken,
    UserElsewhere,
    add_user_elsewhere,
    change_user,
    find_user_elsewhere,
)
from windlass.errors import NotFound
from windlass.limits import (
    SIGN_ON_BEGUN_AT_ONCE,
    SIGN_ON_ENDED_AT_ONCE,
    SIGN_ON_SECONDS,
    SIGN_ON_UNDER_WAY_MAX,
)
from windlass.model.identity.account import read_role
from windlass.model.identity.claims import (
    ClaimRefused,
    RoleRules,
    check_claims,
    name_of,
    role_of,
    subject_of,
)
from windlass.model.identity.rights import Role
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

log = structlog.get_logger()

# A state and a browser's secret: 256 bits.
TICKET_PATTERN: Final = r"[A-Za-z0-9_-]{43}"
_TICKET: Final = re.compile(TICKET_PATTERN)
_TICKET_BYTES: Final = 32
# What RFC 6749 §4.1.2.1 and OpenID Connect let a provider say instead of a code, when nobody but
# the person could do anything about it.
_PERSONAL: Final = frozenset(
    {"access_denied", "login_required", "consent_required", "interaction_required"}
)
# For the audit log.
_WHY: Final[Mapping[DenialReason, str]] = {
    "provider": "the identity provider let nobody in",
    "no_role": "the identity provider gives no role here",
    "disabled": "the user is disabled here",
    "last_admin": "the identity provider gives the last admin another role",
    "name_taken": "too many users have the name",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOnTerms:
    """What the owner has said of it."""

    scopes: str
    redirect_uri: str
    rules: RoleRules
    name_claim: str | None  # None: the usual ones


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunSignOn:
    url: str = field(repr=False)  # of the provider, where the browser goes
    secret: str = field(repr=False)  # which the browser keeps meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedOn:
    user_id: UUID
    session: BegunSession
    return_to: str


class SignOn:
    def __init__(
        self, database: Database, tokens: Tokens, provider: Provider, terms: SignOnTerms
    ) -> None:
        self._database, self._tokens = database, tokens
        self._provider, self._terms = provider, terms
        self._beginning, self._ending = _Room(SIGN_ON_BEGUN_AT_ONCE), _Room(SIGN_ON_ENDED_AT_ONCE)
        # Two, or others whom the provider knows would crowd out those who are users here.
        self._refused_users, self._refused_others = RefusedRecorder(), RefusedRecorder()

    async def begin(
        self, *, address: str, return_to: str, secret: str | None, session_id: UUID | None
    ) -> BegunSignOn:
        """`secret` of a login that this browser has begun before, in another window perhaps; None:
        it has none. Raises ProviderAway, TooManyTries, SignOnBusy.
        """
        with self._beginning.place():
            await count_beginning(self._database, address)
            description = await self._provider.description()
            if secret is None or not _TICKET.fullmatch(secret):
                secret = secrets.token_urlsafe(_TICKET_BYTES)
            state = secrets.token_urlsafe(_TICKET_BYTES)
            made = await self._database.read(
                "login_under_way_add",
                *(_hash(state), _hash(secret), return_to, session_id),
                *(SIGN_ON_SECONDS, SIGN_ON_UNDER_WAY_MAX),
            )
        if not made:
            raise SignOnBusy
        query = {
            "response_type": "code",
            "client_id": self._provider.client_id,
            "redirect_uri": self._terms.redirect_uri,
            "scope": self._terms.scopes,
            "state": state,
            "nonce": _nonce(secret, state),
            "code_challenge": _text(sha256(_verifier(secret, state).encode()).digest()),
            "code_challenge_method": "S256",
        }
        url = description.authorization_url
        return BegunSignOn(
            url=f"{url}{'&' if '?' in url else '?'}{urlencode(query)}", secret=secret
        )

    async def finish(self, back: ReturnedBrowser, *, address: str, device: str) -> SignedOn:
        """Raises SignOnExpired, SignOnFailed, SignOnDenied, ProviderAway, SignOnBusy."""
        with self._ending.place():
            under_way = await self._take(back)
            taken_at = monotonic()
            try:
                code = await self._check_answer(back)
                secret = back.secret or ""
                token = await self._provider.id_token(
                    code,
                    verifier=_verifier(secret, back.state),
                    redirect_uri=self._terms.redirect_uri,
                )
                claims = await self._read(token)
                check_claims(
                    claims,
                    issuer=self._provider.issuer,
                    client_id=self._provider.client_id,
                    nonce=_nonce(secret, back.state),
                    now=under_way["now"] + monotonic() - taken_at,
                )
            except ClaimRefused as trouble:
                raise self._failed(f"the ID token is refused: {trouble}") from None
            except SignOnFailed as trouble:
                raise self._failed(trouble.why) from None
            except SignOnDenied as denied:
                await self._record(denied, None)
                raise
            user, session = await self._let_in(claims, address=address, device=device)
            await self._tokens.revoked(
                [*session.ended, *await self._end({under_way["session_id"], back.session_id})]
            )
        return SignedOn(user_id=user.id, session=session, return_to=under_way["return_to"])

    async def close(self) -> None:
        await self._provider.close()

    async def _take(self, back: ReturnedBrowser) -> Record:
        """The login that this browser has begun. Raises SignOnExpired."""
        texts = (back.state, back.secret or "")
        if not all(_TICKET.fullmatch(text) for text in texts):
            raise SignOnExpired
        rows = await self._database.read("login_under_way_take", *map(_hash, texts))
        if not rows or not rows[0]["is_good"]:
            raise SignOnExpired
        return rows[0]

    async def _check_answer(self, back: ReturnedBrowser) -> str:
        """The code, which the right provider gave. Raises SignOnDenied, SignOnFailed."""
        description = await self._provider.description()
        is_named = back.issuer is not None or description.names_itself
        if is_named and back.issuer != self._provider.issuer:
            raise SignOnFailed("the answer is from another identity provider (iss)")
        if back.error in _PERSONAL:
            raise SignOnDenied(
                "provider", f"the identity provider did not let you in ({back.error}); begin again"
            )
        if back.error is not None or back.code is None:
            raise SignOnFailed(
                "the identity provider gave no code; its owner should look at the client it has "
                "for Windlass, its redirect URI and its scopes"
            )
        return back.code

    async def _read(self, token: str) -> dict[str, Any]:
        """Its claims, if the provider has signed it; keys change. Raises SignOnFailed."""
        known = await self._provider.keys()
        try:
            try:
                return read_id_token(token, known.keys)
            except KeyUnknown:
                newer = await self._provider.newer_keys(known)
                if newer is None:
                    raise
                return read_id_token(token, newer.keys)
        except (KeyUnknown, TokenRefused) as trouble:
            raise SignOnFailed(f"the ID token is refused: {trouble}") from None

    async def _let_in(
        self, claims: dict[str, Any], *, address: str, device: str
    ) -> tuple[UserElsewhere, BegunSession]:
        """Raises SignOnDenied, and then the audit log says whom."""
        subject = subject_of(claims)
        user = await find_user_elsewhere(self._database, self._provider.issuer, subject)
        try:
            user = await self._admit(user, claims)
            return user, await self._begin_session(user, address=address, device=device)
        except SignOnDenied as denied:
            await self._record(denied, user, subject)
            raise

    async def _admit(self, user: UserElsewhere | None, claims: dict[str, Any]) -> UserElsewhere:
        """Who it is here, with the role of today; None: nobody yet. Raises SignOnDenied."""
        role = role_of(claims, self._terms.rules)
        if role is None:
            if user is not None:
                await self._tokens.revoked(await end_sessions(self._database, user.id))
            raise SignOnDenied(
                "no_role",
                "the identity provider knows you, and gives you no role here; an admin can put you "
                "into a group that WINDLASS_OIDC_ROLES names",
            )
        if user is not None and user.is_disabled:
            raise _disabled()
        if user is None:
            name = name_of(claims, self._terms.name_claim)
            return await self._add(subject_of(claims), name, role)
        if user.role != role:
            await self._change(user, role)
        return user

    async def _add(self, subject: str, name: str, role: Role) -> UserElsewhere:
        try:
            return await add_user_elsewhere(
                self._database, issuer=self._provider.issuer, subject=subject, name=name, role=role
            )
        except NameTaken:
            raise SignOnDenied(
                "name_taken",
                f"there are too many users called {name!r}; an admin can delete some, or let "
                "WINDLASS_OIDC_USER_CLAIM name another claim",
            ) from None

    async def _change(self, user: UserElsewhere, role: Role) -> None:
        try:
            changed = await change_user(self._database, user.id, role=role, is_disabled=None)
        except LastAdmin:
            log.warning("sign_on_last_admin", user=user.name, role=role)
            raise SignOnDenied(
                "last_admin",
                f"the identity provider calls you {role} now, and you are the last admin who may "
                "come in; make somebody else an admin first, then log in again",
            ) from None
        except NotFound:  # somebody has deleted the user just now
            raise SignOnExpired from None
        await self._tokens.revoked(changed.ended)

    async def _begin_session(
        self, user: UserElsewhere, *, address: str, device: str
    ) -> BegunSession:
        """As after a password. Raises SignOnDenied."""

        async def work(connection: Connection[Record]) -> BegunSession | None:
            begun = await begin_session(connection, user.id, address=address, device=device)
            if begun is not None:
                await connection.fetch(statement("user_logged_in"), user.id)
                issuer = self._provider.issuer
                entry = logged_in(user.id, user.name, begun.id, device, issuer)
                await record(connection, entry)
            return begun

        begun = await self._database.ask(work, about=("user", user.id))
        if begun is None:
            raise _disabled()
        return begun

    async def _end(self, sessions: Iterable[UUID | None]) -> list[bytes]:
        """Whoever logs in where somebody is logged in has one session, not two."""
        ended: list[bytes] = []
        for session_id in sessions:
            if session_id is not None:
                with contextlib.suppress(NotFound):
                    ended += await end_session(self._database, session_id)
        return ended

    async def _record(
        self, denied: SignOnDenied, user: UserElsewhere | None, subject: str | None = None
    ) -> None:
        """`user` None: nobody here, and what he calls himself is not shown: it may be the name of
        somebody else. `subject` None: nor did the provider say who it is.
        """
        after = {"issuer": self._provider.issuer, "reason": denied.reason}
        if user is None and subject is not None:
            after["subject"] = subject
        entry = Entry(
            action="session.login_failed",
            id=ids.show("user", user.id) if user is not None else None,
            name=user.name if user is not None else None,
            after=after,
            note=_WHY[denied.reason],
        )

        async def make() -> Entry:
            return entry

        recorder = self._refused_others if user is None else self._refused_users
        await recorder.record(self._database, make)

    def _failed(self, why: str) -> SignOnFailed:
        log.warning("sign_on_failed", issuer=self._provider.issuer, reason=why)
        return SignOnFailed(why)


class _Room:
    """For so many at once."""

    def __init__(self, most: int) -> None:
        self._free = most

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """Raises SignOnBusy."""
        if not self._free:
            raise SignOnBusy
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1


def sign_on_of(settings: Settings, database: Database, tokens: Tokens, path: str) -> SignOn | None:
    """As the settings say; `path` is where browsers come back to. None: there is none."""
    provider = provider_of(settings)
    if provider is None or settings.public_url is None:
        return None
    pairs = (pair.rpartition("=") for pair in settings.oidc_roles)
    terms = SignOnTerms(
        scopes=settings.oidc_scopes,
        redirect_uri=settings.public_url + path,
        rules=RoleRules(
            claim=settings.oidc_role_claim,
            roles=tuple((name, read_role(role)) for name, _, role in pairs),
            default=settings.oidc_default_role,
        ),
        name_claim=settings.oidc_user_claim,
    )
    return SignOn(database, tokens, provider, terms)


def provider_of(settings: Settings) -> Provider | None:
    """None: the settings name none."""
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        return None
    return Provider(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        secret=settings.oidc_client_secret,
        egress_allow=settings.egress_allow,
    )


def _disabled() -> SignOnDenied:
    return SignOnDenied("disabled", "this user is disabled here; an admin can change that")


def _hash(ticket: str) -> bytes:
    return sha256(ticket.encode()).digest()


def _verifier(secret: str, state: str) -> str:
    return _made_of(secret, "verifier", state)


def _nonce(secret: str, state: str) -> str:
    return _made_of(secret, "nonce", state)


def _made_of(secret: str, use: str, state: str) -> str:
    return _text(hmac.digest(secret.encode(), f"{use}\0{state}".encode(), sha256))


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
