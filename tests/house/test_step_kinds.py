"""The kinds of steps are compared nowhere: a table knows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house import step_kinds
from tests.house.repository import ROOT

SOURCE = ROOT / "src" / "windlass"


def put(package: Path, name: str, text: str) -> Path:
    path = package / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return package


def test_no_kind_of_step_is_compared_by_its_name() -> None:
    assert list(step_kinds.compared(SOURCE)) == []


def test_no_table_of_kinds_is_one_that_nothing_completes() -> None:
    assert list(step_kinds.incomplete(SOURCE)) == []


def test_the_statements_that_name_a_kind_are_those_that_are_about_it() -> None:
    assert step_kinds.in_statements(SOURCE / "store" / "sql") == step_kinds.IN_SQL


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ('row["kind"] == "map"', "map"),
        ('step.kind not in ("signal", "approval")', "approval signal"),
        ('kind in frozenset({"workflow"})', "workflow"),
        ('"fail" == step.kind', "fail"),
        ('step.get("kind") != "switch"', "switch"),
    ],
)
def test_a_comparison_is_named_wherever_it_stands(tmp_path: Path, code: str, names: str) -> None:
    package = put(tmp_path, "cli/show/step.py", f"x = {code}\n")
    [found] = step_kinds.compared(package)
    assert found == (
        f"cli/show/step.py:1: compares a kind with {names}; ask KINDS in "
        "model/workflow/step_kinds.py, or make it a table of verbs with `complete`"
    )


def test_a_case_of_a_match_is_a_comparison(tmp_path: Path) -> None:
    text = 'match step.kind:\n    case "map":\n        x = 1\n    case "signal" | "approval":\n'
    package = put(tmp_path, "engine/jobs/why.py", text + "        x = 2\n")
    assert [found.split(";")[0] for found in step_kinds.compared(package)] == [
        "engine/jobs/why.py:2: compares a kind with map",
        "engine/jobs/why.py:4: compares a kind with approval signal",
    ]


@pytest.mark.parametrize("code", ['work.kind == "http"', 'which == "map"'])
def test_in_the_rooms_of_workflows_kinds_of_jobs_and_other_names_for_a_kind_count_too(
    tmp_path: Path, code: str
) -> None:
    assert list(step_kinds.compared(put(tmp_path, "engine/executions/start.py", f"x = {code}\n")))


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("model/job/retry.py", 'kind == "http"'),
        ("engine/executions/board.py", 'said == "wait"'),
        ("engine/executions/concurrency.py", 'concurrency.policy == "fail"'),
        ("model/expression/parse.py", 'kind == "map"'),
        ("model/workflow/step_kinds.py", 'kind == "map"'),
        ("engine/executions/graph.py", 'KINDS[kind].awaits == "items"'),
    ],
    ids=["a job's", "a readiness", "a policy", "in CEL", "in the table", "by the table"],
)
def test_what_is_no_kind_of_step_may_be_compared(tmp_path: Path, name: str, code: str) -> None:
    assert list(step_kinds.compared(put(tmp_path, name, f"x = {code}\n"))) == []


@pytest.mark.parametrize(
    "code",
    ['frozenset(("signal", "map"))', '{"workflow"}', '{"map": 1, "http": 2}', '["switch", "fail"]'],
)
def test_a_list_of_kinds_outside_the_table_is_named(tmp_path: Path, code: str) -> None:
    [found] = step_kinds.incomplete(put(tmp_path, "api/view.py", f"X = {code}\n"))
    assert found.startswith("api/view.py:1: lists the kinds ")


@pytest.mark.parametrize(
    "code",
    [
        'complete(ASKED_KINDS, {"signal": 1, "approval": 2})',
        '("job", "workflow")',
        '{"workflow": name, "input": given}',
        '{"http": 1, "wait": 2}',
    ],
    ids=["a complete table", "nouns", "a body", "of jobs"],
)
def test_other_lists_are_nobodys_matter(tmp_path: Path, code: str) -> None:
    assert list(step_kinds.incomplete(put(tmp_path, "api/view.py", f"X = {code}\n"))) == []


def test_a_statement_that_names_a_kind_is_found(tmp_path: Path) -> None:
    put(tmp_path, "job/a.sql", "SELECT 1 FROM job j WHERE j.kind IN ('map', 'signal')")
    put(tmp_path, "job/b.sql", "SELECT CASE j.kind WHEN 'switch' THEN 1 END FROM job j")
    put(tmp_path, "job/c.sql", "SELECT 'workflow' FROM checkpoint WHERE kind = 'sleep'")
    assert step_kinds.in_statements(tmp_path) == {"a": {"map", "signal"}, "b": {"switch"}}
