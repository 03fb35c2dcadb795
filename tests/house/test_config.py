"""Settings: where they come from, what they may hold, and how all problems are told at once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.house.repository import ROOT
from windlass.config import (
    Loaded,
    Problem,
    Settings,
    SettingsProblems,
    load_settings,
    shown,
    shown_address,
)
from windlass.config.load import hand_over, take_over
from windlass.config.table import PARSERS

NAMES = [field.name for field in fields(Settings)]


def load(
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: Path = Path("nowhere"),
) -> Loaded:
    return load_settings(flags or {}, environ or {}, cwd)


def problems_of(
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: Path = Path("nowhere"),
) -> list[Problem]:
    with pytest.raises(SettingsProblems) as caught:
        load(flags, environ, cwd)
    return caught.value.problems


def write(folder: Path, text: str) -> Path:
    (folder / "windlass.toml").write_text(text)
    return folder


def test_nothing_said_gives_the_defaults_and_says_so() -> None:
    loaded = load()
    assert loaded.settings == Settings()
    assert loaded.sources == dict.fromkeys(NAMES, "default")
    assert (loaded.settings.host, loaded.settings.port) == ("127.0.0.1", 5777)
    assert loaded.settings.roles == ("api", "worker", "leader")
    assert loaded.settings.queue_max_jobs is None


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    cwd = write(tmp_path, "port = 1001\nworkers = 1\nlog_format = 'json'\n")
    environ = {"WINDLASS_PORT": "1002", "WINDLASS_WORKERS": "2"}
    loaded = load({"port": 1003}, environ, cwd)
    assert (loaded.settings.port, loaded.sources["port"]) == (1003, "--port")
    assert (loaded.settings.workers, loaded.sources["workers"]) == (2, "WINDLASS_WORKERS")
    assert (loaded.settings.log_format, loaded.sources["log_format"]) == ("json", "windlass.toml")
    assert loaded.sources["host"] == "default"


def test_every_main_setting_can_be_said_by_each_of_the_three(tmp_path: Path) -> None:
    said = {
        "database_url": "postgresql://u:p@db/windlass",
        "read_database_url": "postgres://replica/windlass",
        "redis_url": "rediss://cache:6380/1",
        "host": "::1",
        "port": "5888",
        "tls_cert": "tls/api.pem",
        "tls_key": "tls/api.key",
        "tls_key_password_file": "tls/password",
        "trusted_proxies": "10.0.0.5, 2001:db8::/32",
        "public_url": "https://windlass.example",
        "workers": "0",
        "roles": "worker,api",
        "queues": "mail=3, reports",
        "queues_except": "slow",
        "queue_order": "strict",
        "node_name": "blue-1",
        "lease_seconds": "1m",
        "heartbeat_seconds": "5s",
        "leader_lease_seconds": "6",
        "queue_max_jobs": "100",
        "queue_max_bytes": "1000000",
        "quota_requests_per_second": "2.5",
        "quota_requests_burst": "10",
        "quota_jobs_per_day": "1000",
        "quota_bytes_waiting": "1000000",
        "execution_tree_max": "50",
        "job_timeout_seconds": "2h",
        "http_timeout_seconds": "2.5",
        "retry_max_attempts": "7",
        "drain_timeout_seconds": "0",
        "refresh_interval_seconds": "10",
        "stale_coordinator_seconds": "7d",
        "retention_days": "30",
        "audit_retention_days": "90",
        "egress_allow": "127.0.0.0/8, hooks.internal",
        "auth": "off",
        "oidc_issuer": "https://login.example.com/realms/main",
        "oidc_client_id": "windlass",
        "oidc_client_secret": "sesame",
        "oidc_scopes": "openid groups",
        "oidc_role_claim": "realm_access.roles",
        "oidc_roles": "bosses=admin, cn=ops=operator",
        "oidc_default_role": "viewer",
        "oidc_user_claim": "email",
        "oidc_name": "Example Login",
        "secret_key": "0f" * 32,
        "sign_webhooks": "off",
        "otel_exporter_otlp_endpoint": "http://collector:4318",
        "log_format": "json",
        "log_level": "debug",
        "data": "some/folder",
        "app": "shop.tasks:app",
    }
    assert set(said) == set(NAMES)
    cwd = write(tmp_path, "".join(f"{name} = '{value}'\n" for name, value in said.items()))
    by_file = load(cwd=cwd).settings
    by_environment = load(environ={f"WINDLASS_{k.upper()}": v for k, v in said.items()}).settings
    by_flags = load(flags=said).settings
    assert by_file == by_environment == by_flags
    default = Settings()
    assert all(getattr(by_file, name) != getattr(default, name) for name in NAMES)
    assert by_file.roles == ("api", "worker")
    assert by_file.stale_coordinator_seconds == 7 * 86400
    assert by_file.egress_allow == ("127.0.0.0/8", "hooks.internal")
    assert by_file.oidc_roles == ("bosses=admin", "cn=ops=operator")
    assert by_file.data == Path("some/folder")
    assert by_file.tls_key == Path("tls/api.key")
    assert by_file.trusted_proxies == ("10.0.0.5/32", "2001:db8::/32")


def test_a_nested_name_is_the_same_setting_in_file_and_environment(tmp_path: Path) -> None:
    cwd = write(tmp_path, "[queue]\nmax_jobs = 5\n[queue.max]\nbytes = 6\n")
    loaded = load(environ={"WINDLASS_JOB__TIMEOUT_SECONDS": "9"}, cwd=cwd)
    assert (loaded.settings.queue_max_jobs, loaded.settings.queue_max_bytes) == (5, 6)
    assert loaded.settings.job_timeout_seconds == 9
    assert loaded.sources["job_timeout_seconds"] == "WINDLASS_JOB__TIMEOUT_SECONDS"


def test_one_layer_may_not_say_a_setting_twice(tmp_path: Path) -> None:
    [problem] = problems_of(cwd=write(tmp_path, "queue_max_jobs = 4\n[queue]\nmax_jobs = 5\n"))
    assert (problem.setting, problem.value) == ("queue_max_jobs", "5")
    assert "queue_max_jobs says it too" in problem.allowed


def test_typed_toml_values_are_taken_as_they_are(tmp_path: Path) -> None:
    text = "roles = ['leader']\nauth = false\nlease_seconds = 20.5\negress_allow = ['10.0.0.0/8']\n"
    settings = load(cwd=write(tmp_path, text)).settings
    assert settings.roles == ("leader",)
    assert settings.auth == "off"
    assert settings.lease_seconds == 20.5
    assert settings.egress_allow == ("10.0.0.0/8",)


def test_zero_lifts_the_queue_limits() -> None:
    settings = load(environ={"WINDLASS_QUEUE_MAX_JOBS": "0"}, flags={"queue_max_bytes": 0}).settings
    assert settings.queue_max_jobs is None
    assert settings.queue_max_bytes is None


def test_a_quota_of_requests_is_a_number_that_can_be_lifted_and_its_burst_belongs_to_it() -> None:
    settings = load(environ={"WINDLASS_QUOTA__REQUESTS_PER_SECOND": "0.5"}).settings
    assert settings.quota_requests_per_second == 0.5
    assert load(flags={"quota_requests_per_second": 0}).settings.quota_requests_per_second is None
    for bad in ("-1", "1e3", "10001", "0.0001", True, "fast"):
        [problem] = problems_of(flags={"quota_requests_per_second": bad})
        assert "0.001 to 10000 a second" in problem.allowed
    [problem] = problems_of(flags={"quota_requests_burst": 5})
    assert (problem.setting, "quota_requests_per_second" in problem.allowed) == (
        "quota_requests_burst",
        True,
    )


def test_empty_variables_and_absent_flags_count_as_not_said() -> None:
    loaded = load(flags={"port": None}, environ={"WINDLASS_REDIS_URL": "", "WINDLASS_PORT": " "})
    assert loaded.sources["redis_url"] == loaded.sources["port"] == "default"


def test_variables_of_the_command_line_and_of_others_are_left_alone() -> None:
    environ = {"WINDLASS_URL": "http://x", "WINDLASS_TOKEN": "t", "PORT": "x", "WINDLASSX": "y"}
    assert load(environ=environ).settings == Settings()


INJECTED = {
    "WINDLASS_PORT": "tcp://10.96.0.7:5777",
    "WINDLASS_SERVICE_HOST": "10.96.0.7",
    "WINDLASS_SERVICE_PORT": "5777",
    "WINDLASS_SERVICE_PORT_HTTP": "5777",
    "WINDLASS_PORT_5777_TCP": "tcp://10.96.0.7:5777",
    "WINDLASS_PORT_5777_TCP_PROTO": "tcp",
    "WINDLASS_PORT_5777_TCP_PORT": "5777",
    "WINDLASS_PORT_5777_TCP_ADDR": "10.96.0.7",
    "WINDLASS_API_SERVICE_HOST": "10.96.0.8",
    "WINDLASS_API_PORT": "tcp://10.96.0.8:80",
    "WINDLASS_API_PORT_80_TCP_ADDR": "10.96.0.8",
}
OF_THE_PROXY = {"WINDLASS_BIND": "127.0.0.1:5700", "WINDLASS_NODE_12": "10.0.0.11:5777"}


def test_what_kubernetes_and_the_proxy_have_in_the_environment_is_none_of_ours() -> None:
    loaded = load(environ=INJECTED | OF_THE_PROXY)
    assert (loaded.settings, loaded.unknown) == (Settings(), ())
    assert load(environ={"WINDLASS_PORT": "5888"}).settings.port == 5888
    [problem] = problems_of(environ={"WINDLASS_PORT": "http://x"})
    assert problem.setting == "port"


def test_the_proxy_s_own_configuration_asks_for_nothing_else() -> None:
    named = re.findall(r"WINDLASS_[A-Z0-9_]+", (ROOT / "deploy/haproxy.cfg").read_text())
    assert named
    assert load(environ=dict.fromkeys(named, "127.0.0.1:5777")).unknown == ()


def test_a_variable_that_is_no_setting_is_told_and_stops_nothing() -> None:
    loaded = load(environ={"WINDLASS_LOG_FROMAT": "json", "WINDLASS_workers": "3"})
    assert loaded.settings == Settings()
    found = {problem.source: problem for problem in loaded.unknown}
    assert found.keys() == {"WINDLASS_LOG_FROMAT", "WINDLASS_workers"}
    assert "did you mean WINDLASS_LOG_FORMAT?" in found["WINDLASS_LOG_FROMAT"].allowed


def test_who_names_a_folder_means_its_database_whatever_the_environment_says() -> None:
    environ = {"WINDLASS_DATABASE_URL": "postgresql://db/x"}
    loaded = load({"data": "here"}, environ)
    assert (loaded.settings.database_url, loaded.sources["database_url"]) == (None, "--data")
    assert load(environ=environ | {"WINDLASS_DATA": "here"}).settings.database_url is not None
    both = load({"data": "here", "database_url": "postgresql://db/y"}, environ)
    assert both.settings.database_url == "postgresql://db/y"


def test_all_problems_are_told_at_once_each_with_value_source_and_what_is_allowed(
    tmp_path: Path,
) -> None:
    cwd = write(tmp_path, "prot = 1\nworkers = true\n[queue]\nmax_jobs = -1\n")
    environ = {
        "WINDLASS_PORT": "70000",
        "WINDLASS_ROLES": "api,boss",
        "WINDLASS_LOG_FROMAT": "json",
        "WINDLASS_HOST": "0.0.0.0",
    }
    with pytest.raises(SettingsProblems) as caught:
        load({"auth": "off", "heartbeat_seconds": "5s", "app": "shop"}, environ, cwd)
    error = caught.value
    found = {problem.setting: problem for problem in error.problems}
    assert {name: (p.value, p.source) for name, p in found.items()} == {
        "prot": ("1", "windlass.toml"),
        "workers": ("True", "windlass.toml"),
        "queue_max_jobs": ("-1", "windlass.toml"),
        "port": ("'70000'", "WINDLASS_PORT"),
        "roles": ("'api,boss'", "WINDLASS_ROLES"),
        "WINDLASS_LOG_FROMAT": ("'json'", "WINDLASS_LOG_FROMAT"),
        "app": ("'shop'", "--app"),
        "auth": ("'off'", "--auth"),
        "heartbeat_seconds": ("5.0", "--heartbeat-seconds"),
    }
    assert len(error.problems) == len(found)
    assert "1 to 65535" in found["port"].allowed
    assert "did you mean port?" in found["prot"].allowed
    assert "did you mean WINDLASS_LOG_FORMAT?" in found["WINDLASS_LOG_FROMAT"].allowed
    assert "host ('0.0.0.0' from WINDLASS_HOST)" in found["auth"].allowed
    assert "lease_seconds (15.0 from default)" in found["heartbeat_seconds"].allowed
    assert str(error).startswith("9 problems")
    assert all(str(problem) in str(error) for problem in error.problems)
    assert len(error.facts["problems"]) == 9


BAD: dict[str, list[object]] = {
    "database_url": [
        *("mysql://x/y", "postgresql:", "postgresql://", "postgresql://a b/c", 5),
        *("postgresql://a:x,b/c", "postgresql://a:0/c", "postgresql:///c?host=a,b,c&port=1,2"),
        "postgresql://a,b/c?target_session_attrs=write",
        "postgresql://a/c?pgbouncer=maybe",
    ],
    "redis_url": [
        *("localhost:6379", "redis//x", "http://x", "redis://[::1"),
        *("redis+sentinel://a:26379", "redis+sentinel://a:x/s", "redis+sentinel://a/s/db"),
        *("redis+cluster://a:99999", "redis+cluster://a/1"),
    ],
    "otel_exporter_otlp_endpoint": ["collector:4318", "ftp://x"],
    "host": ["", "a b", "127.0.0.1:80", "http://x", "300.1.1.1", "-x", "x" * 300, 1],
    "port": [0, -1, 65536, "5777.0", 5777.0, "\u0665", "1_0", "0x10", True, "9" * 5000, [1]],
    "workers": [-1, 10_001, "many"],
    "roles": ["", [], "api;worker", ["api", 1], "boss", 3],
    "queues": ["", "mail,,reports", "mail=0", "mail=1001", "mail=x", "a b/c", "mail,mail=2", 3],
    "queues_except": ["", "mail=3", "-mail", ["mail", 1]],
    "queue_order": ["", "fair", 3],
    "node_name": ["a b", "x" * 129, "a\x00b", 7],
    "lease_seconds": ["2", 0, "15 s", "1w", "-15", float("nan"), float("inf"), "1e1", 3601, True],
    "heartbeat_seconds": [0, "0.05", 10**5000],
    "queue_max_jobs": [-1, "none", 1.5],
    "queue_max_bytes": ["1MB"],
    "execution_tree_max": [0, -1, "many"],
    "job_timeout_seconds": [0, "8d"],
    "retry_max_attempts": [0, 1001],
    "drain_timeout_seconds": ["-1", "2d"],
    "retention_days": [0, "14d", 3651],
    "audit_retention_days": [0, 29, "1y", 36_501],
    "egress_allow": ["10.0.0.1/8", "10.0.0.0/33", "http://x", "a,,b", [["x"]], "999.9.9.9"],
    "auth": ["maybe", 0],
    "public_url": [
        *("", "windlass.example.com", "http://windlass.example.com", "https://", 5),
        *("https://a/b", "https://a?b", "https://a#b", "https://a?", "https://a b"),
        *("https://user@a", "https://a:99999", "https://a:0", "https://a:x", "https://a:"),
        *("https://ä.example", "https://a\\b", "javascript:alert(1)", "https://[::1"),
    ],
    "oidc_issuer": [
        *("", "login.example.com", "http://login.example.com", "https://a?b=c", "https://a/#b"),
        *("https://a:b@c", "https:///path", "https://a/ b", "ftp://a", 5),
    ],
    "oidc_client_id": ["", "a\nb", "ä", "x" * 501, 5],
    "oidc_client_secret": ["", "a\x7fb", "x" * 501, ["x"]],
    "oidc_scopes": ["", "profile email", 'openid "x"', ["openid"]],
    "oidc_role_claim": ["", "ä", 5],
    "oidc_roles": ["", "bosses", "bosses=", "=admin", "bosses=boss", "a=admin,a=viewer", ["a"], 5],
    "oidc_default_role": ["", "boss", "none", 5],
    "oidc_user_claim": ["", "a\tb"],
    "oidc_name": ["", "x" * 129, "a\nb", 5],
    "secret_key": [
        "short",
        12345678901234567890123456789012,
        "k" * 32,
        "0" * 63,
        "file:",
        "0f" * 32 + ",x",
    ],
    "sign_webhooks": ["maybe", 0],
    "log_format": ["xml", True],
    "log_level": ["loud", 10],
    "data": ["~/windlass", "a\x00b", 3],
    "app": [
        "shop",
        "shop:",
        ":app",
        "shop:app,",
        "shop:app,mail",
        "shop:app mail:app",
        "shop:a-b",
        "1shop:app",
        "shop/tasks.py:app",
    ],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(n, v) for n, values in BAD.items() for v in values],
    ids=lambda _: "",
)
def test_a_value_that_cannot_be_used_is_refused_by_name(name: str, value: object) -> None:
    [problem] = problems_of({name: value})
    assert problem.setting == name
    assert problem.source == "--" + name.replace("_", "-")
    assert problem.allowed == PARSERS[name].allowed
    assert len(problem.value) < 200


def test_a_bad_line_in_the_file_is_told_even_when_a_flag_overrides_it(tmp_path: Path) -> None:
    [problem] = problems_of({"port": 5888}, cwd=write(tmp_path, "port = 0\n"))
    assert problem.source == "windlass.toml"


OIDC: Mapping[str, object] = {
    "public_url": "https://windlass.example.com",
    "oidc_issuer": "https://login.example.com",
    "oidc_client_id": "windlass",
}


@pytest.mark.parametrize(
    ("flags", "blamed"),
    [
        ({"heartbeat_seconds": 5, "lease_seconds": 15}, "heartbeat_seconds"),
        ({"stale_coordinator_seconds": 12}, "stale_coordinator_seconds"),
        ({"auth": "off", "host": "0.0.0.0"}, "auth"),
        ({"auth": "off", "host": "::"}, "auth"),
        ({"auth": "off", "host": "example.org"}, "auth"),
        ({**OIDC, "oidc_client_id": None}, "oidc_issuer"),
        ({**OIDC, "public_url": None}, "oidc_issuer"),
        ({"oidc_client_id": "windlass"}, "oidc_issuer"),
        ({"oidc_client_secret": "sesame"}, "oidc_client_secret"),
        ({"oidc_role_claim": "groups"}, "oidc_roles"),
        ({"oidc_roles": "bosses=admin"}, "oidc_roles"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    flags: dict[str, object], blamed: str
) -> None:
    assert [problem.setting for problem in problems_of(flags)] == [blamed]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost", "LOCALHOST"])
def test_auth_may_be_off_on_loopback(host: str) -> None:
    assert load({"auth": "off", "host": host}).settings.auth == "off"


@pytest.mark.parametrize(
    "address", ["http://localhost:5777", "http://127.0.0.1:5777", "http://[::1]:8080", "https://a"]
)
def test_addresses_of_the_web_are_https_but_where_nobody_can_listen(address: str) -> None:
    given = {**OIDC, "public_url": f"{address}/", "oidc_issuer": address}
    settings = load(given).settings
    assert (settings.public_url, settings.oidc_issuer) == (address, address)


def test_an_issuer_is_kept_to_the_letter_and_its_secret_to_nobody() -> None:
    settings = load(
        {**OIDC, "oidc_issuer": "https://a/b/", "oidc_client_secret": "sesame"}
    ).settings
    assert settings.oidc_issuer == "https://a/b/"
    assert "sesame" not in repr(settings)
    assert shown("oidc_client_secret", settings.oidc_client_secret) == "***"


def test_relations_are_not_judged_on_values_that_are_wrong_by_themselves() -> None:
    assert [p.setting for p in problems_of({"auth": "off", "host": "a b"})] == ["host"]


def test_a_file_named_by_windlass_config_is_read_and_is_the_source(tmp_path: Path) -> None:
    (tmp_path / "blue.toml").write_text("port = 5999\n")
    loaded = load(environ={"WINDLASS_CONFIG": "blue.toml"}, cwd=tmp_path)
    assert (loaded.settings.port, loaded.sources["port"]) == (5999, "blue.toml")


def test_a_file_named_by_windlass_config_must_be_there(tmp_path: Path) -> None:
    [problem] = problems_of(environ={"WINDLASS_CONFIG": "gone.toml"}, cwd=tmp_path)
    assert (problem.setting, problem.source) == ("config", "gone.toml")


@pytest.mark.parametrize(
    "content",
    [
        b"port = ",
        b"\xff\xfe",
        b"port = 1\nport = 2\n",
        b"x = " + b"9" * 5000,
        b"x = " + b"[" * 5000,
        b"# " + b"x" * (1024 * 1024),
    ],
    ids=["syntax", "not utf-8", "twice", "huge number", "deep", "large"],
)
def test_an_unreadable_file_is_a_problem_beside_the_others(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "windlass.toml").write_bytes(content)
    found = problems_of({"port": 0}, cwd=tmp_path)
    assert [problem.setting for problem in found] == ["config", "port"]


def test_a_folder_instead_of_the_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "windlass.toml").mkdir()
    [problem] = problems_of(cwd=tmp_path)
    assert "directory" in problem.allowed.lower()


def test_no_secret_is_shown_by_a_problem_or_a_repr(tmp_path: Path) -> None:
    canary = "hunter2"
    environ = {
        "WINDLASS_DATABASE_URL": f"mysql://bob:{canary}@db/x",
        "WINDLASS_READ_DATABASE_URL": f"postgres:/bob:p@/{canary}@db/x",
        "WINDLASS_REDIS_URL": f"tcp://cache?password={canary}&db=1",
        "WINDLASS_SECRET_KEY": canary,
        "WINDLASS_SECRET_KEYS": canary,
        "WINDLASS_DATABASE_ULR": f"postgresql://bob:{canary}@db/x",
        "WINDLASS_API_TOKEN": canary,
    }
    cwd = write(tmp_path, f"[admin]\npassword = '{canary}'\n[[vault]]\nvalue = '{canary}'\n")
    with pytest.raises(SettingsProblems) as caught:
        load(environ=environ, cwd=cwd)
    assert len(caught.value.problems) == 9
    assert canary not in str(caught.value)
    assert canary not in str(caught.value.facts)

    good = load(
        {"database_url": f"postgresql://bob:{canary}@db/x", "secret_key": f"file:{canary}"}
    ).settings
    assert canary not in repr(good)
    assert shown("database_url", good.database_url) == "'postgresql://***@db/x'"
    assert shown("secret_key", good.secret_key) == "***"
    assert shown("secret_key", None) == "none"


@pytest.mark.parametrize(
    ("written", "is_shown"),
    [
        # Whoever forgets the @ has a password where a port should be.
        ("postgresql://u:secret", "postgresql://u:***"),
        ("postgresql://u:secret/x", "postgresql://u:***/x"),
        ("postgresql://u:se,cret", "postgresql://u:***"),
        ("postgresql://u:1secret", "postgresql://u:***"),
        ("redis://:secret", "redis://:***"),
        ("host=db password=secret user=x", "host=db password=*** user=x"),
        ("host=db password='se cret' user=x", "host=db password=*** user=x"),
        ("postgresql://db:5432/x", "postgresql://db:5432/x"),
        ("postgresql://one:5432,two:5433/x", "postgresql://one:5432,two:5433/x"),
        ("postgresql://[::1]:5432/x", "postgresql://[::1]:5432/x"),
        ("http://collector:4318?x=1", "http://collector:4318?x=1"),
    ],
)
def test_an_address_that_is_wrong_shows_no_password_either(written: str, is_shown: str) -> None:
    assert shown_address(written) == is_shown


def test_what_is_pasted_for_an_address_and_is_none_is_not_shown() -> None:
    assert shown("database_url", "u:secret") == "***"
    assert shown("redis_url", "secret") == "***"


def test_a_variable_in_lower_case_is_a_mistake_worth_telling() -> None:
    [problem] = load(environ={"WINDLASS_port": "5888"}).unknown
    assert "did you mean WINDLASS_PORT?" in problem.allowed


JUNK = st.one_of(
    st.text(max_size=40),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.lists(st.text(max_size=8), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@given(flags=st.dictionaries(st.sampled_from([*NAMES, "prot", ""]), JUNK, max_size=6))
@example(flags={"port": "\udc80"})
def test_whatever_is_given_the_answer_is_settings_or_problems_that_name_what_was_given(
    flags: dict[str, object],
) -> None:
    given_flags = {"--" + name.replace("_", "-") for name in flags}
    try:
        sources = set(load(flags).sources.values())
    except SettingsProblems as error:
        str(error).encode()  # printable anywhere, lone surrogates included
        sources = {problem.source for problem in error.problems}
    assert sources - {"default"} <= given_flags
    assert sources - {"default"} or not flags


@given(name=st.text(alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZ_", min_size=1, max_size=20))
def test_an_unknown_variable_is_never_ignored(name: str) -> None:
    if name in {"BIND", "URL", "TOKEN", "CONFIG"} or name.replace("__", "_").lower() in PARSERS:
        return
    [problem] = load(environ={f"WINDLASS_{name}": "1"}).unknown
    assert problem.source == f"WINDLASS_{name}"


def test_several_apps_are_one_text_each_once(tmp_path: Path) -> None:
    (tmp_path / "windlass.toml").write_text('app = ["shop:app", "mail:app", "shop:app"]\n')
    assert load(cwd=tmp_path).settings.app == "shop:app,mail:app"
    assert load({"app": "shop:app, mail:app"}).settings.app == "shop:app,mail:app"


def test_what_is_handed_to_a_child_process_is_what_was_there(tmp_path: Path) -> None:
    flags = {
        "database_url": "postgresql://a:b@c/d",
        "queue_max_jobs": 7,
        "egress_allow": "127.0.0.0/8,*.local",
        "roles": "worker,leader",
        "lease_seconds": "1h",
        "heartbeat_seconds": "2m",
        "data": tmp_path,
        "app": "shop:app,mail:app",
    }
    for settings in (Settings(), load(flags).settings):
        assert take_over(json.loads(json.dumps(hand_over(settings)))) == settings
