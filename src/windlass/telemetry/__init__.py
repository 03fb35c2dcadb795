"""Telemetry of a node: Prometheus metrics and structured logs.

Owns: the names of the metrics (fixed by the contract), their registry, and how a log line looks.
Promises: what the hot path observes takes no lock; as JSON every line is one object, whoever says
it; a person reads sentences, and a flood of lines alike as a number; labels have a bounded number
of values.
Never: asks the database (figures that need it are read by api.cluster.metrics), or decides
anything.

Doors:
  metrics   `Metrics`: one method for each thing that happens; adding a metric is adding one here
  logs      `configure_logs`: console or JSON, libraries and uncaught errors included; `hear_app`
  messages  the table of log events: a sentence for people for each name
  console   how a line looks on a console
  job_lines the lines of jobs that failed, are tried again, died or were cancelled
  task_logging  what tasks say through `logging` and structlog, into their jobs' logs
  flood     a rate limit on lines alike
  outage    a server that is away, said once
  buckets   histograms that are cheap to observe
"""
