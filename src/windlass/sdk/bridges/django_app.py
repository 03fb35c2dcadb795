"""The App behind Django's tasks: one Windlass task that performs any of them by its module path.

Both sides use it: the backend enqueues with it, and a node performs with it (see django_node).
Nothing of Django is imported before it is needed: settings may not be there yet.
"""

from __future__ import annotations

from typing import Any, Final

from windlass.sdk.tasks.app import App

NAME: Final = "django.task"


def app_of(url: str | None = None, token: str | None = None) -> App:
    made = App("django", url=url, token=token)
    made.task(name=NAME)(run_task)
    return made


def run_task(path: str, backend: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Performs the `@task` at `path`, as the backend of that alias would."""
    # Here: it needs Django set up, which the side that only enqueues does later.
    from windlass.sdk.bridges.django_run import perform

    return perform(path, backend, args, kwargs)


# What a node connects; a backend without an address of its own uses it too, so that a task which
# runs on a node enqueues the next one without any configuration.
app = app_of()
