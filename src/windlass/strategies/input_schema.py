"""The JSON Schema of the input of each built-in kind: as strict as its `check_input`.

Made of the same tables that the checks go by. What is left to the checks: which hosts IDNA knows,
whether `expect` compiles, and that no two headers, statuses or entries of `auth` mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from windlass.limits import (
    AUTHS_MAX,
    EXPECT_CHARS_MAX,
    HEADER_CHARS_MAX,
    HEADERS_MAX,
    KEY_CHARS_MAX,
    REDIRECTS_MAX,
)
from windlass.model.job.target import URL_SCHEMA
from windlass.model.json.printable import CHAR_PATTERN
from windlass.model.json.value_schema import (
    INSTANT_SCHEMA,
    KEPT_SCHEMA,
    NAME_SCHEMA,
    OPEN_SCHEMA,
    SECONDS_MIN,
    Schema,
    duration,
    text_schema,
)
from windlass.model.workflow.step_kinds import PERFORMED_KINDS, complete
from windlass.strategies.http import input as http_input
from windlass.strategies.http import judge as http_judge
from windlass.strategies.http import request as http_request
from windlass.strategies.http.auth import check as check_auth
from windlass.strategies.http.request import BODIES

_OBJECT: Final[Schema] = {"type": "object", "additionalProperties": True}
_TEXTS: Final[Schema] = {
    "type": "object",
    "propertyNames": KEPT_SCHEMA,
    "additionalProperties": KEPT_SCHEMA,
}
_BASE64: Final[Schema] = {
    "type": "string",
    "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
}


def _any_case(words: str) -> str:
    """Letters in both cases; in the words stand letters, hyphens and what patterns are made of."""
    return "".join(f"[{c.upper()}{c}]" if c.isalpha() else c for c in words)


def _closed(required: list[str], properties: dict[str, Schema]) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": properties,
    }


_MTLS: Final[Schema] = {
    "type": "object",
    "required": ["type"],
    "properties": {"type": {"const": "mtls"}},
}
_AUTH_FIELDS: Final[dict[str, Schema]] = {
    "secret": NAME_SCHEMA,
    "header": {
        "type": "string",
        "minLength": 1,
        "maxLength": check_auth.TEXT_CHARS_MAX,
        "pattern": f"^{check_auth.HEADER_PATTERN}$",
        "not": {"pattern": f"^({_any_case(check_auth.OURS_PATTERN)})$"},
    },
    "username": {
        **text_schema(check_auth.TEXT_CHARS_MAX),
        "pattern": f"^{CHAR_PATTERN.replace('[^', '[^:')}*$",
    },
    "token_url": URL_SCHEMA,
    "client_id": text_schema(check_auth.TEXT_CHARS_MAX),
    "scope": {
        "type": "string",
        "maxLength": check_auth.SCOPE_CHARS_MAX,
        "pattern": f"^{check_auth.SCOPE_PATTERN}$",
    },
}


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The inputs of jobs, or of steps: those are templates, in which any text may hold ${ }."""

    is_template: bool

    def value(self, schema: Schema) -> Schema:
        if not self.is_template:
            return schema
        said = {name: text for name, text in schema.items() if name == "description"}
        return {**said, "anyOf": [schema, OPEN_SCHEMA]}

    def listed(self, item: Schema, most: int) -> Schema:
        return self.value({"type": "array", "items": self.value(item), "maxItems": most})

    def fields(self, properties: Mapping[str, Schema]) -> dict[str, Schema]:
        return {name: self.value(schema) for name, schema in properties.items()}

    def auth(self) -> Schema:
        kinds = [self._auth(kind) for kind in check_auth.FIELDS]
        if not self.is_template:
            return {"oneOf": kinds}
        later = {
            "title": "auth of a type that is known later",
            "type": "object",
            "additionalProperties": True,
            "required": ["type"],
            "properties": {"type": OPEN_SCHEMA},
        }
        return {"anyOf": [*kinds, later]}

    def _auth(self, kind: str) -> Schema:
        fields = check_auth.FIELDS[kind]
        required = [name for name in fields if name not in check_auth.OPTIONAL]
        properties = self.fields({name: _AUTH_FIELDS[name] for name in fields})
        return {
            "title": f"{kind} auth",
            **_closed(["type", *required], {"type": {"const": kind}, **properties}),
        }

    def headers(self) -> Schema:
        prefixes = [f"{prefix}.*" for prefix in http_request.OUR_PREFIXES]
        ours = "|".join([*sorted(http_request.OURS), *prefixes])
        return {
            "type": "object",
            "maxProperties": HEADERS_MAX,
            "propertyNames": {
                "pattern": f"^{http_request.NAME_PATTERN}$",
                "not": {"pattern": f"^({_any_case(ours)})$"},
            },
            "additionalProperties": self.value(
                {"type": "string", "maxLength": HEADER_CHARS_MAX, "pattern": f"^{CHAR_PATTERN}*$"}
            ),
        }

    def statuses(self) -> Schema:
        status: Schema = {
            "anyOf": [
                {"type": "integer", "minimum": 100, "maximum": 599},
                {"type": "string", "enum": list(http_judge.CLASSES)},
            ]
        }
        listed = self.listed(status, http_judge.STATUSES_MAX)
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": dict.fromkeys(http_judge.VERDICTS, listed),
        }

    def http(self, auth: Schema) -> Schema:
        """`auth` is the schema of one, or leads to it."""
        properties: dict[str, Schema] = {
            "url": URL_SCHEMA,
            "method": {"type": "string", "enum": list(http_input.METHODS)},
            "headers": self.headers(),
            "json": {"description": "The body, as JSON"},
            "text": KEPT_SCHEMA,
            "form": _TEXTS,
            "base64": _BASE64,
            "auth": {"anyOf": [auth, self.listed(auth, AUTHS_MAX), {"type": "null"}]},
            "expect": {**KEPT_SCHEMA, "minLength": 1, "maxLength": EXPECT_CHARS_MAX},
            "statuses": self.statuses(),
            "redirects": {"type": "integer", "minimum": 0, "maximum": REDIRECTS_MAX},
            **{
                name: duration(seconds_max, SECONDS_MIN)
                for name, seconds_max in http_input.DURATIONS.items()
            },
        }
        assert properties.keys() == set(http_input.FIELDS)
        plain: Schema = {"type": "string", "pattern": "^[Hh][Tt][Tt][Pp]:"}
        if self.is_template:
            plain["not"] = OPEN_SCHEMA
        bare = {
            "required": ["auth"],
            "properties": {
                "url": plain,
                "auth": {"anyOf": [_MTLS, {"type": "array", "contains": _MTLS, "items": {}}]},
            },
        }
        two = [{"required": list(pair)} for pair in combinations(BODIES, 2)]
        given = {name: schema for name, schema in properties.items() if name != "json"}
        return {
            **_closed(["url"], {**self.fields(given), "json": properties["json"]}),
            "not": {"anyOf": [*two, bare]},
        }

    def wait(self) -> Schema:
        properties = {"seconds": duration(), "duration": duration(), "until": INSTANT_SCHEMA}
        return {**_closed([], self.fields(properties)), "minProperties": 1, "maxProperties": 1}

    def python(self) -> Schema:
        properties = {
            "task": text_schema(KEY_CHARS_MAX),
            "args": {"type": "array", "items": {}},
            "kwargs": _OBJECT,
        }
        return _closed(["task"], self.fields(properties))


def input_schemas(*, is_template: bool, auth: Schema | None = None) -> dict[str, Schema]:
    """By kind. `auth` leads to the schema of one; None: it stands where it is used."""
    inputs = _Inputs(is_template)
    return complete(
        PERFORMED_KINDS,
        {
            "noop": _OBJECT,
            "wait": inputs.wait(),
            "http": inputs.http(auth or inputs.auth()),
            "python": inputs.python(),
        },
    )


def auth_schema(*, is_template: bool) -> Schema:
    return _Inputs(is_template).auth()
