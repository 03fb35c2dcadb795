"""An App with schedules, a workflow and a durable function, for tests of testing."""

from __future__ import annotations

from datetime import datetime

import windlass

app = windlass.App("club")
greeted: list[str] = []  # by plain calls, as steps of a durable function are


@app.cron("0 9 * * 1", timezone="Europe/Berlin")
@app.task
def digest() -> None: ...


@app.cron("0 6 1 * *", kwargs={"month": windlass.INSTANT})
@app.task
def close_books(month: datetime) -> str:
    return f"{month:%B}"


@app.task
def collect(member: str) -> int:
    return len(member)


@app.workflow("renew")
def renew(member: str) -> object:
    paid = collect.step(member)
    agreed = windlass.approval("Renew?", timeout="48h", after=paid)
    return collect.step("yes", after=agreed)


def greet(word: str) -> str:
    greeted.append(word)
    return word


@app.durable
async def trial(member: str) -> str:
    await windlass.step(greet, f"hello {member}")
    await windlass.sleep("14d")
    await windlass.step(greet, f"your trial ends, {member}")
    try:
        await windlass.wait_for("paid", timeout="3d")
    except TimeoutError:
        return "gone"
    return "member"


@app.durable
async def season(member: str) -> list[int]:
    """Collects twice; a collection that fails is made again."""
    again = windlass.Retry(max_attempts=3, initial="1ms", jitter=False)
    return [
        await windlass.step(collect, member, retry=again),
        await windlass.step(collect, f"{member} again", retry=again),
    ]
