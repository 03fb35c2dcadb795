"""Every setting and its parser, and the relations between settings. Checked at import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from windlass import limits
from windlass.config import addresses, parsers
from windlass.config.settings import ROLES, USER_ROLES, Settings

_DAY_SECONDS = 24 * 3600

PARSERS: dict[str, parsers.Parser] = {
    "database_url": addresses.postgresql(),
    "read_database_url": addresses.postgresql(),
    "redis_url": addresses.redis(),
    "host": parsers.matching(parsers.is_host, "an IP address or a host name, without a port"),
    "port": parsers.whole_number(1, 65_535),
    "tls_cert": parsers.file(),
    "tls_key": parsers.file(),
    "tls_key_password_file": parsers.file(),
    "trusted_proxies": parsers.cidr_list(limits.TRUSTED_PROXIES_MAX),
    "public_url": parsers.web_origin(),
    "workers": parsers.whole_number(0, limits.WORKERS_MAX),
    "roles": parsers.subset(*ROLES),
    "queues": parsers.queue_list(weighted=True),
    "queues_except": parsers.queue_list(weighted=False),
    "queue_order": parsers.one_of("turns", "strict"),
    "node_name": parsers.matching(
        parsers.is_name, f"at most {limits.NAME_CHARS_MAX} characters without spaces"
    ),
    # Below this a node would give its work up before its first beat.
    "lease_seconds": parsers.seconds(limits.LEASE_MARGIN_SECONDS + 1, 3600),
    "heartbeat_seconds": parsers.seconds(0.1, 1200),
    "leader_lease_seconds": parsers.seconds(0.5, 3600),
    "queue_max_jobs": parsers.bound(10**12),
    "queue_max_bytes": parsers.bound(10**15),
    "quota_requests_per_second": parsers.rate(limits.QUOTA_REQUESTS_MIN, limits.QUOTA_REQUESTS_MAX),
    "quota_requests_burst": parsers.bound(limits.QUOTA_BURST_MAX),
    "quota_jobs_per_day": parsers.bound(10**12),
    "quota_bytes_waiting": parsers.bound(10**15),
    "execution_tree_max": parsers.whole_number(1, 10**9),
    "job_timeout_seconds": parsers.seconds(0.1, limits.TIMEOUT_SECONDS_MAX),
    "http_timeout_seconds": parsers.seconds(0.1, 3600),
    "retry_max_attempts": parsers.whole_number(1, limits.ATTEMPTS_MAX),
    "drain_timeout_seconds": parsers.seconds(0, _DAY_SECONDS),
    "refresh_interval_seconds": parsers.seconds(0.1, 3600),
    "stale_coordinator_seconds": parsers.seconds(1, limits.DURATION_SECONDS_MAX),
    "retention_days": parsers.whole_number(1, 3650),
    "audit_retention_days": parsers.whole_number(limits.AUDIT_DAYS_MIN, limits.AUDIT_DAYS_MAX),
    "egress_allow": parsers.network_list(),
    "auth": parsers.switch(),
    "oidc_issuer": parsers.issuer(),
    "oidc_client_id": parsers.visible(limits.OIDC_TEXT_CHARS_MAX),
    "oidc_client_secret": parsers.visible(limits.OIDC_TEXT_CHARS_MAX),
    "oidc_scopes": parsers.scopes(),
    "oidc_role_claim": parsers.visible(limits.OIDC_TEXT_CHARS_MAX),
    "oidc_roles": parsers.role_list(*USER_ROLES),
    "oidc_default_role": parsers.one_of(*USER_ROLES),
    "oidc_user_claim": parsers.visible(limits.OIDC_TEXT_CHARS_MAX),
    "oidc_name": parsers.matching(
        lambda text: len(text) <= limits.NAME_CHARS_MAX,
        f"at most {limits.NAME_CHARS_MAX} characters",
    ),
    "secret_key": parsers.key_list(),
    "sign_webhooks": parsers.switch(),
    "otel_exporter_otlp_endpoint": parsers.url("http", "https", like="https://collector:4318"),
    "log_format": parsers.one_of("console", "json"),
    "log_level": parsers.one_of("debug", "info", "warning", "error"),
    "data": parsers.folder(),
    "app": parsers.app_list(),
}
assert list(PARSERS) == sorted(PARSERS, key=[f.name for f in fields(Settings)].index), "same order"
assert PARSERS.keys() == {f.name for f in fields(Settings)}, "one parser for each setting"


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
        setting="quota_requests_burst",
        other="quota_requests_per_second",
        holds=lambda burst, rate: burst is None or rate is not None,
        allowed="left out, unless {other} says how many a second",
    ),
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
        setting="queue_order",
        other="queues",
        holds=lambda order, queues: order == "turns" or len(queues) > 1,
        allowed="turns, unless {other} names two queues or more, in their order",
    ),
    Relation(
        setting="tls_cert",
        other="tls_key",
        holds=lambda cert, key: cert is None or key is not None,
        allowed="left out, unless {other} is given too",
    ),
    Relation(
        setting="tls_key",
        other="tls_cert",
        holds=lambda key, cert: key is None or cert is not None,
        allowed="left out, unless {other} is given too",
    ),
    Relation(
        setting="tls_key_password_file",
        other="tls_key",
        holds=lambda password, key: password is None or key is not None,
        allowed="left out, unless {other} is given too",
    ),
    Relation(
        setting="auth",
        other="host",
        holds=lambda auth, host: auth == "on" or parsers.is_loopback(host),
        allowed="on, unless {other} is a loopback address such as 127.0.0.1",
    ),
    Relation(
        setting="oidc_issuer",
        other="oidc_client_id",
        holds=lambda issuer, client: (issuer is None) == (client is None),
        allowed="set together with {other}, as the provider knows this client",
    ),
    Relation(
        setting="oidc_issuer",
        other="public_url",
        holds=lambda issuer, address: issuer is None or address is not None,
        allowed="none, unless {other} says where browsers reach Windlass, and are sent back to",
    ),
    Relation(
        setting="oidc_client_secret",
        other="oidc_issuer",
        holds=lambda secret, issuer: secret is None or issuer is not None,
        allowed="none, unless {other} names the provider that knows it",
    ),
    Relation(
        setting="oidc_roles",
        other="oidc_role_claim",
        holds=lambda roles, claim: (roles != ()) == (claim is not None),
        allowed="set together with {other}, the claim in which its names stand",
    ),
)
