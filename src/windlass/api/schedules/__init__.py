"""/v1/schedules: recurring work (cron, interval, fixed instants): CRUD, pause, trigger, backfill.

Owns: what a schedule may say to us and how it and its firings are shown.
Promises: a change of a schedule loses and doubles no instant (G6); a PUT or PATCH can be made to
hold only for the edition that was read (optimistic lock). Every mistake of a body is told at once.
Never: computes an instant (model.schedule does) or fires one (engine.schedules does).

    schedules.py   list, get, POST, PUT, PATCH, DELETE
    verbs.py       pause and resume, one or many
    on_demand.py   fire because somebody asks: trigger now, backfill the past
    times.py       next instants, preview of a rule, the ledger of firings
    body.py        a schedule as it is sent; work.py: the job or workflow in it
    filter.py      which schedules are meant, for verbs on many
    ref.py         by name or by id, and the paths
    view.py        what is shown
    schema.py      JSON Schemas of what comes in and goes out
"""
