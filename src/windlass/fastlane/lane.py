"""The guarded Redis client: publish and subscribe, with timeouts and a circuit breaker.

Owns: the connections to Redis. Every call has a deadline, and none has to be waited for: publishing
is fire and forget through a bounded buffer; messages that gather while a call is under way go out
in one pipeline. Subscribing survives the server's death and says so: `is_up` is what the rest of
the node polls by.

Nobody waits for Redis, nor for its library, which takes as long to import as a node takes to reach
its first job: it is imported in a thread, once the lane is open.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any, Final

import structlog

from windlass.clock import monotonic
from windlass.config.redaction import where_of
from windlass.errors import Unavailable
from windlass.fastlane.keys import CHANNELS
from windlass.limits import FASTLANE_CALL_SECONDS, FASTLANE_CONNECT_SECONDS
from windlass.supervise import supervisor
from windlass.telemetry.outage import NO_ANSWER, REDIS, reason_text

if TYPE_CHECKING:
    from windlass.fastlane.connect import Client

log = structlog.get_logger()

Handler = Callable[[bytes], None]

BUFFER_MAX: Final = 1_000
# After a failure calls are not tried for this long: a dead Redis costs one deadline, not thousands.
BREAK_SECONDS: Final = 1.0
# After "you may not" it is not tried for so long: somebody has to change the rights first.
DENIED_SECONDS: Final = 30.0
_DENIED_IN_SCRIPT: Final = "ACL failure in script"
CANCEL_AGAIN_SECONDS: Final = 0.5
SUBSCRIBE_PING_SECONDS: Final = 5.0
_FORGET: Final = ""  # stands in the outbox for "unlink this key"


@cache
def lua(name: str) -> str:
    """The text of a script, without what it says about itself."""
    text = resources.files("windlass.fastlane").joinpath(f"lua/{name}.lua").read_text()
    return "\n".join(line for line in text.splitlines() if not line.startswith("--"))


class LaneDown(Unavailable):
    """Redis did not answer in time; the caller has another way."""


class Denied(ConnectionError):
    """The user of the URL may not do what a node does."""


class FastLane:
    """All that the engine knows of Redis."""

    def __init__(self, url: str | None) -> None:
        self._url = url
        self._where = "" if url is None else where_of(url)
        self._client: Client | None = None  # None: there is no Redis, or its library is on its way
        self._has_client = asyncio.Event()
        # What a call may raise when the other side is the trouble: connect.TROUBLE.
        self._trouble: tuple[type[Exception], ...] = (OSError, TimeoutError)
        self._denial: type[Exception] = PermissionError  # what says so: connect.DENIED
        self._handlers: dict[str, list[Handler]] = {channel: [] for channel in CHANNELS}
        self._outbox: deque[tuple[str, bytes]] = deque(maxlen=BUFFER_MAX)
        self._has_mail = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._broken_until = 0.0
        self._denied: Denied | None = None  # until the lane is opened anew
        self._on_change: list[Callable[[bool], None]] = []
        # A cancellation can get lost inside a library's call; the flag cannot.
        self._is_closing = False
        self.is_up = False
        self.is_shared = False  # nodes of another database use it, too
        self.dropped = 0

    def on_message(self, channel: str, handler: Handler) -> None:
        self._handlers[channel].append(handler)

    def on_change(self, handler: Callable[[bool], None]) -> None:
        """`handler` hears when the lane comes up or goes down."""
        self._on_change.append(handler)

    async def open(self) -> None:
        if self._url is None:
            return
        self._tasks = [
            supervisor().keep("fastlane send", self._send_loop),
            supervisor().keep("fastlane receive", self._receive_loop),
        ]

    async def close(self) -> None:
        self._is_closing = True
        await self._end_tasks()
        if self._client is not None:
            from windlass.fastlane.connect import close_client

            with contextlib.suppress(*self._trouble):
                async with asyncio.timeout(1):
                    await close_client(self._client)

    async def _end_tasks(self) -> None:
        """A cancellation may get lost in a library to which a message comes in the same moment: the
        task goes on then, and is told again.
        """
        left = set(self._tasks)
        while left:
            for task in left:
                task.cancel()
            _, left = await asyncio.wait(left, timeout=CANCEL_AGAIN_SECONDS)

    async def _make_client(self) -> None:
        if self._client is not None:
            return
        await asyncio.to_thread(import_module, "windlass.fastlane.connect")
        from windlass.fastlane.connect import DENIED, TROUBLE, client_of

        assert self._url is not None
        self._client = client_of(self._url, seconds=FASTLANE_CONNECT_SECONDS)
        self._trouble, self._denial = TROUBLE, DENIED
        self._has_client.set()

    def publish(self, channel: str, message: bytes) -> None:
        """Send when possible; forget when not. Never waits."""
        if self._url is None or monotonic() < self._broken_until:
            return
        self._put(channel, message)

    async def ask(
        self, script: str, key: str | Sequence[str], *args: int | float | str | bytes
    ) -> Any:
        """What a script of lua/ answers about one key, or several of one slot. Raises LaneDown."""
        if self._client is None or not self.is_up or monotonic() < self._broken_until:
            raise LaneDown("the fast lane is down")
        try:
            async with asyncio.timeout(FASTLANE_CALL_SECONDS):
                keys = [key] if isinstance(key, str) else key
                return await self._client.register_script(lua(script))(keys=keys, args=args)
        except self._trouble as trouble:
            self._break(trouble)
            raise LaneDown(f"Redis did not answer: {trouble}") from trouble

    async def gather(
        self,
        commands: Sequence[tuple[int | str | bytes, ...]],
        *,
        seconds: float | None = None,  # None: as long as any call
    ) -> list[Any]:
        """What each command answers, in one round trip for each server that they concern.

        An answer may be the error of that command alone. Raises LaneDown.
        """
        if self._client is None or not self.is_up or monotonic() < self._broken_until:
            raise LaneDown("the fast lane is down")
        try:
            async with (
                asyncio.timeout(FASTLANE_CALL_SECONDS if seconds is None else seconds),
                self._client.pipeline(transaction=False) as pipeline,
            ):
                for command in commands:
                    pipeline.execute_command(*command)
                answers = await pipeline.execute(raise_on_error=False)
        except self._trouble as trouble:
            self._break(trouble)
            raise LaneDown(f"Redis did not answer: {trouble}") from trouble
        for answer in answers:
            if isinstance(answer, Exception) and self._is_denial(answer):
                self._break(answer)
                raise LaneDown(f"Redis refused: {answer}") from answer
        return answers

    def forget(self, key: str) -> None:
        """Drop a key when possible. Never waits."""
        if self._client is not None and self.is_up and monotonic() >= self._broken_until:
            self._put(_FORGET, key.encode())

    def _put(self, channel: str, message: bytes) -> None:
        """Into the outbox; a full one pushes the oldest out."""
        if len(self._outbox) == BUFFER_MAX:
            self.dropped += 1
        self._outbox.append((channel, message))
        self._has_mail.set()

    async def ping_seconds(self) -> float | None:
        """How long a round trip takes now; None when Redis does not answer."""
        if self._client is None:
            return None
        start = monotonic()
        try:
            async with asyncio.timeout(FASTLANE_CONNECT_SECONDS):
                await self._client.ping()
        except self._trouble:
            return None
        return monotonic() - start

    async def _send_loop(self) -> None:
        await self._has_client.wait()
        while not self._is_closing:
            await self._has_mail.wait()
            self._has_mail.clear()
            mail = list(self._outbox)
            self._outbox.clear()
            try:
                await self._send(mail)
            except self._trouble as trouble:
                self._break(trouble)
                log.debug("fastlane_send_failed", error=str(trouble))

    def _break(self, trouble: Exception) -> None:
        """Rest a moment; and where it is the rights that lack, take the lane down: to try again and
        again would only fill the logs, ours and the server's.
        """
        self._broken_until = monotonic() + BREAK_SECONDS
        if self._is_denial(trouble):
            self._denied = Denied(f"its user lacks a right that a node needs: {trouble}")
            self._set_up(False, self._denied)

    async def _send(self, mail: list[tuple[str, bytes]]) -> None:
        assert self._client is not None
        async with self._client.pipeline(transaction=False) as pipeline:
            for channel, message in mail:
                # By the commands' names: on a Cluster the methods refuse to be gathered.
                if channel == _FORGET:
                    pipeline.execute_command("UNLINK", message)
                else:
                    pipeline.execute_command("PUBLISH", channel, message)
            # A cancelled command could leave its reply on the connection for the next caller;
            # redis-py closes the connection in that case, which is what we want.
            async with asyncio.timeout(FASTLANE_CALL_SECONDS * 10):
                await pipeline.execute()

    def _is_denial(self, trouble: Exception) -> bool:
        return isinstance(trouble, self._denial) or _DENIED_IN_SCRIPT in str(trouble)

    async def _receive_loop(self) -> None:
        await self._make_client()
        while not self._is_closing:
            try:
                await self._receive()
            except self._trouble as trouble:
                if self._is_denial(trouble):
                    self._break(trouble)
                self._set_up(False, trouble)
                log.debug("fastlane_receive_failed", error=str(trouble))
            except Exception as trouble:  # it is begun again; until then nothing is heard
                self._set_up(False, trouble)
                raise
            await asyncio.sleep(BREAK_SECONDS if self._denied is None else DENIED_SECONDS)

    async def _receive(self) -> None:
        from windlass.fastlane.connect import look_around

        assert self._client is not None
        self._denied = None
        await look_around(self._client)
        async with self._client.pubsub() as pubsub:
            await pubsub.subscribe(*CHANNELS)
            self._set_up(True)
            is_asked = False
            while True:
                message = await pubsub.get_message(timeout=SUBSCRIBE_PING_SECONDS)
                if self._denied is not None:
                    raise self._denied
                if message is None:
                    # Silence is either peace or a half-open connection: ask, and be answered.
                    if is_asked:
                        raise TimeoutError("no answer to a ping")
                    is_asked = True
                    async with asyncio.timeout(FASTLANE_CONNECT_SECONDS):
                        await pubsub.ping()
                    continue
                is_asked = False
                if message["type"] == "message":
                    self._deliver(message["channel"].decode(), message["data"])

    def _deliver(self, channel: str, data: bytes) -> None:
        for handler in self._handlers.get(channel, ()):
            try:
                handler(data)
            except Exception:  # a malformed message from outside must not end the loop
                log.warning("fastlane_message_dropped", channel=channel)

    def set_shared(self, is_shared: bool) -> None:
        if is_shared and not self.is_shared:
            log.warning("redis_is_shared", fix="give each database a Redis of its own, or a ?db=")
        self.is_shared = is_shared

    def _reason(self, trouble: Exception) -> str:
        reason = reason_text(trouble)
        if (self._url or "").startswith("rediss") and reason == NO_ANSWER:
            # A server without TLS waits for the rest of what it does not understand.
            return f"{reason}; does it speak TLS, as rediss:// asks for?"
        return reason

    def _set_up(self, is_up: bool, trouble: Exception | None = None) -> None:
        if is_up:
            REDIS.answered(self._where)
        elif trouble is not None and not self._is_closing:
            REDIS.failed(self._where, self._reason(trouble), is_certain=True)
        if is_up != self.is_up:
            self.is_up = is_up
            log.debug("fastlane_up" if is_up else "fastlane_down")
            for handler in self._on_change:
                handler(is_up)
