"""What is wrong with the settings, all of it at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from windlass.errors import WindlassError


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One setting that cannot be used as it is."""

    setting: str
    # As written, shortened, without secrets.
    value: str
    # "windlass.toml", "WINDLASS_PORT", "--port" or "default".
    source: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.setting} = {self.value} (from {self.source}): expected {self.allowed}"


class SettingsProblems(WindlassError):
    """Windlass will not start like this; every reason is listed."""

    code = "invalid_settings"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        count = len(self.problems)
        head = "1 problem" if count == 1 else f"{count} problems"
        lines = "".join(f"\n  {problem}" for problem in self.problems)
        super().__init__(f"{head} with the settings; nothing was started{lines}")

    @property
    def facts(self) -> dict[str, Any]:
        return {"problems": [asdict(problem) for problem in self.problems]}
