"""Schedules beside the code they run; the node puts them in place when it starts.

make up ARGS='--app examples.nightly:app'
.venv/bin/python -m examples.nightly
"""

from __future__ import annotations

import windlass

app = windlass.App("nightly")


@app.cron("0 8 * * 1-5", timezone="Europe/Berlin", overlap="skip")
@app.task
async def digest(recipients: int = 3) -> str:
    return f"sent {recipients} digests"


@app.every("1h", jitter="5m")
@app.task(name="clean_up")
def clean() -> None:
    """Remove what nobody needs."""


def main() -> None:
    with windlass.Client() as client:
        for schedule in client.schedules.list(source="app"):
            print("schedule:", schedule["name"], "-", schedule["words"])
        nexts = client.schedules.next("digest", n=3)
        for instant in nexts["next"]:
            print("next:    ", instant["local"])
        firing = client.schedules.trigger("digest")
        print("now:     ", client.jobs.wait(firing["job_id"], 30)["result"])


if __name__ == "__main__":
    main()
