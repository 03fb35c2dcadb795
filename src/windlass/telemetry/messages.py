"""What each log event means, as a sentence for people: the one table of event names.

Code says `log.warning("redis_away", where=…, reason=…)`; the name stays for machines, and a person
reads the sentence below with the fields filled in. Every event at info and above stands here (a
test reads all calls), in words that need no knowledge of how a node is built.

    {field}           as it is
    {field:duration}  seconds, as "0.4 s", "5 min" or "2 h"
    {field:clock}     an instant, as the local time of day
    {field:count}     a number, as "4,312"
    {field:jobs}      the same of jobs, as "1 job" or "4,312 jobs"
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from string import Formatter
from typing import Any, Final

from windlass.clock import wall

MESSAGES: Final[Mapping[str, str]] = {
    # -- the way in --------------------------------------------------------------------------------
    "auth_off": (
        "authentication is off: whoever reaches this address may do everything, without a key; "
        "WINDLASS_AUTH=on puts the lock back"
    ),
    "accept_waits": ("new connections wait, the next look is in {rest_seconds:duration}: {reason}"),
    "certificate_taken": "the API has a new certificate, from {path}, until {expires_at}",
    "certificate_not_taken": (
        "the new certificate of the API cannot be used, and the one before it stays: {reason}"
    ),
    "certificate_expires": (
        "the certificate of the API, from {path}, expires at {expires_at}; put a new one there"
    ),
    # -- jobs --------------------------------------------------------------------------------------
    "job_retried": (
        "{name} failed (attempt {attempt} of {attempts_max}): {error}; "
        "next try in {retry_seconds:duration}, at {retry_at:clock}"
    ),
    "job_crashed": (
        "{name} ended its process (crash {crash} of {crashes_max}): {error}; "
        "next try in {retry_seconds:duration}, at {retry_at:clock}"
    ),
    "job_dead": (
        "{name} is dead (attempt {attempt} of {attempts_max}): {error}; "
        "to run it again: windlass dead replay {job}"
    ),
    "job_quarantined": (
        "{name} is dead, it ended its process {crash} times: {error}; "
        "to run it again: windlass dead replay {job}"
    ),
    "job_cancelled": "{name} was cancelled",
    "job_expired": "a job is over because its deadline passed before it could start",
    "jobs_taken_back": "{count:jobs} taken back from {node}, which stopped answering",
    "task_unknown": (
        "this node has no task {task}, which a job asks for; the job is tried again for a while, "
        "here and on other nodes. Known here: {known}"
    ),
    "strategy_failed": "a job of kind {kind} raised what its kind should have handled",
    "begin_failed": "a job of kind {kind} could not be begun at once and is tried again",
    "own_end_failed": ("a task's own transaction could not be ended: {reason}"),
    "own_transaction_left": "a stopped task's transaction is left for PostgreSQL to undo: {reason}",
    "finish_refused": (
        "{count:count} jobs ended here too late: they were taken from this node meanwhile, and "
        "what they did here counts for nothing"
    ),
    "finish_waits": "{count:count} ended jobs wait to be recorded: {reason}",
    "finish_set_aside": (
        "{count:count} ended jobs could not be recorded together and are recorded one by one: "
        "{reason}"
    ),
    "finish_not_told": (
        "{count:count} ended jobs are recorded, but who waits for them finds out later: {reason}"
    ),
    "finish_aside_failed": "{count:count} ended jobs could not be recorded yet: {reason}",
    "finish_held": (
        "the end of a job cannot be recorded while another transaction holds it; it is tried "
        "again: {reason}"
    ),
    "finish_tripped": "the end of a job could not be recorded; it is tried again: {reason}",
    "finish_buried": "a job is dead because its end could not be recorded: {reason}",
    "finish_not_buried": "the end of a job can be recorded in no way just now: {reason}",
    "claims_reconciled": (
        "{count:count} jobs that this node had taken and lost sight of go back to their queue"
    ),
    "hand_back_failed": (
        "{count:count} jobs could not be given back to their queue; it is done again later"
    ),
    "notes_wait": "{lines:count} lines of tasks' logs wait to be written: {reason}",
    "notes_refused": "{lines:count} lines of tasks' logs were refused and are lost: {reason}",
    "notes_left_out": (
        "{lines:count} lines of tasks' logs were left out: tasks say more than can be written"
    ),
    "checkpoints_wait": "{count:count} steps of durable functions wait to be kept: {reason}",
    "cancel_not_told": (
        "{node} could not be told to stop {jobs:jobs} that somebody cancelled; it finds out by "
        "itself: {reason}"
    ),
    "cancel_not_acknowledged": (
        "{node} did not confirm that it stops {jobs:jobs} that somebody cancelled: {reason}"
    ),
    # -- webhooks and their hosts ------------------------------------------------------------------
    "target_changed": "{host} {now}",
    "webhooks_unsigned": "webhooks are not signed: {reason}",
    "webhooks_refused": "no webhook can be sent: {reason}",
    "loopback_refused": "{note}",
    # -- PostgreSQL, Redis and the embedded servers ------------------------------------------------
    "postgresql_away": (
        "PostgreSQL at {where} is not available ({reason}); nothing new is begun, and all goes on "
        "when it is back"
    ),
    "postgresql_back": "PostgreSQL is back after {seconds:duration}",
    "redis_away": (
        "Redis at {where} does not answer ({reason}); going on without it, new work starts up to "
        "{poll_seconds:duration} later"
    ),
    "redis_back": "Redis is back after {seconds:duration}",
    "redis_is_shared": "nodes of another database use the same Redis: {fix}",
    "fastlane_message_dropped": "a message from Redis could not be read and was dropped",
    "replica_not_used": (
        "the read replica does not answer; lists come from the primary for a while: {reason}"
    ),
    "key_not_kept": (
        "the admin key could not be kept in {folder}; commands here do not find it: {reason}"
    ),
    "queue_unknown": (
        "there is no queue {queue} yet, which this node is to serve; did you mean {near}?"
    ),
    "server_ended": "an embedded server ended by itself and is started again: {reason}",
    "server_not_restarted": "an embedded server could not be started again: {reason}",
    "cache_value_unreadable": (
        "a cached value in Redis could not be read and is read from PostgreSQL: {error}"
    ),
    # -- nodes and the leader ----------------------------------------------------------------------
    "node_lost": "node {name} stopped answering; other nodes take over what it ran",
    "lease_not_renewed": "this node could not renew its lease: {reason}",
    "lease_lost": "the lease of this node is lost: {reason}",
    "node_lost_its_lease": (
        "this node was cut off for too long: it gives up {abandoned:jobs}, to go on elsewhere, and "
        "registers anew"
    ),
    "lease_thread_failed": "this node can no longer renew its lease",
    "node_waits_for_database": "this node registers anew when PostgreSQL is back: {reason}",
    "node_not_registered": "this node could not register anew; it tries again",
    "coordinator_not_left": "what this node left in Redis is removed by the next clean-up",
    "node_state_not_said": "PostgreSQL could not be told that this node is {state}: {reason}",
    "node_left": "{node} has left",
    "node_ended": "{node} ended ({how}) and is started again in {rest_seconds:duration}",
    "leader_elected": "this node leads now: schedules fire and clean-ups run here",
    "leadership_lost": "this node leads no longer: {reason}",
    "leadership_waits": "this node cannot stand for leader now: {reason}",
    "leader_evicted": "the leader stopped answering and was replaced",
    "leader_row_held": "somebody's open transaction keeps the leader from renewing its term",
    "draining": (
        "stopping: taking no new jobs, and giving those that run {seconds:duration} to end"
    ),
    "drain_timed_out": (
        "the time to stop is over: {handed_back:jobs} still running, given back to run elsewhere"
    ),
    "drain_unfinished": "{unsettled:count} ended jobs could not be recorded before the end",
    "stopping_at_once": "stopping at once: what runs is given up and goes on elsewhere",
    "operation": "{kind} of this node ({id}) is {phase}",
    "operation_rolled_back": "{kind} of this node ({id}) was taken back: {reason}",
    "operation_waits": "a change of this node waits for PostgreSQL: {reason}",
    "operation_failed": "a change of this node failed and is taken back",
    "signal_unreadable": "a message to this node could not be read and was answered with an error",
    "signal_failed": "a message to this node ({signal}) could not be carried out",
    # -- the work in the background ----------------------------------------------------------------
    "loop_waits": "a part of this node waits ({loop}): {reason}",
    "loop_failed": "a part of this node failed and goes on after a rest ({loop})",
    "background_failed": "a part of this node failed ({task})",
    "background_ended": (
        "a part of this node failed and is started again in {rest_seconds:duration} ({task})"
    ),
    "recover_put_off": "looking for lost, late and waiting jobs ({what}) is put off: {reason}",
    "tending_put_off": "work in the background is put off ({what}): {reason}",
    "tending_failed": (
        "work in the background failed for one item, which is tried again in "
        "{rest_seconds:duration} ({what})"
    ),
    "bulk_job_failed": (
        "{job} cannot be done by {operation}, which counts it as refused and goes on without it"
    ),
    "turns_put_off": "workflows go on a little later: {reason}",
    "tending_stopped": "workflows could not go on; it is tried again",
    "next_not_begun": "an execution that waited for its turn could not begin; it is tried again",
    "conclusion_failed": "an execution could not be brought to its end; it is tried again",
    "refresh_left_to_the_net": "{count:count} executions are brought up to date later: {reason}",
    "mark_malformed": "an entry in Redis names no execution and is left out",
    "notify_children_put_off": "jobs that wait for others hear later that those ended: {reason}",
    "notify_children_stopped": "jobs that wait for others could not be told; it is tried again",
    "locks_mended": "{count:count} entries of locks were left behind and are repaired",
    "evaluator_failed": (
        "the process for expressions failed; they are evaluated in the node for a while: {reason}"
    ),
    "schedules_held": "{count:count} schedules fire later; somebody holds what they need: {reason}",
    "schedule_put_off": "{schedule} could not fire and is tried again: {reason}",
    "partitions_low": (
        "the history has room for {days_ahead} more days; {wanted} are wanted "
        "(docs/operating/postgres.md)"
    ),
    "partitions_not_made": "room for coming days could not be made, somebody reads {tables}",
    "days_not_dropped": "old days could not be removed: {partitions}",
    "day_not_dropped": "the old day {partition} could not be removed yet: {reason}",
    "retain_waits": "removing what is old ({part}) is put off: {reason}",
    # -- App, plugins and API ----------------------------------------------------------------------
    "app_not_published": (
        "the workflows and schedules of App {app} could not be published; its tasks run: {reason}"
    ),
    "plugin_not_loaded": "jobs of kind {kind} cannot run here, its plugin did not load: {error}",
    "plugins_not_read": "plugins could not be looked for; there are none",
    "plugin_check_failed": "the plugin of kind {kind} failed while it checked an input",
    "plugin_resize_failed": "the plugin of kind {kind} failed to take another number of workers",
    "plugin_close_failed": "the plugin of kind {kind} failed while it was closed",
    "variable_ignored": "{variable} is no setting and is ignored; expected: {expected}",
    "answer_not_kept": (
        "the answer to a request could not be kept for its Idempotency-Key; a repeat is told that "
        "it is not known: {reason}"
    ),
    "request_failed": "a request failed for a reason nobody foresaw; it was answered with 500",
    "quota_not_counted": "what waits of {subject} could not be counted; it is with the next job: "
    "{error}",
    "request_refused": "a request could not be answered now: {error}",
    "sign_on_failed": (
        "somebody could not log in through the identity provider {issuer}: {reason}"
    ),
    "sign_on_last_admin": (
        "{user} is the last admin, and the identity provider says {role}: nothing was changed, and "
        "{user} was kept out; make somebody else an admin"
    ),
    "api_failed": "the API ended with an error: {reason}",
    "api_ended": "the API ended by itself; so does this node",
    # -- the log itself ----------------------------------------------------------------------------
    "lines_left_out": "… and {count:count} more like this in the last {seconds:duration}: {of}",
    "uncaught": "an error that nobody caught",
    "unraisable": "an error where none can be raised, in {of}",
}


class _Filled(Formatter):
    """Never raises: a line in the log is not worth an exception."""

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        return kwargs.get(key, "?")

    def format_field(self, value: Any, format_spec: str) -> str:
        try:
            match format_spec:
                case "duration":
                    return duration_text(float(value))
                case "clock":
                    return clock_text(value)
                case "count":
                    return f"{int(value):,}"
                case "jobs":
                    return f"{int(value):,} job" + ("" if int(value) == 1 else "s")
                case _:
                    return str(value)
        except (TypeError, ValueError):
            return str(value)


_FILLED: Final = _Filled()
FIELDS: Final[Mapping[str, frozenset[str]]] = {
    event: frozenset(name for _, name, _, _ in _FILLED.parse(sentence) if name)
    for event, sentence in MESSAGES.items()
}


def message_of(event: str, fields: Mapping[str, Any]) -> str | None:
    """The sentence of an event; None: it has none."""
    sentence = MESSAGES.get(event)
    return None if sentence is None else _FILLED.vformat(sentence, (), fields)


def duration_text(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s" if seconds % 1 >= 0.05 else f"{seconds:.0f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def clock_text(at: Any) -> str:
    """Of an instant as text or not; with its day if that is not today."""
    instant = (at if isinstance(at, datetime) else datetime.fromisoformat(at)).astimezone()
    is_today = instant.date() == wall().astimezone().date()
    return f"{instant:%H:%M:%S}" if is_today else f"{instant:%b %d %H:%M:%S}"
