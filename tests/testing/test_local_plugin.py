"""The plugin in a project of somebody else's: installed, and nothing more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

PROJECT = {
    "shop.py": """
        import windlass

        app = windlass.App("shop")

        @app.task(retry=windlass.Retry(3, initial="1h", max="1h", jitter=False))
        def fetch(url: str) -> int:
            raise NotImplementedError("a test does not go out")

        @app.task
        async def double(number: int) -> int:
            return 2 * number
    """,
    "test_shop.py": """
        from shop import app, double, fetch

        def test_a_failed_fetch_is_tried_again_after_an_hour(windlass_local):
            local = windlass_local(app)
            local.fake(fetch, returns=200, raises=[OSError("away")])
            handle = fetch.enqueue("https://example.org")
            local.drain()
            assert handle.state() == "queued"
            local.advance("1h")
            assert handle.result() == 200

        def test_it_is_empty_again(windlass_local):
            local = windlass_local(app)
            assert local.jobs() == []
            assert double.enqueue(21).result() == 42

        def test_a_failure_is_shown_as_it_was(windlass_local):
            local = windlass_local(app)
            fetch.using(max_attempts=1).enqueue("https://example.org").result()
    """,
    "test_plain.py": """
        import sys

        def test_without_the_fixture_nothing_of_it_is_imported():
            heavy = {"asyncpg", "uvicorn", "starlette", "aiohttp", "redis", "windlass.cli"}
            assert heavy.isdisjoint(sys.modules)
    """,
}


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As on somebody's machine: their folder, the installed package, no configuration of ours."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_stranger_tests_an_app_with_nothing_but_the_fixture(tmp_path: Path) -> None:
    for name, text in PROJECT.items():
        (tmp_path / name).write_text(dedent(text))
    run = pytest_in(tmp_path, "test_plain.py", "test_shop.py")
    assert "1 failed, 3 passed" in run.stdout, run.stdout + run.stderr
    assert "JobFailed" in run.stdout
    assert "NotImplementedError: a test does not go out" in run.stdout
    # The stage was taken down: nothing is left to complain about.
    assert "Exception" not in run.stderr, run.stderr
