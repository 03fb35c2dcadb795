"""Fan out over many, fan in to one: a thousand jobs in one request, and a workflow of them.

make up ARGS='--app examples.fan_out:app'
.venv/bin/python -m examples.fan_out
"""

from __future__ import annotations

from typing import Any

import windlass

app = windlass.App("fan_out")


@app.task
def count_words(page: str) -> int:
    return len(page.split())


@app.task
async def add_up(counts: list[int]) -> int:
    return sum(counts)


@app.workflow("count_book")
def count_book(pages: list[str]) -> Any:
    counts: Any = count_words.map(pages, max_parallel=50)
    return add_up.step(counts.out)


def main() -> None:
    pages = [f"page {number} has " + "words " * number for number in range(1, 1001)]
    handles = count_words.map(pages)  # one round trip
    print("jobs:     ", len(handles))
    ended = sum(1 for _ in windlass.as_completed(handles[:10], timeout=60))
    print("first ten:", ended, "have ended")
    print("added up: ", sum(handles.results(timeout=60)))
    print("workflow: ", count_book.start(pages[:100]).result(timeout=60))


if __name__ == "__main__":
    main()
