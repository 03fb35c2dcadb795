"""The settings and their defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from windlass import limits

Role = Literal["api", "worker", "leader"]
QueueOrder = Literal["turns", "strict"]
ROLES: tuple[Role, ...] = ("api", "worker", "leader")
# Of people (model.identity.rights, which stands above this), the lowest first.
UserRole = Literal["viewer", "operator", "editor", "admin"]
USER_ROLES: tuple[UserRole, ...] = ("viewer", "operator", "editor", "admin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One node's settings, checked. Fields that may carry a secret stay out of the repr."""

    # Where the truth and the fast lane are. None: `windlass up` starts its own.
    database_url: str | None = field(default=None, repr=False)
    # None: reads go to database_url.
    read_database_url: str | None = field(default=None, repr=False)
    redis_url: str | None = field(default=None, repr=False)

    host: str = "127.0.0.1"
    port: int = 5777
    # Files in PEM: the certificate with those that lead to its authority, and its key. None: http.
    tls_cert: Path | None = None
    tls_key: Path | None = None
    # Of a key that is encrypted. None: it is not.
    tls_key_password_file: Path | None = None
    # CIDRs of proxies whose word about a caller's address is taken.
    trusted_proxies: tuple[str, ...] = ()
    # Where browsers reach Windlass. None: wherever they say (Host), and nobody logs in elsewhere.
    public_url: str | None = None
    # Slots. 0: jobs run inline, one at a time.
    workers: int = 16
    roles: tuple[Role, ...] = ROLES
    # The queues that it serves, each perhaps with a weight: `mail=3`. Empty: all.
    queues: tuple[str, ...] = ()
    queues_except: tuple[str, ...] = ()
    # turns: each is asked first as often as its weight says. strict: in the order given.
    queue_order: QueueOrder = "turns"
    # Only for people to read; a node's identity is a fresh UUID. None: the host's name.
    node_name: str | None = None

    lease_seconds: float = float(limits.LEASE_SECONDS)
    heartbeat_seconds: float = float(limits.HEARTBEAT_SECONDS)
    leader_lease_seconds: float = limits.LEADER_LEASE_SECONDS

    # What a queue holds unless it has limits of its own. None: no limit.
    queue_max_jobs: int | None = None
    queue_max_bytes: int | None = None
    # What a user, or a key that belongs to none, may have unless it has a quota of its own. None:
    # as much as it likes; of the burst, which belongs to the rate: as many as in a second.
    quota_requests_per_second: float | None = None
    quota_requests_burst: int | None = None
    quota_jobs_per_day: int | None = None
    quota_bytes_waiting: int | None = None
    # Executions that may be begun below one that somebody started.
    execution_tree_max: int = limits.EXECUTION_TREE_MAX

    job_timeout_seconds: float = 300.0
    http_timeout_seconds: float = 30.0
    retry_max_attempts: int = 5
    drain_timeout_seconds: float = 30.0
    refresh_interval_seconds: float = 30.0
    stale_coordinator_seconds: float = 600.0
    retention_days: int = 14
    # Of the audit log.
    audit_retention_days: int = limits.AUDIT_DAYS

    # CIDRs and hosts that deliveries may reach although they are private.
    egress_allow: tuple[str, ...] = ()
    auth: Literal["on", "off"] = "on"
    # Login through OpenID Connect. None: only with a name and a password.
    oidc_issuer: str | None = None
    oidc_client_id: str | None = None
    # None: a public client, which has none.
    oidc_client_secret: str | None = field(default=None, repr=False)
    oidc_scopes: str = "openid profile email"
    # The claim with groups or roles, and which of them means which role: `ops=operator`.
    oidc_role_claim: str | None = None
    oidc_roles: tuple[str, ...] = ()
    # Of whom no claim gives one. None: may not come in.
    oidc_default_role: UserRole | None = None
    # What a user is called here. None: preferred_username, a verified email, or sub.
    oidc_user_claim: str | None = None
    # On the button of the login page.
    oidc_name: str = "OpenID Connect"
    # Encrypts secrets at rest. None: secrets cannot be stored.
    secret_key: str | None = field(default=None, repr=False)
    # Off: deliveries leave unsigned. On, and no key: they are refused.
    sign_webhooks: Literal["on", "off"] = "on"

    # None: no traces are sent.
    otel_exporter_otlp_endpoint: str | None = field(default=None, repr=False)
    log_format: Literal["console", "json"] = "console"
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    # Folder of the embedded servers. None: `windlass up` chooses.
    data: Path | None = None
    # `module:attr` of the user's App, of several with commas between. None: no Python tasks.
    app: str | None = None
