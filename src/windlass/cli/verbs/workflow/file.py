"""Definitions in files: what to send of one, and what came back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from windlass.cli.exits import BadUsage
from windlass.cli.http.client import Answer, Client
from windlass.cli.limits import POINTERS_SHOWN_MAX
from windlass.cli.show.output import say
from windlass.cli.values import read_text
from windlass.errors import InvalidInput
from windlass.limits import BODY_BYTES_MAX
from windlass.model.json import strict as strict_json
from windlass.model.json import yaml as strict_yaml

_JSON, _YAML = "application/json", "application/yaml"
_VALIDATE: Final = "/v1/workflows/validate"


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionFile:
    path: str  # as it was typed
    body: bytes
    media_type: str

    def send(self, client: Client, path: str) -> Answer:
        return client.upload(path, self.body, self.media_type)

    def document(self) -> Any:
        """Raises InvalidInput for what cannot be parsed."""
        parse = strict_json.parse if self.media_type == _JSON else strict_yaml.parse
        return parse(self.body)


def read_file(path: str) -> DefinitionFile:
    """A file, or standard input for `-`, where JSON is told by its first character."""
    body = read_text("FILE", path)
    if len(body) > BODY_BYTES_MAX:
        raise BadUsage(f"{path} is larger than {BODY_BYTES_MAX} bytes")
    is_json = path.endswith(".json") or (path == "-" and body.lstrip()[:1] == b"{")
    return DefinitionFile(path=path, body=body, media_type=_JSON if is_json else _YAML)


def verdict(client: Client, file: DefinitionFile) -> dict[str, Any]:
    """`{valid, errors}` as the server sees it; what cannot be parsed is found here."""
    try:
        file.document()
    except InvalidInput as trouble:
        return refused(trouble.problems)
    return file.send(client, _VALIDATE).value


def refused(problems: Sequence[Any]) -> dict[str, Any]:
    errors = [{"pointer": p.pointer, "detail": p.detail} for p in problems]
    return {"valid": not errors, "errors": errors}


def tell_problems(path: str, errors: Sequence[dict[str, Any]]) -> None:
    """Each on a line of its own, as compilers do."""
    for error in errors[:POINTERS_SHOWN_MAX]:
        say(f"{path}: {error.get('pointer') or '/'}: {error.get('detail')}")
    if len(errors) > POINTERS_SHOWN_MAX:
        say(f"{path}: and {len(errors) - POINTERS_SHOWN_MAX} more")
