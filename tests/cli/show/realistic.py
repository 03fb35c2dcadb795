"""Answers as a busy installation gives them, made from the OpenAPI document: whole ids, long names,
long errors. So a route that is new is answered, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from tests.cli.peer import Call, Says
from windlass.ids import uuid7

Schema = Mapping[str, Any]
ROWS: Final = 12
NAMES: Final = (
    "billing.invoices.reminders.send_second_reminder_of_an_invoice",
    "mail",
    "nightly-reconciliation-of-payments-eu-west-1",
    "邮件通知服务的每日汇总报告与客户账单的自动核对任务",
)
HOSTS: Final = ("webhooks.partner-integrations.example.com:8443", "shop.example")
# What is one word, although no list of words says which.
SHORT: Final = {"type": "cancel_requested", "level": "warning", "state": "running"}
TEXT: Final = (
    "psycopg.errors.UniqueViolation: duplicate key value violates unique constraint "
    "invoice_number of relation invoice, while the second reminder was sent 邮件"
)
_DIGITS: Final = re.compile(r"\^?([a-z]+_)\[0-9a-f\]\{([0-9]+)\}\$?")
_NAMED: Final = re.compile("name|queue|task|workflow|step|kind|owner|_by|app|tags|source|signal")


class Realistic:
    def __init__(self, document: dict[str, Any]) -> None:
        self._named = document["components"]["schemas"]
        self._routes = [
            (method.upper(), re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), told)
            for path, methods in document["paths"].items()
            for method, told in methods.items()
        ]

    def answer(self, call: Call) -> Says:
        for method, path, told in self._routes:
            if method == call.method and path.fullmatch(call.path):
                status, answer = next((s, a) for s, a in told["responses"].items() if s < "300")
                schema = answer.get("content", {}).get("application/json", {}).get("schema")
                return Says(status=int(status), json=schema and self.value(schema))
        raise AssertionError(f"no such route: {call.method} {call.path}")

    def value(self, schema: Schema, name: str = "", row: int = 0) -> Any:
        """Something that the schema allows, for the field of this name."""
        if "$ref" in schema:
            return self.value(self._named[schema["$ref"].rpartition("/")[2]], name, row)
        for union in ("anyOf", "oneOf"):
            if union in schema:
                return self.value(schema[union][0], name, row)
        if "const" in schema or "enum" in schema:
            choices = schema.get("enum") or [schema["const"]]
            return choices[row % len(choices)]
        match schema.get("type"):
            case "object" if "properties" in schema:
                fields = schema["properties"].items()
                return {
                    field: None if field == "next_cursor" else self.value(inner, field, row)
                    for field, inner in fields
                }
            case "object":
                inner = schema.get("additionalProperties")
                inner = inner if isinstance(inner, Mapping) else {"type": "string"}
                return {one: self.value(inner, name, row) for one in NAMES[:2]}
            case "array":
                count = ROWS if name in ("data", "next", "deliveries", "operations") else 3
                inner = schema.get("items", {"type": "string"})
                return [self.value(inner, name, number) for number in range(count)]
            case "boolean":
                return row % 3 == 0
            case "integer":
                return min(schema.get("maximum", 1234567), 7 if row % 2 else 1234567)
            case "number":
                return 1234.5
            case "string":
                return _text(schema, name, row)
            case _:
                return {"cause": "UniqueViolation", "message": TEXT}


def _text(schema: Schema, name: str, row: int) -> str:
    if found := _DIGITS.fullmatch(schema.get("pattern", "")):
        prefix, count = found[1], int(found[2])
        made = uuid4() if prefix == "node_" else uuid7()
        return prefix + f"{made.hex}{made.hex}"[:count]
    if schema.get("format") == "date-time":
        return f"2026-11-{row % 28 + 1:02}T12:34:56.123456Z"
    if name in SHORT:
        return SHORT[name]
    if name in ("host", "target", "hosts"):
        return HOSTS[row % len(HOSTS)]
    return NAMES[row % len(NAMES)] if _NAMED.search(name) else TEXT
