"""A person decides: the execution waits, without holding anything, until somebody answers.

make up ARGS='--app examples.human_approval:app'
.venv/bin/python -m examples.human_approval
"""

from __future__ import annotations

import time
from typing import Any

import windlass
from windlass import flow
from windlass.sdk.objects.executions import Approval

app = windlass.App("human_approval")

FORM = {
    "type": "object",
    "properties": {"cost_centre": {"type": "string"}},
    "required": ["cost_centre"],
}


@app.task
def pay(amount: float, cost_centre: str) -> str:
    return f"paid {amount:g} from {cost_centre}"


@app.workflow("expense")
def expense(amount: float, what: str) -> Any:
    asked = windlass.approval(f"{amount} for {what}?", form=FORM, timeout="48h").named("ask")
    paid = pay.step(amount, asked.out["answer"]["cost_centre"])
    refused = flow.transform(f"no {what}", after=asked.failed).named("refused")
    return {"paid": paid, "refused": refused}


def main() -> None:
    with windlass.Client() as client:
        for what, is_fine in (("a chair", True), ("a yacht", False)):
            execution = expense.start(250, what)
            [asked] = until_asked(client, execution.id)
            print("asked:   ", asked.title)
            if is_fine:
                client.approvals.approve(asked.id, answer={"cost_centre": "AB123"})
            else:
                client.approvals.reject(asked.id, comment="not this year")
            print("outcome: ", execution.result(timeout=30))


def until_asked(client: windlass.Client, execution_id: str) -> list[Approval]:
    """A person has a list of them; this program waits for the one it started."""
    while True:
        asked = list(client.approvals.list(execution_id=execution_id, state="open"))
        if asked:
            return asked
        time.sleep(0.1)


if __name__ == "__main__":
    main()
