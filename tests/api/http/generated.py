"""Requests that are valid by the OpenAPI document, made from it: the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from unittest.mock import patch

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from schemathesis.generation import GenerationMode

from tests.api.http.fresh_keys import freshen

# Every hold of an answer is cut short: what is judged here is whether it is taken.
MOMENT: Final = "10ms"
# Of the boundaries of one operation's schemas, evenly chosen: a definition has thousands.
BOUNDARIES_MAX: Final = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    operation: str  # "POST /v1/jobs"
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None

    def __str__(self) -> str:
        sent = (self.body or b"").decode("utf-8", "replace")
        heads = {
            name: text
            for name, text in self.headers.items()
            if name.lower() in ("idempotency-key", "if-match", "if-none-match")
        }
        return f"{self.method} {self.url} {heads or ''} {sent[:1500]}"


def valid_requests(
    document: dict[str, Any],
    url: str,
    known: Mapping[str, Mapping[str, str]],
    *,
    seed_number: int,
    examples: int,
) -> Iterator[Request]:
    """For each operation that takes anything: every boundary of its schemas, and `examples` more.

    `known` has, by the beginning of a path, what is there for its parameters: with a body, all but
    the first few requests are about a thing that exists, so that the body is looked at.
    """
    schema = schemathesis.openapi.from_dict(document)
    modes = [GenerationMode.POSITIVE]
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr] # all of ours are well-formed
        cases = list(
            schema.iter_coverage_cases(
                operation, generation_modes=modes, generation_config=schema.config.generation
            )
        )
        cases = cases[:: 1 + len(cases) // BOUNDARIES_MAX]
        cases += _drawn(operation, seed_number, examples)
        for place, case in enumerate(cases):
            if place >= examples // 2 and operation.method != "delete":
                _be_about(case, known)
            freshen(case)
            _hurry(case)
            yield _written(case, operation.label, url)


def _drawn(operation: Any, seed_number: int, examples: int) -> list[Any]:
    cases: list[Any] = []

    @seed(seed_number)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
    def draw(case: Any) -> None:
        cases.append(case)

    with by_the_seed_alone():
        draw()
    return cases


@contextmanager
def by_the_seed_alone() -> Iterator[None]:
    """Hypothesis draws some values out of the source of whatever is imported, which is more or less
    by the tests that ran before.
    """
    providers.CONSTANTS_CACHE.cache.clear()
    with patch.object(providers, "_get_local_constants", Constants):
        yield
    providers.CONSTANTS_CACHE.cache.clear()


def _be_about(case: Any, known: Mapping[str, Mapping[str, str]]) -> None:
    for beginning, values in known.items():
        if case.operation.path.startswith(beginning) and case.path_parameters:
            for name in case.path_parameters.keys() & values.keys():
                case.path_parameters[name] = values[name]
                if isinstance(case.body, dict) and case.body.get("name") is not None:
                    case.body["name"] = values[name]  # what is put somewhere keeps its name


def _hurry(case: Any) -> None:
    for holder in (case.query, case.body):
        if isinstance(holder, dict) and holder.get("wait") is not None:
            holder["wait"] = MOMENT


def _written(case: Any, label: str, url: str) -> Request:
    kwargs = case.as_transport_kwargs(base_url=url)
    kwargs.pop("cookies", None)
    made = requests.Request(**kwargs).prepare()
    body = made.body.encode() if isinstance(made.body, str) else made.body
    assert body is None or isinstance(body, bytes)
    headers = {
        name: text.decode("latin-1") if isinstance(text, bytes) else text
        for name, text in made.headers.items()
        # The sender counts the bytes itself, and has a key that is good.
        if name.lower() not in ("content-length", "authorization")
    }
    assert made.url is not None
    return Request(operation=label, method=case.method, url=made.url, headers=headers, body=body)
