"""Where settings come from: TOML file, environment variables, flags; gathered, not yet judged.

A setting has one name however it is written: `queue_max_jobs = 5`, `[queue] max_jobs = 5`,
`WINDLASS_QUEUE_MAX_JOBS=5`, `WINDLASS_QUEUE__MAX_JOBS=5` and `--queue-max-jobs 5` are the same.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from windlass.config.problems import Problem
from windlass.config.redaction import shown

FILE_NAME = "windlass.toml"
FILE_BYTES_MAX = 1024 * 1024
PREFIX = "WINDLASS_"
# These speak to the command line or to deploy/haproxy.cfg, not to a node.
NOT_SETTINGS = frozenset(
    {"WINDLASS_BIND", "WINDLASS_CA_FILE", "WINDLASS_CONFIG", "WINDLASS_LISTEN_SECRET"}
    | {"WINDLASS_TOKEN", "WINDLASS_URL"}
)
_NODE_OF_PROXY = re.compile(r"WINDLASS_NODE_[0-9]+")
# What Kubernetes tells every container of a Service that is named windlass, or windlass-….
_OF_SERVICE = re.compile(
    r"WINDLASS_(?:[A-Z0-9_]+_)?SERVICE_(?:HOST|PORT(?:_[A-Z0-9_]+)?)"
    r"|WINDLASS_(?:[A-Z0-9_]+_)?PORT_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?"
)
_PORT_OF_SERVICE = re.compile(r"WINDLASS_(?:[A-Z0-9_]+_)?PORT")
_LINK = re.compile(r"(?:tcp|udp|sctp)://", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One value as somebody wrote it."""

    setting: str
    value: object
    # What the person typed and can search for: a variable, a flag, the file's name.
    source: str
    written_as: str


def from_file(environ: Mapping[str, str], cwd: Path) -> tuple[list[Given], list[Problem]]:
    """The values of `windlass.toml`, or of the file that WINDLASS_CONFIG names."""
    named = environ.get("WINDLASS_CONFIG")
    source = named or FILE_NAME
    path = cwd / source
    try:
        table = _read_table(path)
    except FileNotFoundError:
        if named is None:
            return [], []
        return [], [_unreadable(source, "the path of a TOML file; there is none here")]
    except (OSError, ValueError, RecursionError) as error:
        return [], [_unreadable(source, f"a readable TOML file ({_reason(error)})")]
    return [
        Given(setting="_".join(keys), value=value, source=source, written_as=".".join(keys))
        for keys, value in _leaves(table)
    ], []


def from_environment(environ: Mapping[str, str]) -> list[Given]:
    """The WINDLASS_… variables. An empty one counts as not set, as compose files leave them."""
    return [
        Given(
            setting=_setting_named(variable.removeprefix(PREFIX)),
            value=value,
            source=variable,
            written_as=variable,
        )
        for variable, value in sorted(environ.items())
        if variable.startswith(PREFIX) and not _is_of_others(variable, value) and value.strip()
    ]


def _is_of_others(variable: str, value: str) -> bool:
    return (
        variable in NOT_SETTINGS
        or _NODE_OF_PROXY.fullmatch(variable) is not None
        or _OF_SERVICE.fullmatch(variable) is not None
        or (_PORT_OF_SERVICE.fullmatch(variable) is not None and _LINK.match(value) is not None)
    )


def from_flags(flags: Mapping[str, object]) -> list[Given]:
    """What the command line was given, by setting name. None counts as not given."""
    return [
        Given(setting=name, value=value, source=_flag(name), written_as=_flag(name))
        for name, value in flags.items()
        if value is not None
    ]


def unknown(given: Given, names: Collection[str]) -> Problem:
    """The problem of a name that is no setting, with the name that was probably meant."""
    near = get_close_matches(given.setting.lower(), names, n=1, cutoff=0.6)
    meant = _written_like(given, near[0]) if near else None
    return Problem(
        setting=given.written_as,
        value=shown(f"{given.setting}_{near[0]}" if near else given.setting, given.value),
        source=given.source,
        allowed=f"a known setting; did you mean {meant}?" if meant else "a known setting",
    )


def _read_table(path: Path) -> dict[str, object]:
    with path.open("rb") as file:
        raw = file.read(FILE_BYTES_MAX + 1)
    if len(raw) > FILE_BYTES_MAX:
        raise ValueError(f"larger than {FILE_BYTES_MAX} bytes")
    return tomllib.loads(raw.decode())


def _leaves(table: Mapping[str, object]) -> Iterator[tuple[tuple[str, ...], object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            for rest, leaf in _leaves(value):
                yield (key, *rest), leaf
        else:
            yield (key,), value


def _setting_named(rest: str) -> str:
    # Variables are upper case. Turned round, WINDLASS_port is no setting's name, and is reported.
    return rest.replace("__", "_").lower() if rest.isupper() else rest.upper()


def _written_like(given: Given, setting: str) -> str:
    if given.written_as.startswith(PREFIX):
        return PREFIX + setting.upper()
    return _flag(setting) if given.written_as.startswith("--") else setting


def _flag(setting: str) -> str:
    return "--" + setting.replace("_", "-")


def _unreadable(source: str, allowed: str) -> Problem:
    return Problem(setting="config", value=repr(source), source=source, allowed=allowed)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    return "nested too deep" if isinstance(error, RecursionError) else str(error)
