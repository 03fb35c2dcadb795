"""Evaluate heavy expressions and schemas out of process, so that they do not block the event loop.

A thread would not do: it and the node's loop share one interpreter, and each caller who starts
executions of a heavy workflow takes half of it from everybody else (ADR 0031 has the figures).

    loop -> queue -> one thread -> socket -> the process (evaluate.process), which stands back

Owns: the process. It is begun when it is needed and ended when nobody asked for a while.
Promises: every question has its answer. When the process dies, hangs or cannot be begun, the thread
answers that question itself, as slowly as that is for everybody, and another one is begun later.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import socket
import subprocess
import sys
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Lock, Thread

import structlog

from windlass.clock import monotonic
from windlass.engine.evaluate.environment import plain_environment
from windlass.engine.evaluate.process import LENGTH
from windlass.limits import EVALUATION_SECONDS, EVALUATOR_IDLE_SECONDS, EVALUATOR_REST_SECONDS
from windlass.model.expression.evaluation import answer

log = structlog.get_logger()


class Broken(Exception):
    """The process is not there, or does not answer."""


class Evaluator:
    def __init__(self) -> None:
        self._questions: SimpleQueue[tuple[bytes, Future[bytes]]] = SimpleQueue()
        self._starting = Lock()
        self._thread: Thread | None = None  # None: nobody has asked yet
        self._process: _Process | None = None  # the thread's own. None: it is not needed
        self._rests_until = 0.0  # no other is begun before
        self.is_asking = False  # somebody's question is being answered
        self.answered_here = 0  # questions that the process did not answer

    @property
    def pid(self) -> int | None:
        process = self._process
        return None if process is None else process.pid

    async def ask(self, question: bytes) -> bytes:
        """What model.expression.evaluation.answer says to it."""
        future: Future[bytes] = Future()
        self._questions.put((question, future))
        with self._starting:
            if self._thread is None:
                self._thread = Thread(target=self._run, name="windlass-evaluator", daemon=True)
                self._thread.start()
                atexit.register(self._end)
        return await asyncio.wrap_future(future)

    def _run(self) -> None:
        while True:
            try:
                question, future = self._questions.get(timeout=EVALUATOR_IDLE_SECONDS)
            except Empty:
                self._end()
                question, future = self._questions.get()
            if not future.set_running_or_notify_cancel():
                continue  # nobody waits for it any more
            self.is_asking = True
            try:
                future.set_result(self._answered(question))
            except BaseException as trouble:  # whoever asked must hear of it
                future.set_exception(trouble)
            self.is_asking = False

    def _answered(self, question: bytes) -> bytes:
        if self._process is not None or monotonic() >= self._rests_until:
            try:
                self._process = self._process or _Process()
                return self._process.ask(question)
            except (Broken, OSError) as trouble:
                self._end()
                self._rests_until = monotonic() + EVALUATOR_REST_SECONDS
                log.warning("evaluator_failed", reason=str(trouble) or type(trouble).__name__)
        self.answered_here += 1
        return answer(question)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end()


class _Process:
    """One of them. It leaves by itself when this end of the socket is closed."""

    def __init__(self) -> None:
        ours, its = socket.socketpair()
        with its:
            try:
                self._popen = subprocess.Popen(
                    [sys.executable, "-m", "windlass.engine.evaluate.process"],
                    stdin=its.fileno(),
                    stdout=subprocess.DEVNULL,  # what anything says goes to the node's log
                    env=plain_environment(),
                    start_new_session=True,  # a Ctrl-C at the node's terminal is the node's
                )
            except OSError:
                ours.close()
                raise
        self._socket = ours
        self.pid = self._popen.pid

    def ask(self, question: bytes) -> bytes:
        """Raises Broken, and OSError, of which TimeoutError is one."""
        until = monotonic() + EVALUATION_SECONDS
        self._socket.settimeout(EVALUATION_SECONDS)
        self._socket.sendall(LENGTH.pack(len(question)) + question)
        (length,) = LENGTH.unpack(self._take(LENGTH.size, until))
        return bytes(self._take(length, until))

    def _take(self, length: int, until: float) -> bytearray:
        taken = bytearray(length)
        view, count = memoryview(taken), 0
        while count < length:
            self._socket.settimeout(max(0.001, until - monotonic()))
            got = self._socket.recv_into(view[count:])
            if not got:
                raise Broken("it ended in the middle of an answer")
            count += got
        return taken

    def end(self) -> None:
        self._socket.close()
        with contextlib.suppress(OSError):
            self._popen.kill()
        self._popen.wait()
