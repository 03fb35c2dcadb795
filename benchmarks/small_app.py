"""An App with one task and nothing to publish (`--app benchmarks.small_app:app`)."""

from __future__ import annotations

import windlass
from benchmarks.child import end_with_parent

app = windlass.App("small")

# The node that is measured is the command itself, which knows nothing of whoever measures it.
end_with_parent()


@app.task
def nothing() -> None:
    pass
