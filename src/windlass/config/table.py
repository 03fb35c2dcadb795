"""Every setting and its rule, and the relations between settings. Checked at import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from windlass import limits
from windlass.config import addresses, rules
from windlass.config.settings import ROLES, Settings

_DAY_SECONDS = 24 * 3600

RULES: dict[str, rules.Rule] = {
    "database_url": addresses.postgresql(),
    "read_database_url": addresses.postgresql(),
    "redis_url": addresses.redis(),
    "host": rules.matching(rules.is_host, "an IP address or a host name, without a port"),
    "port": rules.whole_number(1, 65_535),
    "workers": rules.whole_number(0, limits.WORKERS_MAX),
    "roles": rules.subset(*ROLES),
    "node_name": rules.matching(
        rules.is_name, f"at most {limits.NAME_CHARS_MAX} characters without spaces"
    ),
    # Below this a node would give its work up before its first beat.
    "lease_seconds": rules.seconds(limits.LEASE_MARGIN_SECONDS + 1, 3600),
    "heartbeat_seconds": rules.seconds(0.1, 1200),
    "leader_lease_seconds": rules.seconds(0.5, 3600),
    "queue_max_jobs": rules.bound(10**12),
    "queue_max_bytes": rules.bound(10**15),
    "execution_tree_max": rules.whole_number(1, 10**9),
    "job_timeout_seconds": rules.seconds(0.1, limits.TIMEOUT_SECONDS_MAX),
    "http_timeout_seconds": rules.seconds(0.1, 3600),
    "retry_max_attempts": rules.whole_number(1, limits.ATTEMPTS_MAX),
    "drain_timeout_seconds": rules.seconds(0, _DAY_SECONDS),
    "refresh_interval_seconds": rules.seconds(0.1, 3600),
    "stale_coordinator_seconds": rules.seconds(1, limits.DURATION_SECONDS_MAX),
    "retention_days": rules.whole_number(1, 3650),
    "egress_allow": rules.network_list(),
    "auth": rules.switch(),
    "secret_key": rules.key_list(),
    "sign_webhooks": rules.switch(),
    "otel_exporter_otlp_endpoint": rules.url("http", "https", like="https://collector:4318"),
    "log_format": rules.one_of("console", "json"),
    "data": rules.folder(),
    "app": rules.matching(rules.is_app_path, "module:attr, like shop.tasks:app"),
}
assert list(RULES) == sorted(RULES, key=[f.name for f in fields(Settings)].index), "same order"
assert RULES.keys() == {f.name for f in fields(Settings)}, "one rule for each setting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """Something two settings must satisfy together; `setting` is the one to be blamed."""

    setting: str
    other: str
    holds: Callable[[Any, Any], bool]
    # `{other}` is filled in with the other's name, value and source.
    allowed: str


RELATIONS = (
    Relation(
        setting="heartbeat_seconds",
        other="lease_seconds",
        holds=lambda heartbeat, lease: 3 * heartbeat < lease,
        allowed="less than a third of {other}, so a node may miss two beats and keep its lease",
    ),
    Relation(
        setting="stale_coordinator_seconds",
        other="heartbeat_seconds",
        holds=lambda stale, heartbeat: 3 * heartbeat < stale,
        allowed="more than three times {other}, so no live coordinator is swept away",
    ),
    Relation(
        setting="auth",
        other="host",
        holds=lambda auth, host: auth == "on" or rules.is_loopback(host),
        allowed="on, unless {other} is a loopback address such as 127.0.0.1",
    ),
)
