"""What is meant for other programs to read can be read by them, and speaks of what there is."""

from __future__ import annotations

import re
from typing import Any

import yaml  # type: ignore[import-untyped]

from docs.check import broken
from tests.house.repository import ROOT
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
    linked = set(re.findall(r"\]\(([a-z]+\.md)\)", (folder / "README.md").read_text()))
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
