"""The servers' log files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from windlass.embedded.limits import LOG_BYTES_MAX, LOG_TAIL_LINES
from windlass.embedded.log import log_size, log_tail, open_log


def write(path: Path, text: str) -> None:
    fd = open_log(path, None)
    os.write(fd, text.encode())
    os.close(fd)


def test_the_tail_is_the_last_lines_of_this_start(tmp_path: Path) -> None:
    path = tmp_path / "log" / "x.log"
    assert log_size(path) == 0
    assert log_tail(path) == ""
    write(path, "of an earlier start\n")
    begin = log_size(path)
    write(path, "".join(f"line {number}\n" for number in range(100)))
    lines = log_tail(path, since=begin).splitlines()
    assert lines == [f"line {number}" for number in range(100 - LOG_TAIL_LINES, 100)]
    write(path, "last\n")
    assert log_tail(path, since=log_size(path) - len("last\n")) == "last"


def test_a_log_that_has_grown_too_large_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "log" / "x.log"
    write(path, "old\n")
    os.truncate(path, LOG_BYTES_MAX + 1)
    begin = log_size(path)
    write(path, "new\n")
    assert path.read_text() == "new\n"
    assert path.with_name("x.log.1").stat().st_size == LOG_BYTES_MAX + 1
    assert log_tail(path, since=begin) == "new"


def test_a_log_is_not_written_through_a_link(tmp_path: Path) -> None:
    path = tmp_path / "log" / "x.log"
    path.parent.mkdir()
    path.symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"):
        write(path, "text")
    assert not (tmp_path / "target").exists()
