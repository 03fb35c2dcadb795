"""Users, sessions, API keys, and who calls, as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from windlass.sdk.http.api_object import ApiObject


class LackingRight(ApiObject):
    """A right that the caller has not got, and the roles that have it."""

    _shown: ClassVar[tuple[str, ...]] = ("right",)

    right: str
    roles: list[str]


class Quota(ApiObject):
    """What a user or a key may take. None: as much as it likes."""

    _shown: ClassVar[tuple[str, ...]] = ("requests_per_second", "jobs_per_day", "bytes_waiting")

    requests_per_second: float | None
    requests_burst: int | None
    jobs_per_day: int | None
    bytes_waiting: int | None


class RequestsLeft(ApiObject):
    """What is left of a quota of requests."""

    _shown: ClassVar[tuple[str, ...]] = ("subject", "limit", "remaining")

    subject: str
    limit: float
    burst: int
    remaining: int
    reset: int


class JobsLeft(ApiObject):
    """What is left of a quota of jobs a day."""

    _shown: ClassVar[tuple[str, ...]] = ("subject", "limit", "remaining")

    subject: str
    limit: float
    current: int
    remaining: int
    day_ends_at: datetime | None


class BytesLeft(ApiObject):
    """What is left of a quota of bytes that wait."""

    _shown: ClassVar[tuple[str, ...]] = ("subject", "limit", "remaining")

    subject: str
    limit: float
    current: int | None
    remaining: int | None


class QuotaLeft(ApiObject):
    """Of each quota of a caller the limit, whose it is, and what is left."""

    _shown: ClassVar[tuple[str, ...]] = ("requests_per_second", "jobs_per_day", "bytes_waiting")

    requests_per_second: RequestsLeft | None
    jobs_per_day: JobsLeft | None
    bytes_waiting: BytesLeft | None


class OidcLogin(ApiObject):
    """Where one logs in elsewhere."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "url")

    name: str
    url: str


class LoginMethods(ApiObject):
    """How one logs in."""

    _shown: ClassVar[tuple[str, ...]] = ("auth", "password", "oidc")

    auth: str
    password: bool
    oidc: OidcLogin | None


class Caller(ApiObject):
    """Who calls, and what it may do."""

    _shown: ClassVar[tuple[str, ...]] = ("kind", "name", "role")

    kind: str
    id: str
    name: str
    role: str | None
    rights: list[str]
    lacks: list[LackingRight]
    queues: list[str] | None
    workflows: list[str] | None
    user_id: str | None
    session_id: str | None
    expires_at: datetime | None
    must_change_password: bool
    csrf_token: str | None
    auth: str
    token: str | None
    quota: QuotaLeft | None


class User(ApiObject):
    """Somebody who may log in."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "name", "role")

    id: str
    name: str
    role: str
    has_password: bool
    must_change_password: bool
    issuer: str | None
    sessions: int
    created_at: datetime
    changed_at: datetime
    last_login_at: datetime | None
    disabled_at: datetime | None
    quota: Quota


class UserPassword(ApiObject):
    """A user, with the one-time password if one was made; it is shown only now."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "name", "role")

    id: str
    name: str
    role: str
    has_password: bool
    must_change_password: bool
    issuer: str | None
    sessions: int
    created_at: datetime
    changed_at: datetime
    last_login_at: datetime | None
    disabled_at: datetime | None
    quota: Quota
    one_time_password: str | None


class Session(ApiObject):
    """Where somebody is logged in."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "user_name")

    id: str
    user_id: str
    user_name: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    address: str
    device: str
    is_this: bool


class EndedSessions(ApiObject):
    """How many sessions have ended."""

    _shown: ClassVar[tuple[str, ...]] = ("ended",)

    ended: int


class Key(ApiObject):
    """What may be known of an API key."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "name", "role")

    id: str
    name: str
    role: str | None
    scopes: list[str] | None
    queues: list[str] | None
    workflows: list[str] | None
    user_id: str | None
    user_name: str | None
    created_at: datetime
    expires_at: datetime | None
    is_expired: bool
    rotated_at: datetime | None
    overlap_until: datetime | None
    last_used_at: datetime | None
    quota: Quota


class MadeKey(ApiObject):
    """An API key with its token, which is shown only now."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "name", "role")

    id: str
    name: str
    role: str | None
    scopes: list[str] | None
    queues: list[str] | None
    workflows: list[str] | None
    user_id: str | None
    user_name: str | None
    created_at: datetime
    expires_at: datetime | None
    is_expired: bool
    rotated_at: datetime | None
    overlap_until: datetime | None
    last_used_at: datetime | None
    quota: Quota
    token: str
