"""The blocking side of every noun; what each does is said where it is asynchronous."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeVar, Unpack, cast, overload

from windlass.sdk.http.blocking import Blocking, Blocks, Listed, Streamed
from windlass.sdk.nouns.approvals import Approvals
from windlass.sdk.nouns.audit import Audit
from windlass.sdk.nouns.dead_letters import DeadFilter, DeadLetters
from windlass.sdk.nouns.events import Events
from windlass.sdk.nouns.executions import Executions
from windlass.sdk.nouns.jobs import Jobs
from windlass.sdk.nouns.keys import Keys
from windlass.sdk.nouns.locks import Locks
from windlass.sdk.nouns.nodes import Nodes
from windlass.sdk.nouns.operations import Operations
from windlass.sdk.nouns.queues import Queues
from windlass.sdk.nouns.schedules import Schedules
from windlass.sdk.nouns.secrets import Secrets
from windlass.sdk.nouns.sessions import Sessions
from windlass.sdk.nouns.system import System
from windlass.sdk.nouns.targets import Targets
from windlass.sdk.nouns.tasks import Tasks
from windlass.sdk.nouns.users import Users
from windlass.sdk.nouns.workflows import Workflows
from windlass.sdk.objects.jobs import (
    BulkOperation,
    BulkPreview,
    DeadLettersDiscarded,
    DeadLettersReplayed,
)

Done = TypeVar("Done", covariant=True)


class BlockingApprovals(Blocks[Approvals]):
    list = Listed(Approvals.list)
    approve = Blocking(Approvals.approve)
    reject = Blocking(Approvals.reject)


class BlockingAudit(Blocks[Audit]):
    list = Listed(Audit.list)
    export = Streamed(Audit.export)


class BlockingDeadVerb(Protocol[Done]):
    """`replay` and `discard`, as they are asked."""

    @overload
    def __call__(self, ids: Sequence[str] | None = None, **filters: Unpack[DeadFilter]) -> Done: ...

    @overload
    def __call__(
        self, ids: Sequence[str] | None = None, *, rate: float, **filters: Unpack[DeadFilter]
    ) -> BulkOperation: ...

    @overload
    def __call__(
        self,
        ids: Sequence[str] | None = None,
        *,
        dry_run: Literal[True],
        rate: float | None = None,
        **filters: Unpack[DeadFilter],
    ) -> BulkPreview: ...


class BlockingDeadLetters(Blocks[DeadLetters]):
    list = Listed(DeadLetters.list)
    groups = Blocking(DeadLetters.groups)
    # What they answer depends on how they are asked, which `Blocking` cannot tell.
    replay = cast("BlockingDeadVerb[DeadLettersReplayed]", Blocking(DeadLetters.replay))
    discard = cast("BlockingDeadVerb[DeadLettersDiscarded]", Blocking(DeadLetters.discard))


class BlockingEvents(Blocks[Events]):
    list = Listed(Events.list)
    stream = Streamed(Events.stream)


class BlockingExecutions(Blocks[Executions]):
    start = Blocking(Executions.start)
    get = Blocking(Executions.get)
    wait = Blocking(Executions.wait)
    list = Listed(Executions.list)
    jobs = Listed(Executions.jobs)
    events = Listed(Executions.events)
    graph = Blocking(Executions.graph)
    why = Blocking(Executions.why)
    cancel = Blocking(Executions.cancel)
    pause = Blocking(Executions.pause)
    resume = Blocking(Executions.resume)
    rerun = Blocking(Executions.rerun)
    signal = Blocking(Executions.signal)


class BlockingJobs(Blocks[Jobs]):
    submit = Blocking(Jobs.submit)
    submit_many = Blocking(Jobs.submit_many)
    get = Blocking(Jobs.get)
    wait = Blocking(Jobs.wait)
    list = Listed(Jobs.list)
    why = Blocking(Jobs.why)
    attempts = Blocking(Jobs.attempts)
    events = Blocking(Jobs.events)
    logs = Listed(Jobs.logs)
    webhook_status = Blocking(Jobs.webhook_status)
    cancel = Blocking(Jobs.cancel)
    retry = Blocking(Jobs.retry)
    promote = Blocking(Jobs.promote)
    bulk = Blocking(Jobs.bulk)
    bulk_operations = Listed(Jobs.bulk_operations)
    hint = Blocking(Jobs.hint)
    complete = Blocking(Jobs.complete)
    delete = Blocking(Jobs.delete)


class BlockingKeys(Blocks[Keys]):
    add = Blocking(Keys.add)
    get = Blocking(Keys.get)
    list = Listed(Keys.list)
    change = Blocking(Keys.change)
    rotate = Blocking(Keys.rotate)
    revoke = Blocking(Keys.revoke)


class BlockingLocks(Blocks[Locks]):
    acquire = Blocking(Locks.acquire)
    renew = Blocking(Locks.renew)
    release = Blocking(Locks.release)
    resize = Blocking(Locks.resize)
    get = Blocking(Locks.get)
    list = Listed(Locks.list)


class BlockingNodes(Blocks[Nodes]):
    get = Blocking(Nodes.get)
    list = Blocking(Nodes.list)
    resize = Blocking(Nodes.resize)
    pause = Blocking(Nodes.pause)
    resume = Blocking(Nodes.resume)
    drain = Blocking(Nodes.drain)
    leader = Blocking(Nodes.leader)
    shards = Blocking(Nodes.shards)


class BlockingOperations(Blocks[Operations]):
    get = Blocking(Operations.get)
    list = Listed(Operations.list)
    abort = Blocking(Operations.abort)


class BlockingQueues(Blocks[Queues]):
    get = Blocking(Queues.get)
    list = Listed(Queues.list)
    put = Blocking(Queues.put)
    pause = Blocking(Queues.pause)
    resume = Blocking(Queues.resume)


class BlockingSchedules(Blocks[Schedules]):
    put = Blocking(Schedules.put)
    create = Blocking(Schedules.create)
    change = Blocking(Schedules.change)
    get = Blocking(Schedules.get)
    list = Listed(Schedules.list)
    delete = Blocking(Schedules.delete)
    pause = Blocking(Schedules.pause)
    resume = Blocking(Schedules.resume)
    pause_many = Blocking(Schedules.pause_many)
    resume_many = Blocking(Schedules.resume_many)
    trigger = Blocking(Schedules.trigger)
    backfill = Blocking(Schedules.backfill)
    next = Blocking(Schedules.next)
    firings = Listed(Schedules.firings)
    preview = Blocking(Schedules.preview)


class BlockingSecrets(Blocks[Secrets]):
    put = Blocking(Secrets.put)
    bind = Blocking(Secrets.bind)
    get = Blocking(Secrets.get)
    list = Listed(Secrets.list)
    delete = Blocking(Secrets.delete)


class BlockingSessions(Blocks[Sessions]):
    list = Listed(Sessions.list)
    end = Blocking(Sessions.end)
    end_all = Blocking(Sessions.end_all)


class BlockingSystem(Blocks[System]):
    health = Blocking(System.health)
    stats = Blocking(System.stats)
    strategies = Blocking(System.strategies)
    signal = Blocking(System.signal)
    sweep = Blocking(System.sweep)
    caches = Blocking(System.caches)
    invalidate = Blocking(System.invalidate)
    refresh = Blocking(System.refresh)


class BlockingTargets(Blocks[Targets]):
    get = Blocking(Targets.get)
    list = Listed(Targets.list)
    put = Blocking(Targets.put)
    reset = Blocking(Targets.reset)
    enable = Blocking(Targets.enable)
    disable = Blocking(Targets.disable)
    secret = Blocking(Targets.secret)


class BlockingTasks(Blocks[Tasks]):
    get = Blocking(Tasks.get)
    list = Blocking(Tasks.list)


class BlockingUsers(Blocks[Users]):
    add = Blocking(Users.add)
    get = Blocking(Users.get)
    list = Listed(Users.list)
    change = Blocking(Users.change)
    reset_password = Blocking(Users.reset_password)
    delete = Blocking(Users.delete)


class BlockingWorkflows(Blocks[Workflows]):
    put = Blocking(Workflows.put)
    get = Blocking(Workflows.get)
    list = Listed(Workflows.list)
    versions = Listed(Workflows.versions)
    validate = Blocking(Workflows.validate)
    diff = Blocking(Workflows.diff)
    export = Blocking(Workflows.export)
    delete = Blocking(Workflows.delete)
    draft = Blocking(Workflows.draft)
    put_draft = Blocking(Workflows.put_draft)
    publish_draft = Blocking(Workflows.publish_draft)
    discard_draft = Blocking(Workflows.discard_draft)
