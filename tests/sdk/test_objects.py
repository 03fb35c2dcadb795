"""The objects that clients answer: dicts with typed attributes, as the OpenAPI document says."""

from __future__ import annotations

import copy
import inspect
import json
import keyword
import pickle
import re
import types
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from windlass.sdk import objects
from windlass.sdk.http.api_object import ApiObject
from windlass.sdk.http.async_client import AsyncClient
from windlass.sdk.http.client import Client
from windlass.sdk.http.transport import Request, Response
from windlass.sdk.nouns.noun import Noun
from windlass.sdk.objects.jobs import Job

Schema = dict[str, Any]
# They are a language of their own, in which callers write: plain dicts here.
WRITTEN = {"Definition", "DefinitionStep"}
NAMES = {"Error": "JobError", "Lock": "LockInfo", "Task": "TaskInfo"}
PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool}


def classes() -> dict[str, type[ApiObject]]:
    rooms = [import_module(f"{objects.__name__}.{m.name}") for m in iter_modules(objects.__path__)]
    return {
        name: found
        for room in rooms
        for name, found in vars(room).items()
        if inspect.isclass(found)
        and issubclass(found, ApiObject)
        and found.__module__ == room.__name__
    }


class Document:
    """What the document says of a class, against what the class says of itself."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.paths: dict[str, Any] = document["paths"]
        self.schemas: dict[str, Schema] = document["components"]["schemas"]
        self.seen: set[str] = set()

    def differences(self, hint: Any, schema: Schema, where: str) -> Iterator[str]:
        is_optional = type(None) in get_args(hint)
        arms = (
            [arm for arm in get_args(hint) if arm is not type(None)] if _is_union(hint) else [hint]
        )
        shapes = [shape for shape in _arms(schema) if shape.get("type") != "null"]
        if hint is Any:
            if any("type" in shape or "$ref" in shape for shape in shapes):
                yield f"{where} is anything here and {schema} there"
            return
        if is_optional != (len(shapes) < len(_arms(schema))):
            yield f"{where} is optional={is_optional} here and {schema} there"
        for shape in shapes:
            if not any(not list(self._of_one(arm, shape, where)) for arm in arms):
                yield from self._of_one(arms[0], shape, where)

    def _of_one(self, hint: Any, schema: Schema, where: str) -> Iterator[str]:
        name = schema.get("$ref", "").rpartition("/")[2]
        if name in WRITTEN:
            if hint != dict[str, Any]:
                yield f"{where} is {hint} here and what callers write there"
        elif name and inspect.isclass(hint) and hint.__name__ != NAMES.get(name, name):
            yield f"{where} is {hint} here and {name} there"
        elif inspect.isclass(hint) and issubclass(hint, ApiObject):
            yield from self.fields(hint, self.schemas[name] if name else schema)
        elif schema.get("type") == "array":
            if get_origin(hint) is not list:
                yield f"{where} is {hint} here and a list there"
            else:
                yield from self.differences(get_args(hint)[0], schema["items"], f"{where}[]")
        elif schema.get("type") == "object":
            inner = schema.get("additionalProperties")
            if get_origin(hint) is not dict or "properties" in schema:
                yield f"{where} is {hint} here and {schema} there"
            elif isinstance(inner, dict):
                yield from self.differences(get_args(hint)[1], inner, f"{where}{{}}")
        else:
            is_instant = schema.get("format") == "date-time"
            wanted = datetime if is_instant else PLAIN.get(str(schema.get("type")))
            if hint is not wanted:
                yield f"{where} is {hint} here and {schema} there"

    def fields(self, kind: type[ApiObject], schema: Schema) -> Iterator[str]:
        self.seen.add(kind.__name__)
        hints = {
            name: hint
            for name, hint in get_type_hints(kind).items()
            if name in kind.__annotations__ and not name.startswith("_")
        }
        told = schema.get("properties", {})
        sayable = {name for name in told if not keyword.iskeyword(name)}
        for name in sorted(sayable ^ hints.keys()):
            yield f"{kind.__name__}.{name} is only {'there' if name in told else 'here'}"
        for name in sorted(sayable & hints.keys()):
            said = told[name]
            if name not in schema.get("required", ()) and hints[name] is not Any:
                said = {"anyOf": [*_arms(said), {"type": "null"}]}
            yield from self.differences(hints[name], said, f"{kind.__name__}.{name}")

    def answers(self, method: str, path: str) -> list[Schema]:
        """What the route of this request answers with, as JSON."""
        routes = [
            known
            for known in self.paths
            if method.lower() in self.paths[known]
            and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", known), path)
        ]
        route = min(routes, key=lambda known: known.count("{"))
        responses = self.paths[route][method.lower()]["responses"]
        return [
            said["content"]["application/json"]["schema"]
            for code, said in responses.items()
            if code.startswith("2") and "application/json" in said.get("content", {})
        ]


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)


def _arms(schema: Schema) -> list[Schema]:
    """What it may be, one by one."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return [{**schema, "type": kind} for kind in kinds]
    options: list[Schema] = schema.get("anyOf", [schema])
    twice = [arm for option in options for arm in (_arms(option) if option != schema else [option])]
    return [arm for place, arm in enumerate(twice) if arm not in twice[:place]]


@pytest.fixture
async def document(async_client: AsyncClient) -> Document:
    return Document(await async_client.request("GET", "/openapi.json"))


class Asked(Exception):
    """A request, instead of its answer."""

    def __init__(self, request: Request) -> None:
        self.request = request


class Asking:
    """A way to no server: whoever asks hears what it asked."""

    async def send(self, request: Request) -> Response:
        raise Asked(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        raise Asked(request)

    async def close(self) -> None: ...


def nouns(client: object) -> dict[str, Any]:
    return {name: one for name, one in vars(client).items() if isinstance(one, Noun)}


def verbs() -> list[tuple[str, str]]:
    client = AsyncClient(transport=Asking())
    return [
        (noun, verb)
        for noun, one in nouns(client).items()
        for verb in dir(one)
        if not verb.startswith("_") and callable(getattr(one, verb))
    ]


def arguments(method: Any) -> dict[str, Any]:
    """Something for every parameter that has to be given."""
    hints = get_type_hints(method)
    required = [
        name
        for name, one in inspect.signature(method).parameters.items()
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD
    ]
    some: dict[Any, Any] = {str: "x", int: 1, "definition": {"name": "x"}}
    listed = {"job_ids": ["x"], "jobs": [{"kind": "noop"}], "node_id": "x"}
    return {
        name: listed.get(name) or some.get(name) or some.get(hints[name]) or {} for name in required
    } | ({"since": "x", "until": "x"} if "since" in required else {})


async def asked_by(made: Any) -> Request:
    with pytest.raises(Asked) as asked:
        await (anext(made) if inspect.isasyncgen(made) else made)
    return asked.value.request


@pytest.mark.parametrize(("noun", "verb"), verbs())
async def test_every_verb_answers_with_what_the_document_says(
    document: Document, noun: str, verb: str
) -> None:
    method = getattr(getattr(AsyncClient(transport=Asking()), noun), verb)
    request = await asked_by(method(**arguments(method)))
    schemas = document.answers(request.method, request.path.partition("?")[0])
    hint = get_type_hints(method)["return"]
    kinds = list(get_args(hint)) if _is_union(hint) else [hint]
    kinds = [get_args(kind)[0] if get_origin(kind) is not None else kind for kind in kinds]
    kinds = [kind for kind in kinds if inspect.isclass(kind) and issubclass(kind, ApiObject)]
    if (noun, verb) in {
        ("jobs", "submit_many"),
        ("events", "stream"),
        ("workflows", "export"),
        ("audit", "export"),
    }:
        return  # of ids, of a stream, of text
    for schema in schemas:
        is_page = "next_cursor" in schema.get("properties", {}) and hint is not kinds[0]
        one = schema["properties"]["data"]["items"] if is_page else schema.get("items", schema)
        for arm in _arms(one):
            wrong = [list(document.differences(kind, arm, verb)) for kind in kinds]
            assert [] in wrong, wrong
    assert bool(schemas) == bool(kinds)


async def test_every_class_has_the_fields_of_the_document(document: Document) -> None:
    known = classes()
    for name, schema in document.schemas.items():
        kind = known.get(NAMES.get(name, name))
        if kind is not None:
            assert list(document.fields(kind, schema)) == []
    # Inline shapes are met where they are used; these are made of several answers, or of one part.
    assert known.keys() - document.seen <= {
        *("JobRef", "Completed", "LeftJob", "DeadLettersReplayed", "DeadLettersDiscarded"),
        *("LockRenewed", "Estimates", "Shards"),
    }


def test_no_field_hides_a_method_of_dict() -> None:
    taken = {name for kind in classes().values() for name in kind.__annotations__}
    assert not {name for name in taken if name in dir(dict)}


async def test_a_difference_is_found(document: Document) -> None:
    class Firing(ApiObject):
        instant: str
        late_seconds: float | None
        unheard_of: int

    found = "\n".join(document.fields(Firing, document.schemas["Firing"]))
    assert "Firing.instant is <class 'str'> here" in found
    assert "Firing.late_seconds is optional=True here" in found
    assert "Firing.unheard_of is only here" in found
    assert "Firing.state is only there" in found


def test_a_job_is_the_dict_that_the_server_sent(client: Client) -> None:
    job = client.jobs.submit("noop", tags=["typed"])
    assert isinstance(job, Job)
    assert isinstance(job, dict)
    assert job["state"] == job.get("state") == job.state
    assert (
        job
        == dict(job)
        == json.loads(json.dumps(job))
        == msgspec.json.decode(msgspec.json.encode(job))
    )
    assert next(iter(job)) == "id"
    assert {**job}["tags"] == ["typed"]
    done = client.jobs.wait(job.id, 30)
    assert repr(done) == f"<Job {job.id} succeeded>"
    # An instant is the API's text as an item, and a datetime as an attribute.
    assert isinstance(done["created_at"], str)
    assert done.created_at == datetime.fromisoformat(done["created_at"])
    assert done.created_at.tzinfo is not None
    assert done.finished_at is not None
    assert done.finished_at >= done.created_at
    assert (done.error, done.deadline) == (None, None)


def test_what_is_within_is_an_object_too(client: Client) -> None:
    client.queues.put("typed-queue", max_jobs=5)
    queue = client.queues.get("typed-queue")
    assert (queue.max_jobs, queue.counts.queued, queue.counts["queued"]) == (5, 0, 0)
    assert queue.etag == queue["etag"]
    [line, *_] = [one for one in client.queues.list() if one.name == "typed-queue"]
    assert line.etag is None  # of one that was not read alone
    hold = client.locks.acquire("typed-lock")
    lock = client.locks.get("typed-lock")
    assert [holder.token for holder in lock.holders] == [hold.token]
    assert lock.holders[0].taken_at <= hold.expires_at
    client.locks.release("typed-lock", hold.token)


def test_a_field_that_only_a_newer_server_knows_is_kept_and_readable() -> None:
    job = Job(
        {"id": "job_1", "state": "queued", "mood": "good", "moved_at": "2030-01-01T00:00:00Z"}
    )
    unknown: Any = job
    assert (job["mood"], unknown.mood, unknown.moved_at) == ("good", "good", "2030-01-01T00:00:00Z")
    assert "mood" in dir(job)


def test_a_field_that_an_older_server_does_not_know_is_said_so() -> None:
    job = Job({"id": "job_1", "started_at": "2030-01-01T00:00:00Z"})
    assert job.started_at == datetime(2030, 1, 1, tzinfo=UTC)
    assert job.deadline is None
    with pytest.raises(AttributeError, match="this Job has no 'state'; it has id, started_at"):
        _ = job.state
    with pytest.raises(AttributeError, match="is what the server said"):
        job.state = "dead"


def test_a_copy_is_what_it_was() -> None:
    job = Job({"id": "job_1", "state": "queued", "tags": ["a"]})
    for twin in (copy.copy(job), copy.deepcopy(job), pickle.loads(pickle.dumps(job))):
        assert type(twin) is Job
        assert twin == job
