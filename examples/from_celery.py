"""A Celery project on its way to Windlass: the queue `mail` has moved, `reports` has not yet.

    make up ARGS='--app examples.from_celery:moved'
    .venv/bin/python -m examples.from_celery

The tasks and the calls stay as they were; the two lines about the bridge are new.
"""

from __future__ import annotations

from typing import Any

from celery import Celery, chord, group

from windlass.sdk.bridges.celery import bridge

celery = Celery("shop", broker="memory://")
celery.conf.task_routes = {"shop.report": {"queue": "reports"}, "shop.*": {"queue": "mail"}}
moved = bridge(celery, queues=["mail"])


@celery.task(name="shop.address")
def address(who: str) -> str:
    return f"{who}@example.org"


@celery.task(name="shop.send", bind=True, max_retries=3)
def send(self: Any, to: str) -> str:
    if self.request.retries == 0:
        raise self.retry(countdown=0.1, exc=ConnectionError("the mail server is busy"))
    return f"sent to {to}"


@celery.task(name="shop.count")
def count(addresses: list[str]) -> int:
    return len(addresses)


@celery.task(name="shop.report")
def report() -> None:
    """Its queue is still with Celery, and its workers."""


def main() -> None:
    print("delay: ", address.delay("ada").get(timeout=30))
    print("chain: ", (address.s("ada") | send.s()).apply_async().get(timeout=30))
    everybody = group(address.s(who) for who in ("ada", "grace", "edith"))
    print("chord: ", chord(everybody)(count.s()).get(timeout=30))
    print("stayed:", type(report.delay()).__module__.partition(".")[0])


if __name__ == "__main__":
    main()
