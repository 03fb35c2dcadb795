"""What every file of the repository keeps to."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import windlass
from tests.house.repository import ROOT, files, text_of

LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
FORBIDDEN_NAMES = {"utils", "helpers", "common", "manager", "base", "misc", "core"}
# Written in pieces, or this file would find itself.
MACHINE_PATH = re.compile(r"(?<![\w.~/-])/(?:" + "wo" + "rk|" + "ro" + r"ot)/\w")
ADDRESS = re.compile(r"://|index-url|find-links|^-e |^\.|@ ", re.MULTILINE)
PINNED = re.compile(r"^([a-z0-9._-]+)(?:\[[a-z0-9,-]+\])?==(\S+)", re.MULTILINE)


def pins(lock: Path) -> dict[str, str]:
    return dict(PINNED.findall(lock.read_text()))


def wanted(extra: str | None) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
    # An extra may ask for another extra of the same project.
    return {re.split(r"[\[<>=!~ ;]", line)[0] for line in lines} - {project["name"]}


def sql_faults(root: Path) -> list[str]:
    """SQL files that do not open with a comment naming themselves."""
    return [
        str(path.relative_to(root))
        for path in files(root)
        if path.suffix == ".sql" and not opens_with_its_name(path)
    ]


def opens_with_its_name(path: Path) -> bool:
    # A migration's number orders it; its name is what follows.
    name = re.escape(path.stem) + "|" + re.escape(re.sub(r"^\d+_", "", path.stem))
    return re.match(rf"-- ({name})\b", path.read_text()) is not None


def badly_named(root: Path) -> list[str]:
    return [
        str(path.relative_to(root))
        for path in files(root)
        if FORBIDDEN_NAMES & {part.split(".")[0] for part in path.relative_to(root).parts}
    ]


def machine_paths(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}: {found[0]}"
        for path in files(root)
        if (text := text_of(path)) is not None and (found := MACHINE_PATH.search(text))
    ]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_file_carries_names_versions_and_hashes_but_no_address(lock: Path) -> None:
    text = lock.read_text()
    assert ADDRESS.search(text) is None
    blocks = re.split(r"\n(?=[a-z0-9])", text.strip())
    assert len(blocks) == len(pins(lock)) > 10
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_the_locks_hold_what_the_project_asks_for_and_agree_with_each_other() -> None:
    run, dev, bench = (pins(ROOT / "requirements" / f"{n}.lock") for n in ("run", "dev", "bench"))
    assert wanted(None) | wanted("server") <= run.keys()
    assert wanted("dev") <= dev.keys()
    assert wanted("bench") <= bench.keys()
    assert run.items() <= dev.items() <= bench.items()


def test_the_package_and_the_project_file_name_the_same_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert windlass.__version__ == project["version"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the wheel and the sdist are, as `make dist` builds them."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.mark.slow
def test_the_wheel_carries_every_file_of_the_package(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    source = ROOT / "src"
    packaged = {path.relative_to(source).as_posix() for path in files(source)}
    assert "windlass/py.typed" in packaged
    carried = set(zipfile.ZipFile(wheel).namelist())
    assert packaged - carried == set()
    assert {name.split("/")[0].partition("-")[0] for name in carried} == {"windlass"}
    assert "windlass/bundled/benchmarks/__main__.py" in carried


@pytest.mark.slow
def test_the_wheel_says_what_it_is_and_what_it_needs(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    told = zipfile.ZipFile(wheel).read(f"windlass-{windlass.__version__}.dist-info/METADATA")
    about = message_from_bytes(told)
    assert about["Description-Content-Type"] == "text/markdown"
    assert about["License-Expression"] == "Apache-2.0"
    assert about["License-File"] == "LICENSE"
    assert about["Keywords"] is not None
    assert set(about.get_all("Provides-Extra", [])) == {"server", "dev", "bench"}
    needed = {line for line in about.get_all("Requires-Dist", []) if "extra ==" not in line}
    assert {re.split(r"[<>=]", line)[0] for line in needed} == wanted(None)


@pytest.mark.slow
def test_the_sdist_has_what_a_checkout_has(built: Path) -> None:
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        carried = {name.partition("/")[2] for name in archive.getnames()}
    here = {path.relative_to(ROOT).as_posix() for path in files(ROOT)}
    kept = {name for name in here if not name.startswith(".") and name != "docs/openapi.json"}
    assert kept - carried == set()
    assert "PKG-INFO" in carried


def test_no_file_or_folder_has_a_name_that_says_nothing() -> None:
    assert badly_named(ROOT) == []


def test_every_sql_file_opens_with_a_comment_that_names_it() -> None:
    assert sql_faults(ROOT) == []


def test_no_file_speaks_of_the_machine_it_was_written_on() -> None:
    assert machine_paths(ROOT) == []


def test_these_checks_find_what_they_look_for(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "job.py").write_text("x = '/" + "work/main'\n")
    (tmp_path / "utils.py").write_text("x = 'https://host/" + "root/x and docs/" + "work/y'\n")
    (tmp_path / "job_claim.sql").write_text("select 1;\n")
    (tmp_path / "job_finish.sql").write_text("-- job_finish: ends one.\nselect 1;\n")
    (tmp_path / "0001_jobs.sql").write_text("-- jobs: the table.\ncreate table x ();\n")
    assert badly_named(tmp_path) == ["utils.py", "core/job.py"]
    assert machine_paths(tmp_path) == ["core/job.py: /" + "work/m"]
    assert sql_faults(tmp_path) == ["job_claim.sql"]
    assert ADDRESS.search("--index-url https://example.org/simple\n")
