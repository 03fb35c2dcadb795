"""`windlass config show`: every setting, where it comes from, and no secret."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from tests.cli.conftest import Windlass
from windlass.config import Settings


@pytest.fixture(autouse=True)
def _in_a_folder_with_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "windlass.toml").write_text('port = 5888\nsecret_key = "file:hush"\n')


def test_every_setting_is_shown_with_its_source(
    windlass: Windlass, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDLASS_WORKERS", "3")
    monkeypatch.setenv("WINDLASS_DATABASE_URL", "postgresql://me:hush@db/app")
    ended = windlass("config", "show", "--sources", "-o", "json")
    assert ended.code == 0
    assert "hush" not in ended.out
    rows = {row["setting"]: row for row in json.loads(ended.out)}
    assert list(rows) == [field.name for field in fields(Settings)]
    assert rows["port"] == {"setting": "port", "value": 5888, "source": "windlass.toml"}
    assert rows["workers"]["source"] == "WINDLASS_WORKERS"
    assert rows["host"] == {"setting": "host", "value": "127.0.0.1", "source": "default"}
    assert rows["roles"]["value"] == ["api", "worker", "leader"]
    assert rows["redis_url"]["value"] is None
    assert rows["secret_key"]["value"] == "***"


def test_the_table_and_lines_show_the_same(windlass: Windlass) -> None:
    table = windlass("config", "show").out
    assert "hush" not in table
    assert "SOURCE" not in table
    lines = windlass("config", "show", "-o", "jsonl").out.splitlines()
    assert {"setting": "port", "value": 5888} in [json.loads(line) for line in lines]
    assert windlass("config", "show", "-o", "id").code == 2


def test_all_problems_are_told_at_once(windlass: Windlass, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_PORT", "high")
    monkeypatch.setenv("WINDLASS_WORKERZ", "3")
    ended = windlass("config", "show")
    assert (ended.code, ended.out) == (2, "")
    assert "2 problems with the settings" in ended.err
    assert "WINDLASS_PORT" in ended.err
    assert "did you mean WINDLASS_WORKERS?" in ended.err
