"""kill -9 of the process that owns the servers."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.embedded.owners import are_gone, running_owner, story_of
from tests.until import until


def drafts(data: Path) -> list[Path]:
    """Under root it is made beside the server's own folder."""
    return [*data.glob("postgresql/cluster-draft-*"), *data.glob("cluster-draft-*")]


def is_begun(data: Path, cluster: Path) -> bool:
    return cluster.exists() or any((draft / "global").exists() for draft in drafts(data))


async def killed_in_time(folder: Path) -> Path:
    """The data of an owner that was killed before it had its cluster; who comes too late tries
    again.
    """
    for number in range(10):
        data = folder / f"data{number}"
        cluster = data / "postgresql" / "cluster"
        with running_owner(data) as process:
            await until(partial(is_begun, data, cluster))
            process.kill()
        if not cluster.exists():
            return data
    raise AssertionError("the cluster was always made before")


async def test_a_row_survives_kill_9_of_its_owner_and_the_servers_do_not(data: Path) -> None:
    with running_owner(data, "CREATE TABLE kept AS SELECT 42 AS answer") as process:
        first = story_of(process)
        process.kill()
    with running_owner(data, "SELECT answer FROM kept") as process:
        second = story_of(process)
        assert second.answers == [42]
        assert are_gone(first.pids), "nothing of the first owner runs beside the second"
        assert not are_gone(second.pids)


async def test_the_servers_follow_a_killed_owner_by_themselves(data: Path) -> None:
    with running_owner(data) as process:
        story = story_of(process)
        assert not are_gone(story.pids)
        process.kill()
    await until(lambda: are_gone(story.pids))


async def test_kill_9_while_the_cluster_is_being_made_is_made_good_by_the_next_start(
    tmp_path: Path,
) -> None:
    data = await killed_in_time(tmp_path)
    with running_owner(data, "SELECT 1") as process:
        assert story_of(process).answers == [1]
    assert drafts(data) == []


async def test_a_socket_folder_left_by_a_killed_owner_is_removed_by_the_next_start(
    tmp_path: Path,
) -> None:
    data = tmp_path / ("x" * 130)
    notes = [data / "postgresql.socket", data / "valkey.socket"]
    with running_owner(data) as process:
        story = story_of(process)
        left_over = [Path(note.read_text()) for note in notes]
        process.kill()
    await until(lambda: are_gone(story.pids))
    assert all(folder.is_dir() for folder in left_over)
    with running_owner(data) as process:
        story_of(process)
        assert not any(folder.exists() for folder in left_over)
        used = [Path(note.read_text()) for note in notes]
    assert not any(path.exists() for path in (*used, *notes))
