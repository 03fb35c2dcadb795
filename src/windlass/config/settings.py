"""The settings and their defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from windlass import limits

Role = Literal["api", "worker", "leader"]
QueueOrder = Literal["turns", "strict"]
ROLES: tuple[Role, ...] = ("api", "worker", "leader")


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

    # CIDRs and hosts that deliveries may reach although they are private.
    egress_allow: tuple[str, ...] = ()
    auth: Literal["on", "off"] = "on"
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
