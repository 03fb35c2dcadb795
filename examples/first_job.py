"""A first job: a function, enqueued here and run by a node.

make up ARGS='--app examples.first_job:app'
.venv/bin/python -m examples.first_job        # WINDLASS_TOKEN is set, as the README says
"""

from __future__ import annotations

import windlass

app = windlass.App("first")


@app.task(retry=windlass.Retry(5), timeout="30s")
def greet(name: str, times: int = 1) -> str:
    return ", ".join(["hello"] * times) + f" {name}"


def main() -> None:
    print("called:  ", greet("you"))  # a plain function, as ever
    handle = greet.enqueue("world", times=2)
    print("enqueued:", handle.id)
    print("result:  ", handle.result(timeout=30))
    later = greet.using(run_after="1h", priority="high", key="greet-ada").enqueue("Ada")
    print("later:   ", later.state(), "-", later.why()["summary"])
    later.cancel()
    print("and now: ", later.state())


if __name__ == "__main__":
    main()
