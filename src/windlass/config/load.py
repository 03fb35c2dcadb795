"""Load settings: from what was said to Settings, or to everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from windlass.config.problems import Problem, SettingsProblems
from windlass.config.redaction import shown
from windlass.config.settings import Settings
from windlass.config.sources import Given, from_environment, from_file, from_flags, unknown
from windlass.config.table import PARSERS, RELATIONS

DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(Settings)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Settings, and for each where it came from."""

    settings: Settings
    sources: dict[str, str]
    # WINDLASS_… variables that are no settings: they may be somebody else's, so nothing is refused.
    unknown: tuple[Problem, ...] = ()


def load_settings(flags: Mapping[str, object], environ: Mapping[str, str], cwd: Path) -> Loaded:
    """Read file, environment and flags. Raises SettingsProblems with all that is wrong."""
    from_toml, problems = from_file(environ, cwd)
    variables, strange = _known(from_environment(environ))
    layers = (from_toml, variables, from_flags(flags))

    values, sources = dict(DEFAULTS), dict.fromkeys(DEFAULTS, "default")
    wrong: set[str] = set()
    for layer in layers:
        chosen, odd = _choose(layer)
        problems += odd
        for given in chosen.values():
            # Judged even when a later layer wins: a bad line in a file is never silently kept.
            try:
                values[given.setting] = PARSERS[given.setting].parse(given.value)
            except ValueError:
                wrong.add(given.setting)
                problems.append(_refused(given))
            sources[given.setting] = given.source

    _prefer_flags(values, sources)
    problems += _broken_relations(values, sources, wrong)
    if problems:
        raise SettingsProblems([*problems, *strange])
    return Loaded(settings=Settings(**values), sources=sources, unknown=tuple(strange))


def hand_over(settings: Settings) -> dict[str, Any]:
    """All of them as JSON has it, for a child process; secrets included."""
    values = {name: getattr(settings, name) for name in DEFAULTS}
    return {name: str(v) if isinstance(v, Path) else v for name, v in values.items()}


def take_over(values: Mapping[str, Any]) -> Settings:
    """What `hand_over` gave; neither file nor environment is asked again."""
    given = {name: value for name, value in values.items() if value is not None}
    parsed: dict[str, Any] = {name: PARSERS[name].parse(value) for name, value in given.items()}
    return Settings(**{**dict.fromkeys(DEFAULTS), **parsed})


def _known(variables: list[Given]) -> tuple[list[Given], list[Problem]]:
    """The variables that are settings, and what is odd about the others."""
    known = [given for given in variables if given.setting in PARSERS]
    return known, [unknown(given, PARSERS) for given in variables if given.setting not in PARSERS]


def _prefer_flags(values: dict[str, Any], sources: dict[str, str]) -> None:
    """Who says --data means the database of that folder, whatever the environment says."""
    if _is_flag(sources["data"]) and not _is_flag(sources["database_url"]):
        values["database_url"], sources["database_url"] = None, sources["data"]


def _is_flag(source: str) -> bool:
    return source.startswith("--")


def _choose(layer: list[Given]) -> tuple[dict[str, Given], list[Problem]]:
    """The known settings of one layer, each once; and what is unknown or said twice."""
    chosen: dict[str, Given] = {}
    problems: list[Problem] = []
    for given in layer:
        if given.setting not in PARSERS:
            problems.append(unknown(given, PARSERS))
        elif given.setting in chosen:
            problems.append(_said_twice(given, chosen[given.setting]))
        else:
            chosen[given.setting] = given
    return chosen, problems


def _refused(given: Given) -> Problem:
    return Problem(
        setting=given.setting,
        value=shown(given.setting, given.value),
        source=given.source,
        allowed=PARSERS[given.setting].allowed,
    )


def _said_twice(given: Given, before: Given) -> Problem:
    return Problem(
        setting=given.setting,
        value=shown(given.setting, given.value),
        source=given.source,
        allowed=f"to say it once; {before.written_as} says it too",
    )


def _broken_relations(
    values: Mapping[str, Any], sources: Mapping[str, str], wrong: set[str]
) -> list[Problem]:
    """Relations are judged only between values that are fine by themselves."""
    return [
        Problem(
            setting=relation.setting,
            value=shown(relation.setting, values[relation.setting]),
            source=sources[relation.setting],
            allowed=relation.allowed.format(
                other=f"{relation.other} ({shown(relation.other, values[relation.other])} "
                f"from {sources[relation.other]})"
            ),
        )
        for relation in RELATIONS
        if not {relation.setting, relation.other} & wrong
        and not relation.holds(values[relation.setting], values[relation.other])
    ]
