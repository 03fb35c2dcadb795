"""/v1/jobs, /v1/tasks, /v1/dead-letters: submit, read and wait for jobs, cancel, retry, replay.

Owns: what a job, an attempt, an event and a delivery look like to a caller.
Promises: 201 means committed, and so not lost (G1); the same Idempotency-Key makes no second job;
a batch is taken whole or not at all. A cancel that was answered holds (G7).
Never: judges a submission by itself (model.job.submission does), or keeps the event loop busy with
a large body: that is parsed by processes beside the node.

    submit.py          POST /v1/jobs and /v1/jobs/batch
    batch_reader.py    large bodies: the node's side of the reader processes
    batch_process.py   and the process itself
    jobs.py            list, get (?wait= long polling, ?at=), cancel, retry, promote, delete, hint
    bulk.py            one verb on all jobs of a filter: preview, ask; its operations listed
    complete.py        async callback: a receiver says how its job ended
    history.py         attempts, events, logs, why; `event_view` for all who show events
    webhook_status.py  deliveries of a webhook
    tasks.py           Python functions by name: what each takes, who has it
    dead_letters.py    dead letter queue: list, group by cause, replay, discard
    view.py            a job as it is shown
    schema.py          JSON Schemas of all of these
"""
