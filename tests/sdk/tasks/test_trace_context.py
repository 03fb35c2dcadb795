"""A trace goes from whoever enqueues to the task that runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from windlass import App
from windlass.model.trace_context import read_traceparent, trace_id_of, traceparent_of
from windlass.sdk.bridges.asgi import lifespan
from windlass.testing.servers import PrivateServers

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("header", "kept"),
    [
        (f"00-{TRACE}-{SPAN}-01", f"{TRACE}-{SPAN}-01"),
        (f"01-{TRACE}-{SPAN}-00-more", f"{TRACE}-{SPAN}-00"),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        ("", None),
    ],
)
def test_a_header_is_kept_without_its_version(header: str, kept: str | None) -> None:
    assert read_traceparent(header) == kept
    if kept is not None:
        assert trace_id_of(kept) == TRACE
        assert traceparent_of(kept) == f"00-{kept}"


def test_a_trace_without_a_span_has_no_parent() -> None:
    assert (trace_id_of(TRACE), traceparent_of(TRACE)) == (TRACE, None)
    assert (trace_id_of(None), traceparent_of(None)) == (None, None)


@pytest.fixture(scope="module")
def provided() -> InMemorySpanExporter:
    """A process has one provider, for ever: every test that needs one shares it."""
    ended = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(ended))
    trace.set_tracer_provider(provider)
    return ended


@pytest.fixture
def spans(provided: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    provided.clear()
    yield provided
    provided.clear()


@pytest.fixture(scope="module")
async def app(servers: PrivateServers, template_url: str) -> AsyncIterator[App]:
    made = App("traced")

    @made.task
    def outer() -> str:
        return inner.enqueue().id

    @made.task
    async def inner() -> str:
        return f"{trace.get_current_span().get_span_context().trace_id:032x}"

    @made.task(max_attempts=1)
    def broken() -> None:
        raise ValueError("no")

    url = await servers.create_database(template_url)
    live = lifespan(made, database_url=url, redis_url=servers.redis_of(url), workers=2)
    async with live(None):
        yield made


def named(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    [found] = [span for span in spans.get_finished_spans() if span.name == name]
    return found


async def test_a_task_runs_below_the_span_it_was_enqueued_from(
    app: App, spans: InMemorySpanExporter
) -> None:
    with trace.get_tracer("test").start_as_current_span("request") as request:
        handle = await app.tasks["outer"].aenqueue()
    above = request.get_span_context()
    inner = await app.client.jobs.wait(await handle, 30)
    assert inner["result"] == f"{above.trace_id:032x}" == inner["trace_id"]
    outer_span, inner_span = named(spans, "run outer"), named(spans, "run inner")
    assert outer_span.parent is not None
    assert outer_span.parent.span_id == above.span_id
    assert inner_span.parent is not None
    assert inner_span.parent.span_id == outer_span.context.span_id
    assert outer_span.attributes is not None
    assert outer_span.attributes["messaging.message.id"] == handle.id


async def test_a_task_that_raises_leaves_a_failed_span_of_a_trace_of_its_own(
    app: App, spans: InMemorySpanExporter
) -> None:
    handle = await app.tasks["broken"].aenqueue()
    await app.client.jobs.wait(handle.id, 30)
    span = named(spans, "run broken")
    assert span.parent is None
    assert not span.status.is_ok
    assert [event.name for event in span.events] == ["exception"]
