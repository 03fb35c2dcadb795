"""`windlass up`: everything in one: embedded PostgreSQL and Valkey, a node, the API."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter, validators

app = App(name="up", help="Start everything here: PostgreSQL, Valkey, a node and the API.")


@app.default
def up(
    *,
    port: Annotated[str | None, Parameter(help="Of the API; 5777 unless said.")] = None,
    host: Annotated[str | None, Parameter(help="To listen on; 127.0.0.1 unless said.")] = None,
    data: Annotated[str | None, Parameter(help="Folder for data; .windlass unless said.")] = None,
    workers: Annotated[str | None, Parameter(help="Slots of the node.")] = None,
    queues: Annotated[str | None, Parameter(help="Serve these alone: mail,reports=3.")] = None,
    queues_except: Annotated[str | None, Parameter(help="Serve all queues but these.")] = None,
    queue_order: Annotated[str | None, Parameter(help="turns, or strict: as given.")] = None,
    nodes: Annotated[
        int, Parameter(help="Node processes on this machine.", validator=validators.Number(gte=1))
    ] = 1,
    app: Annotated[
        list[str] | None, Parameter(help="module:attr that holds your tasks; may be repeated.")
    ] = None,
    reload: Annotated[bool, Parameter(help="Restart when files of the app change.")] = False,
) -> int:
    """Start everything and print `ready: http://…`. Ctrl-C stops everything; the data is kept."""
    from windlass.cli.node_process import run_up

    flags = _given(
        port=port,
        host=host,
        data=data,
        workers=workers,
        queues=queues,
        queues_except=queues_except,
        queue_order=queue_order,
        app=",".join(app) if app else None,
    )
    return run_up(flags, nodes, is_reloading=reload)


def _given(**flags: str | None) -> dict[str, object]:
    return {name: value for name, value in flags.items() if value is not None}
