"""What is meant for other programs to read can be read by them, and speaks of what there is."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from docs.check import broken
from tests.house.repository import ROOT
from windlass.cli.exits import Exit
from windlass.config import Settings
from windlass.telemetry.metrics import Metrics

DEPLOY = ROOT / "deploy"
ALERTS: list[dict[str, Any]] = [
    alert
    for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    for alert in group["rules"]
]
# Made where it is shown: see api/cluster/metrics.py.
SHOWN_BY_THE_API = {"windlass_queue_depth", "windlass_schedule_silent"}


def test_every_alert_asks_for_metrics_that_there_are() -> None:
    known = set(SHOWN_BY_THE_API)
    for family in Metrics().registry.collect():
        is_histogram = family.type == "histogram"
        endings = ("_bucket", "_count", "_sum") if is_histogram else ("", "_total")
        known |= {family.name + ending for ending in endings}
    asked = {name for alert in ALERTS for name in re.findall(r"windlass_\w+", alert["expr"])}
    assert asked
    assert asked - known == set()


def test_every_alert_says_what_it_means_and_names_its_runbook() -> None:
    names = [alert["alert"] for alert in ALERTS]
    assert len(set(names)) == len(names)
    for alert in ALERTS:
        assert {"summary", "description", "runbook_url"} == alert["annotations"].keys()
        assert alert["labels"]["severity"] in ("warning", "critical")


def test_every_alert_leads_to_the_heading_of_a_runbook_that_bears_its_name() -> None:
    for alert in ALERTS:
        link = alert["annotations"]["runbook_url"]
        assert re.fullmatch(rf"docs/operating/[a-z]+\.md#{alert['alert'].lower()}", link)
        assert broken(ROOT / "README.md", link) is None, link


def test_the_index_of_runbooks_names_every_page_of_its_folder() -> None:
    folder = ROOT / "docs" / "operating"
    linked = set(re.findall(r"\]\(([a-z-]+\.md)\)", (folder / "README.md").read_text()))
    assert linked == {page.name for page in folder.glob("*.md")} - {"README.md"}


def test_the_timer_and_cron_run_a_command_that_there_is() -> None:
    service = (DEPLOY / "systemd" / "windlass-sweep.service").read_text()
    assert "windlass sweep --json" in service
    timer = (DEPLOY / "systemd" / "windlass-sweep.timer").read_text()
    assert "WantedBy=timers.target" in timer
    entries = [
        line.split()
        for line in (DEPLOY / "cron.example").read_text().splitlines()
        if re.match(r"[*\d]", line)
    ]
    assert [entry[6:8] for entry in entries] == [["windlass", "sweep"]] * 2


def unit(name: str) -> dict[str, list[str]]:
    """The settings of a unit; one may be given more than once."""
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / "systemd" / name).read_text().splitlines():
        if line and line[0] not in "#[":
            setting, _, value = line.partition("=")
            found.setdefault(setting, []).append(value)
    return found


def test_the_unit_of_a_node_lets_it_drain_and_gives_it_no_more_than_it_needs() -> None:
    node = unit("windlass-node.service")
    [command] = node["ExecStart"]
    program, *words = command.split()
    assert (Path(program).name, words) == ("windlass", ["node"])
    assert node["KillSignal"] == ["SIGTERM"]
    assert int(node["TimeoutStopSec"][0]) > Settings().drain_timeout_seconds
    assert node["RestartPreventExitStatus"] == [str(int(Exit.USAGE))]
    assert node["Type"] == ["exec"], "a node does not tell systemd when it is ready"
    for setting in ("NoNewPrivileges", "DynamicUser", "PrivateTmp", "ProtectHome"):
        assert node[setting] == ["yes"]
    assert node["ProtectSystem"] == ["strict"]


def test_the_unit_of_a_node_names_settings_that_there_are() -> None:
    text = (DEPLOY / "systemd" / "windlass-node.service").read_text()
    named = set(re.findall(r"WINDLASS_[A-Z_]+", text))
    assert {"WINDLASS_DATABASE_URL", "WINDLASS_DRAIN_TIMEOUT_SECONDS"} <= named
    known = {f"WINDLASS_{field.name.upper()}" for field in fields(Settings)}
    assert named - known == set()
