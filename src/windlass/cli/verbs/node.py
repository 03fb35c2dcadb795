"""`windlass node`: a node on given servers; `ls` and `get` show the nodes there are."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

app = App(name="node", help="Run a node on your own PostgreSQL and Redis; ls and get show nodes.")
app.command("windlass.cli.verbs.node_read:ls", name="ls", help="List the nodes.")
app.command("windlass.cli.verbs.node_read:get", name="get", help="Show one node.")
for _verb, _does in (
    ("resize", "Change how many slots a node, or every node, has."),
    ("pause", "Let nodes start nothing more; what runs goes on."),
    ("resume", "Let paused nodes go on."),
    ("drain", "Let nodes finish their work and leave."),
):
    app.command(f"windlass.cli.verbs.node_change:{_verb}", name=_verb, help=_does)
app.command("windlass.cli.verbs.node_read:leader", name="leader", help="Show who leads.")
app.command("windlass.cli.verbs.node_read:signal", name="signal", help="Tell nodes something.")


@app.default
def node(
    *,
    database_url: Annotated[str | None, Parameter(help="postgresql://…")] = None,
    redis_url: Annotated[str | None, Parameter(help="redis://…; without it nodes poll.")] = None,
    roles: Annotated[str | None, Parameter(help="Some of api,worker,leader.")] = None,
    port: Annotated[str | None, Parameter(help="Of the API; 5777 unless said.")] = None,
    host: Annotated[str | None, Parameter(help="To listen on; 127.0.0.1 unless said.")] = None,
    workers: Annotated[str | None, Parameter(help="Slots of the node.")] = None,
    queues: Annotated[str | None, Parameter(help="Serve these alone: mail,reports=3.")] = None,
    queues_except: Annotated[str | None, Parameter(help="Serve all queues but these.")] = None,
    queue_order: Annotated[str | None, Parameter(help="turns, or strict: as given.")] = None,
    app: Annotated[
        list[str] | None, Parameter(help="module:attr that holds your tasks; may be repeated.")
    ] = None,
    reload: Annotated[bool, Parameter(help="Restart when files of the app change.")] = False,
) -> int:
    """Run a node until SIGTERM, which drains it; a second SIGTERM stops it at once."""
    from windlass.cli.node_process import run_node

    flags = {
        "database_url": database_url,
        "redis_url": redis_url,
        "roles": roles,
        "port": port,
        "host": host,
        "workers": workers,
        "queues": queues,
        "queues_except": queues_except,
        "queue_order": queue_order,
        "app": ",".join(app) if app else None,
    }
    given = {name: value for name, value in flags.items() if value is not None}
    return run_node(given, is_reloading=reload)
