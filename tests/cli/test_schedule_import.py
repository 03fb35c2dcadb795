"""Crontabs and Celery's beat entries: what is kept, what differs, and what cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ended, Windlass
from tests.cli.peer import Peer, Says, problem
from windlass.cli.exits import Exit
from windlass.cli.imports.celery import BRIDGE_TASK
from windlass.sdk.bridges.celery import NAME

CRONTAB = """\
# backups
SHELL=/bin/bash
MAILTO="ops@example.org"
CRON_TZ = Europe/Berlin

30 2 * * *      /usr/local/bin/backup.sh --full
*/15 * * * *    poll
*/15 2 * * *    by-the-clock
@daily          mail -s hello%Dear 100\\% of you,%bye
@reboot         start-it
0 0 30 2 *      never
61 * * * *      wrong
0 0 * *
0~30 4 * * *    dice
-5 4 * * *      quiet
"""


@pytest.fixture
def report(windlass: Windlass, tmp_path: Path) -> Any:
    """Imports a text, without sending anything, and gives the lines by where they stood."""

    def run(text: str, *words: str, name: str = "tab", verb: str = "crontab") -> dict[str, Any]:
        path = tmp_path / name
        path.write_text(text)
        ended = windlass("schedule", "import", verb, str(path), "--dry-run", "-o", "json", *words)
        told = json.loads(ended.out)
        assert told["dry_run"] is True
        assert ended.code == (Exit.FAILED if told["counts"]["refused"] else Exit.OK)
        return {line["place"]: line for line in told["lines"]}

    return run


def test_each_line_is_told_for_what_it_is(report: Any, peer: Peer) -> None:
    found = report(CRONTAB, "--as", "python:run_command")
    assert [found[f"line {n}"]["verdict"] for n in (2, 3, 4)] == ["setting"] * 3
    backup = found["line 6"]["schedule"]
    assert (found["line 6"]["name"], backup["cron"]) == ("cron.backup.sh", "30 2 * * *")
    assert (backup["timezone"], backup["misfire"]) == ("Europe/Berlin", "skip")
    assert "dst" not in backup
    assert backup["job"] == {
        "kind": "python",
        "input": {
            "task": "run_command",
            "kwargs": {
                "command": "/usr/local/bin/backup.sh --full",
                "stdin": None,
                "user": None,
                "environment": {"SHELL": "/bin/bash"},
            },
        },
    }
    refused = {n: found[f"line {n}"] for n in (10, 11, 12, 13)}
    assert all(line["verdict"] == "refused" for line in refused.values())
    assert "a machine" in refused[10]["notes"][0]
    assert "no such day" in refused[11]["notes"][0]
    assert "61 lies outside 0-59" in refused[12]["notes"][0]
    assert "five fields" in refused[13]["notes"][0]
    assert peer.calls == []


def test_clocks_are_treated_as_cron_treats_them(report: Any) -> None:
    found = report(CRONTAB, "--as", "python:run_command")
    # Every hour goes by elapsed time in any case; a star in the minutes, by the clock on the wall.
    assert "dst" not in found["line 7"]["schedule"]
    assert found["line 8"]["schedule"]["dst"] == {"gap": "skip", "overlap": "both"}
    named = report("CRON_TZ=Europe/Berlin\n5 0-23 * * * x\n", "--as", "python:t")["line 2"]
    assert "twice" in named["notes"][0]


def test_what_follows_a_percent_sign_is_standard_input(report: Any) -> None:
    found = report(CRONTAB, "--as", "http:https://example.org/run")["line 9"]["schedule"]["job"]
    assert (found["kind"], found["input"]["url"]) == ("http", "https://example.org/run")
    assert found["input"]["json"]["command"] == "mail -s hello"
    assert found["input"]["json"]["stdin"] == "Dear 100% of you,\nbye\n"


def test_dice_become_a_value_that_stays_and_a_leading_hyphen_is_no_minute(report: Any) -> None:
    found = report(CRONTAB, "--as", "python:t")
    assert found["line 14"]["schedule"]["cron"] == "H(0-30) 4 * * *"
    assert found["line 14"]["verdict"] == "differs"
    assert found["line 15"]["schedule"]["cron"] == "5 4 * * *"
    assert report("~ ~ * * * x\n", "--as", "python:t")["line 1"]["schedule"]["cron"] == (
        "H(0-59) H(0-23) * * *"
    )


def test_a_plain_line_is_kept_exactly(report: Any) -> None:
    text = "30 2 * * * backup\n@hourly backup\n"
    found = report(text, "--as", "python:t", "--timezone", "UTC")
    assert [line["verdict"] for line in found.values()] == ["exact", "exact"]
    assert [line["name"] for line in found.values()] == ["cron.backup", "cron.backup-2"]
    other = report(text, "--as", "python:t", "--misfire", "fire_once")["line 1"]
    assert (other["verdict"], other["schedule"]["misfire"]) == ("differs", "fire_once")


def test_users_and_delays_are_not_forgotten(report: Any) -> None:
    text = "RANDOM_DELAY=10\n17 * * * * root  cd / && run-parts /etc/cron.hourly\n"
    found = report(text, "--user-field", "--as", "python:t")["line 2"]
    kwargs = found["schedule"]["job"]["input"]["kwargs"]
    assert (kwargs["user"], kwargs["command"]) == ("root", "cd / && run-parts /etc/cron.hourly")
    assert found["schedule"]["jitter"] == "10m"
    assert any("user root" in note for note in found["notes"])


def test_a_template_is_a_whole_job_of_ones_own(report: Any) -> None:
    template = {"kind": "wait", "queue": "cron", "input": {"seconds": 0, "x": "run: ${command}"}}
    found = report("0 1 * * * backup\n", "--template", json.dumps(template))["line 1"]
    assert found["schedule"]["job"] == {
        **template,
        "input": {"seconds": 0, "x": "run: backup"},
    }


def run_import(windlass: Windlass, tmp_path: Path, *words: str) -> Ended:
    path = tmp_path / "tab"
    path.write_text("30 2 * * * backup\n0 1 * * * other\n@reboot x\n")
    return windlass("schedule", "import", "crontab", str(path), *words)


def test_schedules_are_put_by_name_and_a_refusal_is_told_at_its_line(
    windlass: Windlass, peer: Peer, tmp_path: Path
) -> None:
    wrong = [{"pointer": "/job/kind", "detail": "must be one of: …"}]
    peer.answer(Says(status=201, json={}), problem(422, detail="no", errors=wrong))
    ended = run_import(windlass, tmp_path, "--as", "python:t", "--timezone", "UTC")
    assert ended.code == Exit.FAILED
    assert [(call.method, call.path) for call in peer.calls] == [
        ("PUT", "/v1/schedules/cron.backup"),
        ("PUT", "/v1/schedules/cron.other"),
    ]
    assert peer.calls[0].json["source"] == "import"
    lines = ended.out.splitlines()
    assert lines[0] == "line 1: kept exactly -> cron.backup, made"
    assert "line 2: not importable" in lines
    assert any("/job/kind" in line for line in lines)
    assert lines[-1] == "1 kept exactly, 2 not importable"


def test_without_a_job_for_its_commands_a_crontab_can_only_be_looked_at(
    windlass: Windlass, peer: Peer, tmp_path: Path
) -> None:
    ended = run_import(windlass, tmp_path)
    assert (ended.code, peer.calls) == (Exit.USAGE, [])
    assert "--as python:TASK" in ended.err
    assert "--as python:TASK" in run_import(windlass, tmp_path, "--dry-run").out
    assert run_import(windlass, tmp_path, "--as", "shell:sh").code == Exit.USAGE
    assert run_import(windlass, tmp_path, "--as", "python:t", "--template", "{}").code == Exit.USAGE
    wrong = run_import(windlass, tmp_path, "--dry-run", "--timezone", "Europe/Berlim")
    assert "did you mean Europe/Berlin?" in wrong.err


BEAT = """
from celery import Celery
from celery.schedules import crontab, solar
from datetime import timedelta
app = Celery()
raise SystemExit("a file is read and never run")
app.conf.timezone = "Europe/Berlin"
app.conf.beat_schedule = {
    "daily": {"task": "shop.report", "schedule": crontab(minute=0, hour="8", day_of_week="mon-fri"),
              "args": (1, 2), "kwargs": {"to": "x"}, "options": {"queue": "mail", "expires": 60}},
    "often": {"task": "shop.poll", "schedule": 60 * 5},
    "delta": {"task": "shop.poll", "schedule": timedelta(minutes=2)},
    "both": {"task": "shop.poll", "schedule": crontab(0, 0, day_of_month="1-7", day_of_week=1)},
    "agreed": {"task": "shop.poll", "schedule": crontab(0, 0, day_of_month="*/2", day_of_week=1)},
    "sun": {"task": "shop.poll", "schedule": solar("sunset", -37.8, 144.9)},
    "named": {"task": "shop.poll", "schedule": PERIOD},
    "nothing": {"schedule": 3.0},
}
"""


def test_beat_entries_are_read_from_source_that_is_never_run(report: Any) -> None:
    found = report(BEAT, name="beat.py", verb="celery")
    daily = found["daily"]
    assert (daily["name"], daily["verdict"]) == ("celery.daily", "differs")
    assert daily["notes"] == [
        "expires is left out: a job of a schedule has no deadline; see catchup"
    ]
    assert daily["schedule"] == {
        "cron": "0 8 * * mon-fri",
        "timezone": "Europe/Berlin",
        "job": {
            "kind": "python",
            "queue": "mail",
            "input": {"task": "shop.report", "args": [1, 2], "kwargs": {"to": "x"}},
        },
        "overlap": "allow",
        "misfire": "fire_once",
        "source": "import",
    }
    assert found["often"]["schedule"]["every"] == 300
    assert found["delta"]["schedule"]["every"] == 120
    assert "last run" in found["delta"]["notes"][0]
    assert found["agreed"]["verdict"] == "exact"
    assert "content with either" in found["both"]["notes"][0]
    assert "follows the sun" in found["sun"]["notes"][0]
    assert "PERIOD is no literal" in found["named"]["notes"][0]
    refused = {name for name, line in found.items() if line["verdict"] == "refused"}
    assert refused == {"both", "sun", "named", "nothing"}


def test_beat_entries_are_read_from_json_and_from_modules(
    report: Any, windlass: Windlass, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"task": "t", "schedule": {"minute": "*/5", "hour": [8, 9]}}
    found = report(json.dumps({"a": entry}), name="beat.json", verb="celery")["a"]
    assert found["schedule"]["cron"] == "*/5 8,9 * * *"
    # As Celery's own crontab keeps what was written.
    (tmp_path / "beat_of_test.py").write_text(
        "class crontab:\n"
        "    _orig_minute, _orig_hour = 0, {3}\n"
        "    _orig_day_of_week = _orig_day_of_month = _orig_month_of_year = '*'\n"
        "class conf:\n"
        "    beat_schedule = {'b': {'task': 't', 'schedule': crontab()}}\n"
    )
    monkeypatch.chdir(tmp_path)
    words = ("schedule", "import", "celery", "beat_of_test:conf.beat_schedule", "--dry-run")
    ended = windlass(*words, "-o", "jsonl")
    assert json.loads(ended.out)["schedule"]["cron"] == "0 3 * * *"
    assert windlass("schedule", "import", "celery", "nowhere:x", "--dry-run").code == Exit.FAILED
    assert windlass("schedule", "import", "celery", "beat", "--dry-run").code == Exit.USAGE


BRIDGED = BEAT.replace(
    "app = Celery()",
    "from windlass.sdk.bridges.celery import bridge\n"
    "app = Celery()\n"
    "app.conf.task_default_queue = 'sums'\n"
    "windlass = bridge(app, queues=['mail'])\n",
)


def test_beat_entries_of_a_bridged_application_are_for_the_nodes_of_the_bridge(
    report: Any,
) -> None:
    found = report(BRIDGED, name="beat.py", verb="celery")
    assert found["daily"]["schedule"]["job"] == {
        "kind": "python",
        "queue": "mail",
        "input": {
            "task": "celery.task",
            "args": ["shop.report", [1, 2], {"to": "x"}, {"takes": "none", "retries": 0}],
        },
    }
    assert found["often"]["verdict"] == "refused"
    assert "'sums' is still with Celery" in found["often"]["notes"][-1]


@pytest.mark.parametrize(
    ("imported", "called"),
    [
        ("from windlass.sdk.bridges.celery import bridge as to_windlass", "to_windlass"),
        ("from windlass.sdk.bridges.celery import *", "bridge"),
        ("from windlass.sdk.bridges import celery", "celery.bridge"),
        ("from windlass.sdk.bridges import celery as moving", "moving.bridge"),
        ("from windlass.sdk import bridges as to", "to.celery.bridge"),
        ("import windlass.sdk.bridges.celery", "windlass.sdk.bridges.celery.bridge"),
        ("import windlass.sdk.bridges.celery as moving", "moving.bridge"),
    ],
)
def test_the_bridge_is_seen_however_it_is_imported(report: Any, imported: str, called: str) -> None:
    documented = "from windlass.sdk.bridges.celery import bridge"
    text = BRIDGED.replace(documented, imported).replace("bridge(app,", f"{called}(app,")
    # A function of somebody else's that has the same name says nothing of what was moved.
    text += "\nroads.bridge(town, queues=['cars'])\n"
    found = report(text, name="beat.py", verb="celery")
    assert found == report(BRIDGED, name="beat.py", verb="celery")


def test_beat_entries_can_be_said_to_be_for_the_bridge(report: Any) -> None:
    entry = {"task": "t", "schedule": 5, "options": {"queue": "mail"}}
    text = json.dumps({"a": entry, "b": {**entry, "options": {}}})
    found = report(text, "--bridge", name="beat.json", verb="celery")
    call = ["t", [], {}, {"takes": "none", "retries": 0}]
    for name, queue in (("a", "mail"), ("b", "celery")):
        job = found[name]["schedule"]["job"]
        assert job == {
            "kind": "python",
            "queue": queue,
            "input": {"task": "celery.task", "args": call},
        }
    assert "Celery's default queue" in found["b"]["notes"][-1]


def test_of_an_imported_application_the_routes_are_known(
    windlass: Windlass, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop_of_test.py").write_text(
        "from celery import Celery\n"
        "from windlass.sdk.bridges.celery import bridge\n"
        "app = Celery('shop', broker='memory://', set_as_current=False)\n"
        "app.conf.task_routes = {'shop.mail': {'queue': 'mail'}}\n"
        "app.conf.timezone = 'Europe/Berlin'\n"
        "app.conf.beat_schedule = {\n"
        "    'm': {'task': 'shop.mail', 'schedule': 60, 'args': ['ada']},\n"
        "    'r': {'task': 'shop.report', 'schedule': 60}}\n"
        "windlass = bridge(app, queues=['mail'])\n"
    )
    monkeypatch.chdir(tmp_path)
    for given in ("shop_of_test:app", "shop_of_test:windlass"):
        ended = windlass("schedule", "import", "celery", given, "--dry-run", "-o", "jsonl")
        mail, reports = [json.loads(line) for line in ended.out.splitlines()]
        assert mail["schedule"]["timezone"] == "Europe/Berlin"
        assert mail["schedule"]["job"]["queue"] == "mail"
        assert mail["schedule"]["job"]["input"]["task"] == NAME == BRIDGE_TASK
        assert (reports["verdict"], reports["schedule"]) == ("refused", None)
        assert "'celery' is still with Celery" in reports["notes"][-1]


@pytest.mark.filterwarnings("ignore::celery.exceptions.CDeprecationWarning")
def test_of_an_imported_application_the_modules_that_it_names_are_known(
    windlass: Windlass, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store_of_test.py").write_text(
        "from celery import Celery\n"
        "from windlass.sdk.bridges.celery import bridge\n"
        "app = Celery('store', broker='memory://', include=['store_tasks_of_test'],\n"
        "             set_as_current=False)\n"
        "app.conf.beat_schedule = {'m': {'task': 'store.mail', 'schedule': 60,\n"
        "                                 'options': {'priority': 9, 'time_limit': 5}}}\n"
        "windlass = bridge(app, queues=['mail'])\n"
    )
    (tmp_path / "store_tasks_of_test.py").write_text(
        "from store_of_test import app\n"
        # Not shared: Celery would give it to every application that this process makes later.
        "@app.task(name='store.mail', queue='mail', max_retries=7, time_limit=90, shared=False)\n"
        "def mail(): pass\n"
        "@app.on_after_finalize.connect\n"
        "def more(sender, **_):\n"
        "    sender.add_periodic_task(30, mail.s(), name='late')\n"
    )
    monkeypatch.chdir(tmp_path)
    given = "store_of_test:app"
    ended = windlass("schedule", "import", "celery", given, "--dry-run", "-o", "jsonl")
    assert ended.code == Exit.OK, ended.err
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert [(one["place"], one["schedule"]["job"]["queue"]) for one in found] == [
        ("m", "mail"),
        ("late", "mail"),
    ]
    # As a call by the bridge would have it.
    jobs = [one["schedule"]["job"] for one in found]
    assert [job["retry"] for job in jobs] == [{"max_attempts": 8}] * 2
    assert [job["timeout"] for job in jobs] == [5.0, 90.0]
    assert [job.get("priority") for job in jobs] == ["critical", None]
    assert [job["tags"] for job in jobs] == [["store.mail"]] * 2
