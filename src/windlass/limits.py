"""Every bound in one file, with the relations between them asserted.

A limit is part of the contract: the error that refuses something names the number found here.
"""

from __future__ import annotations

# Time a node may be silent. A node may miss two beats and keep its lease.
LEASE_SECONDS, HEARTBEAT_SECONDS = 15, 4
assert 3 * HEARTBEAT_SECONDS < LEASE_SECONDS
# What a lost node held is looked for this often, and when a lease is about to lapse: then, and so
# much later at most, as all nodes do.
RESCUE_INTERVAL_SECONDS, RESCUE_SPREAD_SECONDS = 5, 0.25
# A node stops starting work this long before its lease ends (see runtime.cluster.lease).
LEASE_MARGIN_SECONDS = 2.0

# The leader's lease: short enough that a frozen one is followed within five seconds. It is renewed
# after this share of it, and trusted for all but a last share (see runtime.cluster.leadership).
LEADER_LEASE_SECONDS = 4.0
LEADER_RENEW_SHARE, LEADER_TRUST_SHARE = 0.6, 0.9
assert LEADER_RENEW_SHARE < LEADER_TRUST_SHARE < 1
# A leader whose session has ended gets so long to notice before another begins its term.
LEADER_GRACE_SECONDS = 0.15

# A background loop whose tick failed rests: that long, doubled with each failure in a row, up to
# the second where PostgreSQL or Redis is away, up to the third where the fault is in us. What wakes
# it cuts the rest short, but for a floor that grows with it: no loop can spin.
LOOP_REST_SECONDS, LOOP_AWAY_SECONDS_MAX, LOOP_FAILED_SECONDS_MAX = 1.0, 4.0, 30.0
LOOP_FLOOR_SECONDS = 0.1
# After so many failures in a row that are our own fault, health names it.
LOOP_FAILURES_NAMED = 3
assert LOOP_FLOOR_SECONDS < LOOP_REST_SECONDS < LOOP_AWAY_SECONDS_MAX < LOOP_FAILED_SECONDS_MAX
# A background task that ended and should not have is begun again after a rest that grows between
# these; one that lasts for the third is well again (see supervise).
RESTART_SECONDS_MIN, RESTART_SECONDS_MAX, RESTART_STEADY_SECONDS = 0.5, 30.0, 5.0
assert RESTART_SECONDS_MIN < RESTART_SECONDS_MAX
# A node that lost its lease tries to register again no more rarely than this.
REBIRTH_SECONDS_MAX = 5.0

# What one submission may hold.
INPUT_BYTES_MAX = 1024 * 1024
RESULT_BYTES_MAX = 1024 * 1024
ERROR_TEXT_MAX = 8_192
BODY_BYTES_MAX = 4 * 1024 * 1024
BATCH_BODY_BYTES_MAX = 64 * 1024 * 1024
JSON_DEPTH_MAX = 64
BATCH_JOBS_MAX = 10_000
# Jobs that one hint names; who has more gives several.
HINT_JOBS_MAX = 1_000
assert HINT_JOBS_MAX <= BATCH_JOBS_MAX
NAME_CHARS_MAX = 128
KEY_CHARS_MAX = 256
INSTANT_CHARS_MAX = 40
URL_CHARS_MAX = 4_096  # of a webhook, or of what gives out tokens
ETAGS_MAX, ETAG_CHARS_MAX = 32, 64  # of one If-Match or If-None-Match
TAGS_MAX, TAG_CHARS_MAX = 32, 128
PARENTS_MAX = 1_000
assert INPUT_BYTES_MAX < BODY_BYTES_MAX < BATCH_BODY_BYTES_MAX

# The door, before anybody is known (api.http.connection). A request's head: its bytes, its address
# and its header lines. As much may come between two pieces of a body: chunk sizes, their
# extensions.
HEAD_BYTES_MAX, URL_BYTES_MAX, HEAD_FIELDS_MAX = 32 * 1024, 8 * 1024, 100
assert URL_BYTES_MAX < HEAD_BYTES_MAX
# Requests of one connection that wait for the answer to an earlier one; then it is closed.
PIPELINE_MAX = 16
# A head is complete after so long; a body after so long and a second for so many bytes of it; an
# answer that nobody reads, or a caller who goes on sending after a refusal, is cut off.
HEAD_SECONDS, BODY_SECONDS, BODY_BYTES_PER_SECOND = 10.0, 30.0, 256 * 1024
ANSWER_STUCK_SECONDS, LINGER_SECONDS, LINGER_BYTES_MAX = 60.0, 2.0, 256 * 1024
# A connection without a request is kept so long: longer than a proxy keeps it.
KEEP_ALIVE_SECONDS = 75
assert HEAD_SECONDS < BODY_SECONDS < KEEP_ALIVE_SECONDS
# Connections of a node, in all: so many, but no more than this share of its descriptors, of which
# the engine keeps the rest for itself; and of these so large a share for one address.
CONNECTIONS_MAX, CONNECTIONS_DESCRIPTORS_SHARE, CONNECTIONS_ADDRESS_SHARE = 4_096, 0.5, 0.5
assert CONNECTIONS_MAX * HEAD_BYTES_MAX <= 128 * 1024 * 1024, "all of them with half a head"
# TLS of the API (api.http.tls). A handshake is over after so long. So often is it looked whether
# the certificate's files have changed, and so long before its end is it told.
TLS_HANDSHAKE_SECONDS, TLS_LOOK_SECONDS, TLS_EXPIRY_DAYS = 10.0, 5.0, 14
# What is wrong for as long as it lasts is said at the start and then so often.
REMIND_SECONDS = 3600.0
# Proxies (api.http.proxies): networks that are trusted, and how many hops are looked behind.
TRUSTED_PROXIES_MAX, FORWARDED_HOPS_MAX = 64, 16
# Descriptors that a node asks the system for when it starts.
DESCRIPTORS_WANTED = 65_536

# Metrics name so many queues and targets; the rest are counted together.
METRIC_QUEUES_MAX, METRIC_TARGETS_MAX, METRIC_TASKS_MAX = 100, 500, 500

# Bodies. Larger ones are parsed in a thread, one at a time; what is larger than any but a batch, or
# holds very many values, in a process of its own (api.jobs.batch_reader), of which there are so
# many. Whoever finds none waits so long.
PARSE_HERE_BYTES_MAX = 256 * 1024
assert PARSE_HERE_BYTES_MAX < BODY_BYTES_MAX
BATCH_READERS_MAX, BATCH_READ_SECONDS, BATCH_READER_IDLE_SECONDS = 1, 60.0, 60.0
BATCH_READER_WAIT_SECONDS = 30.0
# What such a process may take of memory: a whole batch, and one job of it as values.
BATCH_READER_BYTES_MAX = 1024 * 1024 * 1024
assert BATCH_READER_BYTES_MAX > BATCH_BODY_BYTES_MAX + 100 * BODY_BYTES_MAX
# Bytes of larger bodies that a node has in hand at once beside the first of them, which may be a
# whole batch (api.http.body_budget). Whoever finds no room waits so long.
LARGE_BODIES_BYTES_MAX, LARGE_BODIES_WAIT_SECONDS = 16 * 1024 * 1024, 5.0
assert BODY_BYTES_MAX < LARGE_BODIES_BYTES_MAX < BATCH_BODY_BYTES_MAX

# Executions: items of one fan-out, and what a node keeps of those that run.
FAN_OUT_ITEMS_MAX = 1_000_000
# Executions may have children, and these theirs, so deep.
CHILD_DEPTH_MAX = 16
# And so many in all below the one that somebody started, unless the setting says otherwise.
EXECUTION_TREE_MAX = 100_000
# Steps without what they wait for: left alone for so long, and looked after so many at a time.
UNTENDED_SECONDS, UNTENDED_BATCH = 5.0, 500
# One that failed for a reason nobody foresaw rests so long, twice as long each time, up to the
# second; a node remembers so many.
TROUBLED_REST_SECONDS, TROUBLED_REST_SECONDS_MAX, TROUBLED_KEPT_MAX = 5.0, 300.0, 10_000
assert TROUBLED_REST_SECONDS <= TROUBLED_REST_SECONDS_MAX
# Executions of one concurrency key that begin in one transaction; keys looked at in one round.
TURNS_MAX = 1_000
# A job may not have heard what was asked of its execution for so long: by then every transaction
# has ended that may have begun before it was asked.
UNHEARD_SECONDS = 90.0
# A rerun forgets so many steps and items by one statement; an error names so many steps.
FORGET_STEPS_MAX, NAMED_STEPS_MAX = 20_000, 50
# Signals that an execution keeps until a step asks for them; a comment on a decision.
SIGNALS_KEPT_MAX, COMMENT_CHARS_MAX = 1_000, 4_000
# Items put in by one transaction, elements kept in memory, results gathered at the end.
FAN_CHUNK, FAN_ITEMS_KEPT_MAX, FAN_RESULT_BYTES_MAX = 5_000, 2_000_000, 64 * 1024 * 1024
FACTS_KEPT_MAX, FACTS_BYTES_MAX, PLANS_KEPT_MAX = 20_000, 64 * 1024 * 1024, 1_000

# Durations a caller may name.
DURATION_SECONDS_MAX = 366 * 24 * 3600
TIMEOUT_SECONDS_MAX = 7 * 24 * 3600
ATTEMPTS_MAX = 1_000
# A node death is counted apart from a failure; this many and the job is quarantined.
CRASHES_MAX = 3
# From this many crashes on a job is claimed alone, so that it cannot take neighbours with it.
CRASHES_SOLO = 2
assert 1 <= CRASHES_SOLO < CRASHES_MAX

# Batches of the hot path.
CLAIM_BATCH_MAX = 1_000
# How long steps that follow others may keep a node from claiming what waits.
STEPS_FIRST_SECONDS = 0.2
FINISH_BATCH_MAX = 1_000
# While claimed jobs wait for slots nobody waits for a single end: fewer than so many gather, for so
# many looks of so long: a commit of twenty costs PostgreSQL nearly what one of two hundred does.
FINISH_GATHER, FINISH_LOOKS, FINISH_LOOK_SECONDS = 400, 4, 0.003
assert FINISH_GATHER <= FINISH_BATCH_MAX
# Batches of ends that are committed at once, if there are as many steps as are worth a commit.
FINISH_STEPS_IN_FLIGHT_MAX = 2
# What ends attempts waits so long for a row that somebody holds. Then its batch is taken apart: so
# many parts may be found to wait in a round, and what waits is tried again after a growing rest.
ROW_WAIT_SECONDS, SIFT_WAITS_MAX = 0.25, 16
HELD_REST_SECONDS, HELD_REST_SECONDS_MAX = 0.1, 1.0
# Who asks and waits for an answer, to cancel or to complete a job whose row somebody holds, is told
# to come again after so long.
HELD_PATIENCE_SECONDS = 2.0
# A settlement that trips over something else is tried alone so often before it is buried; one that
# cannot be buried either is tried again after at most so long.
SETTLE_TRIES, UNSETTLED_REST_SECONDS_MAX = 3, 30.0
# Children that one transaction tells of their parents' end, and parents whose other children are
# told in one round.
CHILDREN_TOLD_MAX, PARENT_ENDS_MAX = 2_000, 100
ENQUEUE_BATCH_MAX = 500
# Rows that others hold: queues, keys, parents. A batch waits so long for one; its parts, when it
# is taken apart, not as long. Who needs such a row goes on apart, waits a little longer each time,
# and is told to come back after so many seconds; so many do at once.
ENQUEUE_LOCK_SECONDS, ENQUEUE_PART_LOCK_SECONDS = 0.05, 0.005
ENQUEUE_HELD_LOCK_SECONDS, ENQUEUE_HELD_SECONDS, ENQUEUE_HELD_MAX = 0.2, 5.0, 1_000
assert ENQUEUE_PART_LOCK_SECONDS < ENQUEUE_LOCK_SECONDS < ENQUEUE_HELD_LOCK_SECONDS
ENQUEUE_LOCK_MS = round(ENQUEUE_LOCK_SECONDS * 1000)
ENQUEUE_PART_LOCK_MS = round(ENQUEUE_PART_LOCK_SECONDS * 1000)
assert ENQUEUE_PART_LOCK_MS > 0, "0 would be for ever"
assert ENQUEUE_HELD_LOCK_SECONDS < 1.0, "PostgreSQL takes it for a deadlock then, and chooses"
ENQUEUE_HELD_REST_SECONDS, ENQUEUE_HELD_REST_SECONDS_MAX = 0.02, 0.5
assert ENQUEUE_HELD_REST_SECONDS < ENQUEUE_HELD_REST_SECONDS_MAX < ENQUEUE_HELD_SECONDS
# Requests of one key that one commit judges one after the other, those before being refused.
ENQUEUE_SAME_KEY_MAX = 16
# Executions started by one transaction.
START_BATCH_MAX = 200
# First steps of an execution that is started by one statement with others, none of which is to wait
# for a wide one.
PLAIN_FIRST_STEPS_MAX = 16
# One claim in this many looks at the lowest priority first, so that nothing starves.
AGING_EVERY = 8
# Of a queue that a node serves: how often it is asked first, beside the others.
QUEUE_WEIGHT_MAX = 1_000
SERVED_QUEUES_MAX = 1_000
# Claimed jobs that a slot did not take within this time go back to the queue.
PREFETCH_HOLD_SECONDS = 5.0
assert PREFETCH_HOLD_SECONDS < LEASE_SECONDS - LEASE_MARGIN_SECONDS
# What was rescued from a lost node has waited for a lease already: it goes first, and back sooner.
RESCUED_HOLD_SECONDS = 0.5
assert RESCUED_HOLD_SECONDS < PREFETCH_HOLD_SECONDS
# While claimed jobs wait no longer than this, a node may claim further ahead.
PREFETCH_WAIT_SECONDS = 0.1
assert PREFETCH_WAIT_SECONDS < PREFETCH_HOLD_SECONDS
# A deadline that is further away gets a timer only if its attempt still runs after so long.
DEADLINE_LOOK_SECONDS = 0.02
# A task that a node does not have is left for one that has it, after a rest that grows by half each
# time, up to a minute. After so many in a row, about an hour, its job fails: nobody will.
UNKNOWN_TASK_REST_SECONDS_MAX, UNKNOWN_TASK_RESTS_MAX = 60.0, 70
# What a node says of its tasks: of how many, with how much each; kept so long after the last node.
TASKS_MAX, TASK_DESCRIPTION_BYTES_MAX, TASK_DOC_CHARS_MAX = 10_000, 65_536, 2_000
TASKS_KEPT_SECONDS = 30 * 24 * 3600.0
# What a drain stops at its end gets so long to let go before it is given up.
HAND_BACK_SECONDS = 1.0
# Claimed and not yet settled in the database, per node, beyond the slots.
PREFETCH_MAX = 2_000
assert CLAIM_BATCH_MAX <= PREFETCH_MAX
# A claim starts its scan at the oldest row it may find, less this; see engine.jobs.claim.
CLAIM_SLACK_SECONDS = 1.0

# Adaptive polling: how long a worker rests between peeks when nobody wakes it.
POLL_BUSY_SECONDS, POLL_IDLE_SECONDS = 0.05, 1.0
# And while hints come through Redis, so that a look finds only what a lost hint left behind.
POLL_HINTED_SECONDS = 2.5
assert POLL_BUSY_SECONDS < POLL_IDLE_SECONDS <= POLL_HINTED_SECONDS
# A peek is followed by a rest of at least this many times its own duration.
PEEK_REST_FACTOR = 20

# Whoever asks something of a job, an execution, a queue or anything else by its name, or changes
# it, waits so long for one that somebody holds, and is told to come again.
ASKED_LOCK_SECONDS = 2.0
# Each of their tries waits for the row only so long, and the next one comes after a rest; both
# grow. All of them share few connections; but who never waits for a row for long never has its turn
# where many want the same row for a moment each.
ASKED_ROW_SECONDS, ASKED_ROW_SECONDS_MAX = 0.02, 0.08
ASKED_REST_SECONDS, ASKED_REST_SECONDS_MAX = 0.05, 0.4
assert ASKED_ROW_SECONDS < HELD_REST_SECONDS < HELD_PATIENCE_SECONDS
assert ASKED_ROW_SECONDS < ASKED_ROW_SECONDS_MAX < ASKED_REST_SECONDS_MAX
assert ASKED_ROW_SECONDS < ASKED_REST_SECONDS < ASKED_REST_SECONDS_MAX < ASKED_LOCK_SECONDS

# Deadlines of calls to the parts around us.
DATABASE_CALL_SECONDS = 30.0
# So much longer the answer is waited for: that a statement took too long PostgreSQL says itself,
# and then it is known that nothing came of it. Our own clock is for a server that says nothing.
DATABASE_ANSWER_SECONDS = 5.0
assert UNHEARD_SECONDS > 2 * DATABASE_CALL_SECONDS
DATABASE_CONNECT_SECONDS = 10.0
# A replica for lists: how far it may be behind, how often that is looked at, and how long nobody
# asks it after it failed. Nodes beat all the time, so one that hears nothing falls behind at once.
REPLICA_LAG_SECONDS_MAX, REPLICA_LOOK_SECONDS, REPLICA_REST_SECONDS = 30.0, 1.0, 5.0
assert REPLICA_LAG_SECONDS_MAX > 2 * HEARTBEAT_SECONDS
REPLICA_CONNECT_SECONDS = 2.0
assert REPLICA_CONNECT_SECONDS < DATABASE_CONNECT_SECONDS
# A claim whose answer was lost may still be on its way to its commit: it is looked for this often,
# until no statement can be.
DOUBT_LOOK_SECONDS, DOUBT_SECONDS = 0.5, 40.0
assert DOUBT_SECONDS > DATABASE_CALL_SECONDS + DATABASE_ANSWER_SECONDS
FASTLANE_CALL_SECONDS = 0.05
FASTLANE_CONNECT_SECONDS = 0.5

# HTTP deliveries.
RESPONSE_BYTES_MAX = 64 * 1024
EXCERPT_CHARS_MAX = 2_000
# Secrets are looked for in so much of an answer on the loop, and in more of it in a thread: to undo
# the escapes of a hostile one takes about a millisecond for each kilobyte.
REDACT_QUICK_BYTES_MAX = 4 * 1024
# Headers a caller may add, and what is kept of those that came back.
HEADERS_MAX, HEADER_CHARS_MAX = 64, 8_192
RECORD_HEADERS_MAX, RECORD_HEADER_CHARS_MAX = 64, 1_000
REDIRECTS_MAX = 5
# `expect`: its text, and how much work a look at one answer may be (see model.expression.values).
EXPECT_CHARS_MAX, EXPECT_WORK_MAX = 500, 200_000
# So much of it is done on the loop; what needs more is done again in a thread.
EXPECT_QUICK_WORK_MAX = 20_000
assert EXPECT_QUICK_WORK_MAX < EXPECT_WORK_MAX
EXPECT_CACHE_MAX = 1_000
# A receiver may ask for a later try, but not for one beyond a day.
RETRY_AFTER_SECONDS_MAX = 24 * 3600
# Of an attempt's whole time, so much at most for these.
DNS_SECONDS_MAX = 5.0
CONNECT_SECONDS_MAX = 10.0
# Lookups at once (each in a thread), names under way, addresses a name may have.
DNS_THREADS_MAX, DNS_NAMES_MAX, DNS_ANSWERS_MAX = 32, 1_000, 64
assert DNS_THREADS_MAX < DNS_NAMES_MAX
# What was found is used so long; that nothing was found, so long; of so many names.
DNS_KEPT_SECONDS, DNS_FAILURE_KEPT_SECONDS, DNS_NAMES_KEPT_MAX = 10.0, 1.0, 10_000
# One line of an answer's head, and how many of them.
RESPONSE_HEADER_BYTES_MAX, RESPONSE_HEADERS_MAX = 16 * 1024, 128
RESPONSE_HEAD_BYTES_MAX = 64 * 1024
# Connections nobody uses: kept so long (common servers hang up after five seconds), and so many.
IDLE_SECONDS_MAX, IDLE_CONNECTIONS_MAX = 4.0, 256
# A completion that comes before its delivery is on record waits so long for that, as so many may at
# once on a node; who may not is told to come again. Looks and ends are gathered, so many at a time.
EARLY_SECONDS, EARLY_CALLERS_MAX = 10.0, 2_000
EARLY_LOOK_SECONDS, EARLY_LOOK_SECONDS_MAX = 0.02, 0.2
COMPLETE_BATCH_MAX = 200
# A receiver that answers later has so long by default, and so long at most.
CALLBACK_SECONDS, CALLBACK_SECONDS_MAX = 24 * 3600.0, 30 * 24 * 3600.0
assert CALLBACK_SECONDS <= CALLBACK_SECONDS_MAX

# Credentials of deliveries. What is kept in memory of each sort, least recently used out first.
SIGNING_KEYS_MAX, TOKENS_MAX, CLIENT_CERTIFICATES_MAX = 1_000, 1_000, 100
DERIVED_KEYS_MAX = 10_000  # one for a target, two while a rotation overlaps
AUTHS_MAX = 4
CLIENT_PEM_BYTES_MAX = 64 * 1024
# A token request: its deadline, its answer, and how many may be on their way.
TOKEN_SECONDS_MAX, TOKEN_ANSWER_BYTES_MAX, TOKEN_REQUESTS_MAX = 10.0, 64 * 1024, 100
assert TOKEN_ANSWER_BYTES_MAX <= RESPONSE_BYTES_MAX, "a longer one is not told from its beginning"
# Of these so many are connected at once; the others wait their turn.
TOKEN_CONNECTIONS_MAX = 16
assert TOKEN_CONNECTIONS_MAX < TOKEN_REQUESTS_MAX
# A token that says nothing of its end is kept so long; none is kept longer than a day.
TOKEN_KEPT_SECONDS, TOKEN_KEPT_SECONDS_MAX = 300.0, 24 * 3600.0
# A new one is asked for so long before the end, or a quarter of a short life.
TOKEN_LEEWAY_SECONDS = 60.0
# After a failed request the next one waits so long: a moment, for the endpoint's sake.
TOKEN_FAILURE_SECONDS = 1.0
assert TOKEN_SECONDS_MAX < TOKEN_LEEWAY_SECONDS < TOKEN_KEPT_SECONDS < TOKEN_KEPT_SECONDS_MAX

# Secrets. A value is text of so many bytes; a rotation's previous version is good so long. Fewer
# characters would be found in texts where they are not meant, and are guessed at once: what is
# shorter cannot be concealed in an answer, so it is not taken.
SECRET_BYTES_MAX = 16 * 1024
REDACTED_CHARS_MIN = 4
assert REDACTED_CHARS_MIN < SECRET_BYTES_MAX
SECRET_BODY_BYTES_MAX = 128 * 1024
assert 6 * SECRET_BYTES_MAX < SECRET_BODY_BYTES_MAX, "each character may come as \\u00e9"
SECRET_OVERLAP_SECONDS, SECRET_OVERLAP_SECONDS_MAX = 24 * 3600.0, 30 * 24 * 3600.0
assert SECRET_OVERLAP_SECONDS <= SECRET_OVERLAP_SECONDS_MAX
SECRET_KEYS_MAX = 8
# The targets that a secret may go to; 0018_secret_binding.sql has the same.
SECRET_HOSTS_MAX = 50
SECRET_BATCH_MAX = 200
# A node believes what it read of a secret for so long; longer only while PostgreSQL is away.
SECRET_KEPT_SECONDS, SECRET_KEPT_AWAY_SECONDS = 5.0, 60.0
# And waits no longer for a new answer when it has an old one.
SECRET_ASK_SECONDS = 1.0
assert SECRET_ASK_SECONDS < SECRET_KEPT_SECONDS < SECRET_KEPT_AWAY_SECONDS
SECRETS_KEPT_MAX = 500

# Targets. An unproven or silent one may hold this share of a node's slots, so that one dead host
# does not stand in the way of the healthy.
TARGET_SLOTS_SHARE = 0.5
# An answer within this time shows that a target is alive.
TARGET_ALIVE_SECONDS = 1.0
TARGET_PROBES = 1
# Of jobs for one target that are submitted together, so many join their line at once.
TARGET_LINE_MAX = 100
# A node remembers when so many targets answered last.
TARGETS_REMEMBERED_MAX = 20_000
UNPARK_BATCH_MAX = 500
# A look at the targets that jobs are parked for goes through so many, the next one through those
# that follow; the same for what is read at once of targets that have changed.
TARGETS_PAGE_MAX = 1_000
assert TARGETS_PAGE_MAX <= TARGETS_REMEMBERED_MAX
# What is parked for a target that answered 410 Gone waits so long for somebody to enable it.
TARGET_GONE_SECONDS = 24 * 3600.0
# A breaker, unless its target has other figures; 0003_target.sql has the same.
BREAKER_FAILURES, BREAKER_REST_SECONDS, BREAKER_REST_SECONDS_MAX = 10, 5.0, 300.0
assert BREAKER_REST_SECONDS <= BREAKER_REST_SECONDS_MAX
# Who waits for a target is counted so far and no further.
PARKED_COUNTED_MAX = 1_000

# Coordination. What a coordinator owns in Redis is said again this often, and goes by itself after
# so long without its word.
COORDINATOR_RENEW_SECONDS, COORDINATOR_KEPT_SECONDS = 60.0, 3600.0
assert 10 * COORDINATOR_RENEW_SECONDS < COORDINATOR_KEPT_SECONDS
SIGNAL_PAYLOAD_BYTES_MAX, SIGNAL_TARGETS_MAX = 16 * 1024, 1_000
# Cancelled jobs that one signal names.
SIGNAL_JOBS_MAX = 400
assert 40 * SIGNAL_JOBS_MAX < SIGNAL_PAYLOAD_BYTES_MAX, "an id takes 36 characters, and its quotes"
# Unread by one target; more go by way of PostgreSQL. Of these so many are read at once.
SIGNALS_PENDING_MAX, SIGNALS_READ_MAX = 1_000, 50
assert SIGNALS_READ_MAX * SIGNAL_PAYLOAD_BYTES_MAX < 1024 * 1024, "a call of tens of ms"
# A handler's time. Whoever waits says how long; this is for those who do not.
SIGNAL_HANDLER_SECONDS, SIGNAL_WAIT_SECONDS = 10.0, 5.0
# What Redis did not bring about by then is said again through PostgreSQL.
SIGNAL_DOUBT_SECONDS = 0.5
# A coordinator that cannot be reached through Redis looks there this often.
SIGNAL_POLL_SECONDS = 1.0
assert SIGNAL_DOUBT_SECONDS + 2 * SIGNAL_POLL_SECONDS < SIGNAL_WAIT_SECONDS
# Handled signals are remembered so long at least, and so many at most.
SIGNAL_LIFE_SECONDS, SIGNALS_REMEMBERED_MAX = 300.0, 10_000

# Operations on nodes. 0005_cluster.sql has the same bound.
WORKERS_MAX = 10_000
# A node that nobody told looks this often whether something is asked of it.
OPERATION_POLL_SECONDS = 1.0
# While it drains it says how far it is, and hears of an abort, this often.
OPERATION_SAY_SECONDS = 0.5
assert OPERATION_SAY_SECONDS <= HAND_BACK_SECONDS
DRAIN_SECONDS_MAX = 24 * 3600.0
OPERATIONS_KEPT_SECONDS = 7 * 24 * 3600.0

# A plugin that is replaced or leaves with its node gets so long to close what it holds.
PLUGIN_CLOSE_SECONDS = 5.0

# Caches. In a process: so many values, of about so many bytes as they are encoded, believed for so
# long unless somebody says that they changed (see engine.cache.cache).
CACHE_ENTRIES_MAX, CACHE_BYTES_MAX, CACHE_BELIEVED_SECONDS = 10_000, 64 * 1024 * 1024, 30.0
# In Redis: until nobody asked for so long. A larger value is not worth a call of tens of ms.
CACHE_KEPT_SECONDS, CACHE_VALUE_BYTES_MAX = 30 * 60, 1024 * 1024
assert CACHE_BELIEVED_SECONDS < CACHE_KEPT_SECONDS
assert CACHE_VALUE_BYTES_MAX < CACHE_BYTES_MAX
# The mark of an invalidation outlives every load that may have begun before it; the mark of all
# outlives the values that nobody asks for.
CACHE_MARK_SECONDS, CACHE_EPOCH_SECONDS = 300, 24 * 3600
assert CACHE_EPOCH_SECONDS > CACHE_KEPT_SECONDS
assert CACHE_MARK_SECONDS > 4 * DATABASE_CALL_SECONDS
# Marks that could not be left because Redis was away; more, and all of that cache is marked.
CACHE_MARKS_OWED_MAX = 1_000
# Keys that one call may invalidate by name: they travel in a signal, each with its cache's name.
CACHE_NAME_CHARS_MAX, CACHE_KEYS_MAX, CACHE_KEYS_BYTES_MAX = 32, 100, 6_000
_NAMES_BYTES_MAX = CACHE_KEYS_MAX * (CACHE_NAME_CHARS_MAX + 4) + 2 * CACHE_KEYS_BYTES_MAX
assert _NAMES_BYTES_MAX < SIGNAL_PAYLOAD_BYTES_MAX

# Workflows. A definition in canonical JSON, its steps, and how many of its mistakes are told.
DEFINITION_BYTES_MAX, STEPS_MAX, DEFINITION_PROBLEMS_MAX = 1024 * 1024, 10_000, 1_000
# Of a definition so much is read, checked or compiled on the loop; the rest in a thread.
DEFINITION_HERE_BYTES_MAX = 4 * 1024
assert DEFINITION_BYTES_MAX < BODY_BYTES_MAX, "layout, indentation and YAML take their room"
# Expressions: how long, how deep, how many parts, operations in a row; and how much work all those
# of one step may be (see model.expression.values: a unit takes a fifth of a microsecond).
EXPRESSION_CHARS_MAX, EXPRESSION_DEPTH_MAX = 4_096, 32
EXPRESSION_NODES_MAX, EXPRESSION_CHAIN_MAX = 1_000, 128
EXPRESSION_WORK_MAX = 400_000
# Compiled ones that a process keeps, by the characters of their sources: each takes some 80 bytes.
EXPRESSIONS_KEPT_MAX = ((32, 10_000), (256, 1_500), (EXPRESSION_CHARS_MAX, 100))
assert sum(chars * most for chars, most in EXPRESSIONS_KEPT_MAX) < 1_200_000
# So much of it is done on the loop for one execution, and before others have their turn there; the
# rest in a process (engine.evaluate.evaluator). A transaction that other executions share is given
# up beyond the second, and tried with fewer of them; what one execution decides at once may be no
# more than the third.
EXPRESSION_QUICK_WORK_MAX = 20_000
EXPRESSION_BATCH_WORK_MAX, EXPRESSION_EXECUTION_WORK_MAX = 1_000_000, 4_000_000
assert EXPRESSION_QUICK_WORK_MAX < EXPRESSION_WORK_MAX < EXPRESSION_BATCH_WORK_MAX
assert EXPRESSION_BATCH_WORK_MAX < EXPRESSION_EXECUTION_WORK_MAX
# Of a concurrency key, which is evaluated at the door.
EXPRESSION_KEY_WORK_MAX = 5_000
assert EXPRESSION_KEY_WORK_MAX < EXPRESSION_QUICK_WORK_MAX
assert EXPRESSION_DEPTH_MAX <= JSON_DEPTH_MAX, "what is written as deep may be a value"
assert EXPRESSION_CHAIN_MAX < EXPRESSION_NODES_MAX < EXPRESSION_CHARS_MAX
assert EXPECT_CHARS_MAX <= EXPRESSION_CHARS_MAX
assert EXPECT_WORK_MAX <= EXPRESSION_WORK_MAX
# JSON Schemas. Patterns: how long, and how much work to compile (model.expression.pattern; a unit
# is less than a tenth of a millisecond): one, and all of a definition.
PATTERN_CHARS_MAX, PATTERN_COST_MAX, DEFINITION_PATTERNS_COST_MAX = 500, 1_000, 10_000
# A process keeps so many compiled ones that take little, and fewer of the others.
PATTERN_CHEAP_COST_MAX, PATTERNS_CHEAP_KEPT_MAX, PATTERNS_COSTLY_KEPT_MAX = 100, 256, 20
assert PATTERN_CHEAP_COST_MAX < PATTERN_COST_MAX < DEFINITION_PATTERNS_COST_MAX
assert DEFINITION_PATTERNS_COST_MAX <= PATTERN_COST_MAX * PATTERNS_COSTLY_KEPT_MAX
# What checking a value may be (model.json.schema; a unit is one or two microseconds, the largest
# input has half a million values); and so much of it is done on the loop, the rest in a process.
SCHEMA_WORK_MAX, SCHEMA_QUICK_WORK_MAX = 600_000, 2_000
# Of a job of a plugin's kind, which is always checked on the loop, by a schema of the plugin's.
SCHEMA_JOB_WORK_MAX = 200_000
assert SCHEMA_QUICK_WORK_MAX < SCHEMA_JOB_WORK_MAX < SCHEMA_WORK_MAX
# The process that evaluates what is more (engine.evaluate.evaluator). It may take so much of
# memory, so long for an answer, and leaves when nobody asked for so long; it keeps so many compiled
# steps.
EVALUATOR_BYTES_MAX, EVALUATION_SECONDS, EVALUATOR_IDLE_SECONDS = 1024 * 1024 * 1024, 20.0, 60.0
# When it fails, the node evaluates by itself for so long.
EVALUATOR_NICENESS, EVALUATOR_REST_SECONDS = 5, 10.0
EVALUATION_KEPT_MAX, EVALUATION_KEPT_BYTES_MAX = 64, 16 * 1024
# Starts and answers that wait for it, of a whole node and of one caller; more get 503.
EVALUATIONS_MAX, EVALUATIONS_OF_ONE_MAX = 32, 16
assert EVALUATIONS_OF_ONE_MAX < EVALUATIONS_MAX, "one caller leaves room for another"
assert EVALUATOR_BYTES_MAX > 100 * INPUT_BYTES_MAX
assert 2 * EVALUATION_SECONDS < 60, "the transaction that waits is not given up meanwhile"
# A template: its expressions, which share one evaluation's work, and what it may be filled to.
TEMPLATE_EXPRESSIONS_MAX, TEMPLATE_BYTES_MAX = 1_000, INPUT_BYTES_MAX
assert TEMPLATE_BYTES_MAX <= RESULT_BYTES_MAX, "`transform` makes a result of it"
STEP_ID_CHARS_MAX, TITLE_CHARS_MAX, DESCRIPTION_CHARS_MAX = 64, 200, 4_000
CASES_MAX, LOCKS_MAX, PARALLEL_MAX, CONCURRENT_MAX = 1_000, 16, 100_000, 1_000_000
# A draft has its layout with it, and mistakes still to be mended.
DRAFT_BYTES_MAX = 2 * DEFINITION_BYTES_MAX
assert DRAFT_BYTES_MAX < BODY_BYTES_MAX
# What a definition in YAML may unfold to; no JSON of a megabyte holds more values.
YAML_NODES_MAX = DEFINITION_BYTES_MAX // 2
# Whether branches of switches exclude one another is followed down so many switches.
EXCLUSIONS_MAX = 64

# Locks. 0006_workflow.sql has the same bound of capacity.
LOCK_CAPACITY_MAX = 10_000
# Limits that jobs carry (model.job.limit): so many a job, of so many starts a second. One that is
# separate for each value is counted under that value, or under its hash where it is longer.
JOB_LIMITS_MAX, JOB_LIMIT_PER_MAX, JOB_LIMIT_VALUE_CHARS_MAX = 4, 4, 64
JOB_RATE_MIN, JOB_RATE_MAX = 0.00001, 1_000.0
# How soon somebody looks again for whom a rate keeps waiting.
LIMIT_LOOK_SECONDS_MIN = 0.02
# How long a caller of the API holds one, unless it says so or renews it.
LOCK_TTL_SECONDS, LOCK_TTL_SECONDS_MIN, LOCK_TTL_SECONDS_MAX = 30.0, 0.5, 24 * 3600.0
assert LOCK_TTL_SECONDS_MIN < LOCK_TTL_SECONDS < LOCK_TTL_SECONDS_MAX
# Waiters: what a level of priority is worth, and who has waited so long keeps capacity
# (model.job.lock).
LOCK_LEAD_SECONDS, LOCK_PATIENCE_SECONDS = 300.0, 10.0
# Whoever frees a lock looks at so many of its waiters at a time. What somebody else has in hand
# just then is looked at again this much later.
LOCK_WAITERS_READ_MAX, LOCK_AGAIN_SECONDS = 64, 0.25
# Of what time has brought about (holds that ran out, jobs that are due) so much at once.
LOCKS_LATE_MAX = 200
# A look has the rows of other locks while it waits for one that somebody holds: so long at most.
LOCK_LOOK_SECONDS = 0.02
assert LOCK_LOOK_SECONDS < ROW_WAIT_SECONDS
# A lock that nobody used for so long is forgotten, unless it has a capacity of its own; and
# jobs that are in no wait list, or holds whose job has ended, are looked for this often.
LOCK_KEPT_SECONDS, LOCK_STRAYS_SECONDS = 3600.0, 60.0
# Who holds a lock and who waits for it: so many are named, and so many of a wait list counted.
LOCK_SHOWN_MAX, LOCK_COUNTED_MAX = 50, 1_000
assert LOCK_SHOWN_MAX <= LOCK_COUNTED_MAX

# Refreshing executions. So many in one statement, and so many marks taken by one script: each is
# two words for ZADD, far from what Lua can unpack.
REFRESH_BATCH_MAX, REFRESH_CLAIM_MAX = 1_000, 2_000
assert 2 * REFRESH_CLAIM_MAX < 8_000
# Marks come in no order, and rows lie in the order in which they were made. So claims are gathered
# and refreshed in order, so many at most, and no more than what takes this share of their hold.
REFRESH_ROUND_MAX, REFRESH_ROUND_SHARE = 32_000, 0.3
assert REFRESH_CLAIM_MAX < REFRESH_ROUND_MAX
# Marks of executions that go on gather so long; those that may have ended go at once, but neither
# they nor the refreshes follow each other closer than this.
REFRESH_GATHER_SECONDS, REFRESH_GAP_SECONDS = 1.0, 0.05
# A node that was silent for the larger share of its lease has no shards any more, so that others
# have them before it lapses. What it has claimed and not acknowledged comes back after the smaller.
SHARD_LEASE_SHARE, REFRESH_HOLD_SHARE = 0.7, 0.6
assert REFRESH_HOLD_SHARE < SHARD_LEASE_SHARE < 1
assert SHARD_LEASE_SHARE * LEASE_SECONDS + HEARTBEAT_SECONDS < LEASE_SECONDS
# Thousands of marks take their time, and nobody waits for them: a call may take longer than others.
REFRESH_CALL_SECONDS = 0.5
assert FASTLANE_CALL_SECONDS < REFRESH_CALL_SECONDS <= FASTLANE_CONNECT_SECONDS
# One whose row somebody holds is tried again after a growing rest, of so long at most.
REFRESH_HELD_SECONDS_MAX = 5.0
# How often an execution is tried again at once whose fence was lost.
REFRESH_TRIES = 3
# Marks in Redis that nobody came for go by themselves; in a process they are bounded. The net finds
# what they spoke of: so many executions of old at a look, and those of jobs that ended between so
# many seconds ago and the last look.
REFRESH_KEPT_SECONDS, REFRESH_WAITING_MAX = 3600, 100_000
REFRESH_NET_MAX, REFRESH_NET_GRACE_SECONDS, REFRESH_NET_SPAN_SECONDS_MAX = 5_000, 5.0, 300.0
assert REFRESH_GATHER_SECONDS < REFRESH_NET_GRACE_SECONDS, "marks on their way are not missed yet"
# An execution with many jobs rests after a refresh: a second for so many of them.
REFRESH_JOBS_PER_SECOND, REFRESH_RESTS_MAX = 10_000, 10_000

# Tasks. What one attempt may log, and how much of it waits in a node until it is written: about
# once a second, so much at a time. Who ends waits so long for its lines to be there.
LOG_LINES_MAX, LOG_LINE_CHARS_MAX, LOG_FIELDS_BYTES_MAX = 1_000, 4_000, 8_192
NOTES_WAITING_MAX, NOTES_BATCH_MAX = 20_000, 2_000
assert LOG_LINES_MAX <= NOTES_BATCH_MAX <= NOTES_WAITING_MAX
NOTES_REST_SECONDS, NOTES_WAIT_SECONDS = 1.0, 2.0
assert NOTES_REST_SECONDS < NOTES_WAIT_SECONDS
# The log of a node. Of lines of one kind so many are written in so long, and the others counted; of
# so many kinds at once. A sentence quotes so much of an error.
LOG_ALIKE_MAX, LOG_WINDOW_SECONDS, LOG_KINDS_MAX = 5, 10.0, 1_000
LOG_ERROR_CHARS_MAX = 300
# Jobs that write in a transaction of their own: so many connections for a node, and so long a
# statement may take or the transaction stand idle: a frozen node must not hold rows for ever.
OWN_CONNECTIONS_MAX, OWN_STATEMENT_SECONDS_MAX, OWN_IDLE_SECONDS_MAX = 32, 300.0, 300.0
# To give back what a stopped task had begun to write.
OWN_ROLLBACK_SECONDS = 5.0

# Bulk operations: jobs of one batch, and rows that it looks at to find them, which grow where few
# match; of a rate, a batch takes so many seconds' worth. Open ones; the preview looks at so many
# rows, and shows so many groups and ids.
BULK_BATCH_MAX, BULK_WINDOW_MIN, BULK_WINDOW_MAX = 1_000, 200, 20_000
assert BULK_WINDOW_MIN < 2 * BULK_BATCH_MAX < BULK_WINDOW_MAX
BULK_PACE_SECONDS, BULK_RATE_MIN, BULK_RATE_MAX = 0.5, 0.001, 100_000.0
BULK_MOST_MAX = 1_000_000_000
BULK_OPEN_MAX, BULK_FORGET_BATCH = 100, 100
BULK_LOOK_MAX, BULK_GROUPS_MAX, BULK_SAMPLES_MAX = 200_000, 50, 10
assert BULK_WINDOW_MAX < BULK_LOOK_MAX
# What somebody else held is tried again so many times in all, after a rest that doubles each time.
BULK_ROUNDS_MAX, BULK_REST_SECONDS, BULK_REST_SECONDS_MAX = 8, 1.0, 30.0
# Of the jobs that were refused it names so many. A node that has nothing to do looks so often for
# what another has left.
BULK_LEFT_SHOWN_MAX, BULK_IDLE_SECONDS, BULK_TAKEN_SECONDS = 100, 3.0, 0.5
# One that fails for a reason that is none of its jobs' rests so long, and the others go on.
BULK_FAILED_SECONDS = 10.0
assert BULK_TAKEN_SECONDS < BULK_IDLE_SECONDS

# Identity. Names of users and keys; queues or workflows that a key is confined to.
USER_NAME_CHARS_MAX, KEY_NAME_CHARS_MAX, CONFINED_MAX = 128, 128, 100
PASSWORD_CHARS_MIN, PASSWORD_CHARS_MAX = 12, 256
# Argon2id (RFC 9106): so much memory, so often through it; so many at once in a node, on threads,
# and so many that wait for their turn. More get 503.
PASSWORD_MEMORY_KIB, PASSWORD_ROUNDS = 19 * 1024, 2
PASSWORDS_AT_ONCE, PASSWORDS_WAITING_MAX = 2, 32
assert PASSWORDS_AT_ONCE * PASSWORD_MEMORY_KIB < 64 * 1024
# Tries to log in: so many at once and then one in so many seconds: of a user from an address, from
# an address, of a user from wherever. What nobody tried for a while is forgotten.
LOGIN_BURST, LOGIN_SECONDS = 5, 15.0
LOGIN_ADDRESS_BURST, LOGIN_ADDRESS_SECONDS = 30, 2.0
LOGIN_USER_BURST, LOGIN_USER_SECONDS = 50, 3.0
assert LOGIN_BURST < LOGIN_ADDRESS_BURST < LOGIN_USER_BURST
LOGIN_FORGET_BATCH = 5_000
# A one-time password is good for so long; a session that nobody uses, and any session; so many of a
# user at once, of which the oldest give way.
ONE_TIME_SECONDS = 7 * 24 * 3600
SESSION_IDLE_SECONDS, SESSION_SECONDS_MAX = 2 * 3600, 7 * 24 * 3600
SESSIONS_OF_USER_MAX, DEVICE_CHARS_MAX = 50, 200
assert SESSION_IDLE_SECONDS < SESSION_SECONDS_MAX
# What was found out about a token is believed so long in a node; then one caller asks again, and
# those who come meanwhile go by what was known, for so long. After a revocation nobody told us of,
# the sum is what a token still opens.
TOKEN_BELIEVED_SECONDS, TOKEN_ASK_SECONDS = 1.0, 0.5
TOKENS_KEPT_MAX, TOKENS_UNKNOWN_MAX, TOKEN_LOOKUPS_AT_ONCE = 10_000, 2_000, 4
# What PostgreSQL said of a session is believed so long where Redis has a copy of it.
TOKEN_COPY_SECONDS = 5.0
# How often a node writes down what was used, and asks of all of it whether it still is good; so
# many in one statement.
TOKEN_TOUCH_SECONDS, TOKEN_TOUCH_MAX = 5.0, 10_000
# `seen_at` and `last_used_at` move no more often than this.
TOKEN_SEEN_SECONDS = 60.0
assert TOKEN_BELIEVED_SECONDS + TOKEN_ASK_SECONDS < 2.0, "a revoked token is refused within 2 s"
assert TOKEN_COPY_SECONDS + TOKEN_BELIEVED_SECONDS + TOKEN_ASK_SECONDS < 10.0, "10 s without Redis"
assert TOKEN_TOUCH_SECONDS + TOKEN_BELIEVED_SECONDS < 10.0
assert TOKEN_TOUCH_SECONDS < TOKEN_SEEN_SECONDS < SESSION_IDLE_SECONDS
# A key that is rotated: how long the token before stays good, unless said and at most.
KEY_OVERLAP_SECONDS, KEY_OVERLAP_SECONDS_MAX = 24 * 3600.0, 30 * 24 * 3600.0
KEYS_OF_USER_MAX = 100
COOKIES_BYTES_MAX, IDENTITY_BODY_BYTES_MAX = 8 * 1024, 64 * 1024
# Quotas: requests a second and at once; jobs a day and bytes, as JSON holds whole numbers.
QUOTA_REQUESTS_MIN, QUOTA_REQUESTS_MAX, QUOTA_BURST_MAX = 0.001, 10_000.0, 100_000
assert QUOTA_BURST_MAX / QUOTA_REQUESTS_MIN * 1e6 < 2**53 / 8, "microseconds, as Lua counts them"
QUOTA_COUNT_MAX = 2**53 - 1
# What waits of somebody who is about to be refused is counted anew this often at most: so long
# after a job has ended there is room. Also whenever so many of those noted may have ended.
QUOTA_RECOUNT_SECONDS, QUOTA_ENDED_MAX = 1.0, 10_000
# Whoever has more jobs than this is counted apart, and so is, the first time, everybody where the
# table of unfinished jobs is larger than that: others are admitted meanwhile.
QUOTA_COUNTED_AT_ONCE_MAX, QUOTA_FOUND_AT_ONCE_BYTES_MAX = 10_000, 16 * 1024 * 1024
QUOTA_COUNT_REST_SECONDS_MAX = 60.0
# How many nodes share a limit while Redis is away is asked this often; for so long after it has
# come back, nothing is believed to be saved up, as others may still be without it.
QUOTA_NODES_SECONDS, QUOTA_COMEBACK_SECONDS = 2.0, 2.0

# Login through OpenID Connect. One that was begun is good for so long, and so many are under way in
# all; more get 503. Of an address so many begin at once, and then one in so many seconds.
SIGN_ON_SECONDS, SIGN_ON_UNDER_WAY_MAX = 600.0, 10_000
SIGN_ON_ADDRESS_BURST, SIGN_ON_ADDRESS_SECONDS = 100, 1.0
assert (
    SIGN_ON_ADDRESS_BURST + SIGN_ON_SECONDS / SIGN_ON_ADDRESS_SECONDS < SIGN_ON_UNDER_WAY_MAX / 10
)
# How many a node begins or ends at once; more get 503.
SIGN_ON_BEGUN_AT_ONCE, SIGN_ON_ENDED_AT_ONCE = 32, 32
# What a request to the provider may take, from the first lookup to the last byte of its answer.
PROVIDER_SECONDS_MAX = 10.0
# How long its description and its keys are believed; after a failure it is left in peace so long.
PROVIDER_KEPT_SECONDS, PROVIDER_FAILURE_SECONDS = 3600.0, 1.0
# For a key that is not known its keys are asked for again, at most once in so long.
PROVIDER_KEYS_AGAIN_SECONDS = 10.0
assert PROVIDER_FAILURE_SECONDS < PROVIDER_KEYS_AGAIN_SECONDS < PROVIDER_KEPT_SECONDS
PROVIDER_ANSWER_BYTES_MAX, PROVIDER_KEYS_MAX, PROVIDER_URL_CHARS_MAX = 64 * 1024, 100, 2_000
assert PROVIDER_ANSWER_BYTES_MAX <= RESPONSE_BYTES_MAX, (
    "a longer one is not told from its beginning"
)
# Keys of RSA that are not too weak to trust nor too long to compute with.
RSA_BITS_MIN, RSA_BITS_MAX = 2_048, 8_192
# Clocks of the provider and of PostgreSQL may be apart so far.
ID_TOKEN_LEEWAY_SECONDS = 60
# `sub` is at most 255 characters (OpenID Connect Core §2); of a claim so many values are looked at.
SUBJECT_CHARS_MAX, CLAIM_VALUES_MAX = 255, 2_000
OIDC_TEXT_CHARS_MAX, OIDC_ROLES_MAX = 500, 200
# What the provider sends along with a browser, and where that goes on afterwards.
SIGN_ON_CODE_CHARS_MAX, RETURN_TO_CHARS_MAX = 4_096, 1_000
# Users of one name get a number behind it, up to this.
NAMESAKES_MAX = 20

# The audit log. Of what was before and after an entry shows so much: levels, members of each,
# values in all, characters of a text, bytes in all.
AUDIT_DEPTH_MAX, AUDIT_MEMBERS_MAX, AUDIT_VALUES_MAX = 6, 50, 1_000
AUDIT_TEXT_CHARS_MAX = 500
AUDIT_BYTES_MAX, AUDIT_NAME_CHARS_MAX, AUDIT_NOTE_CHARS_MAX = 8 * 1024, 256, 1_000
# What strangers and those who are refused do is written in full so many times at once, and then
# one in so many seconds, of each node; what comes between is counted in the next.
AUDIT_REFUSED_BURST, AUDIT_REFUSED_SECONDS = 60, 6.0
# windlass.audit_forget refuses to forget sooner than this, and so do the settings.
AUDIT_DAYS_MIN, AUDIT_DAYS, AUDIT_DAYS_MAX, AUDIT_FORGET_BATCH = 30, 365, 36_500, 5_000
# Exports that a node sends at once, page by page.
AUDIT_EXPORTS_MAX = 4

# Lists and streams.
PAGE_MAX, PAGE_DEFAULT = 500, 50
# Of the things that the beginning of an id can mean, so many are named.
ID_MATCHES_MAX = 10
# A graph shows the beginning of what a step gave; why an execution waits names so many of its jobs.
OUTPUT_SHOWN_CHARS_MAX, WHY_JOBS_MAX = 1_000, 20
WAIT_SECONDS_MAX = 60.0
# Live events: one whose transaction was open for so long is told when that ends. So many are
# remembered, so that none is told twice.
STREAM_LATE_SECONDS_MAX, STREAM_REMEMBERED_MAX = 600.0, 200_000
assert SIGNAL_WAIT_SECONDS <= WAIT_SECONDS_MAX < SIGNAL_LIFE_SECONDS
STREAM_CLIENTS_MAX = 200
WAITERS_MAX = 10_000

# The sweep of dead coordinators. One call judges so many at once and takes so many names of theirs:
# less than a millisecond of Redis' time, and far from what Lua can unpack.
SWEEP_BATCH, SWEEP_NAMES_MAX, SWEEP_KEYS_MAX = 30, 200, 1_000
assert 4 * SWEEP_BATCH + 2 * SWEEP_NAMES_MAX <= SWEEP_KEYS_MAX, "each has four keys in any case"
SWEEP_PAGE, SWEEP_FORGET_BATCH, SWEEP_CALLS_AT_ONCE = 1_000, 500, 1
# Without scripts: how often to try to take ids out of a set that others write to all the time.
SWEEP_TRIES_MAX = 200
# A coordinator may miss two beats; one that is said to be stale has missed at least three.
STALE_BEATS_MIN = 3
# Of a whole sweep, and of one call in it. It is nobody's hot path, and a slow answer is an answer.
SWEEP_SECONDS_MAX, SWEEP_CALL_SECONDS = 300.0, 5.0
assert SWEEP_CALL_SECONDS < SWEEP_SECONDS_MAX
# A report names so many at most; it counts them all.
STALE_IDS_MAX = 100_000

# Schedules. A rule's text, its shortest period, and how many instants it may name one by one.
CRON_CHARS_MAX, EVERY_SECONDS_MIN, AT_INSTANTS_MAX = 256, 1.0, 1_000
assert EVERY_SECONDS_MIN < DURATION_SECONDS_MAX
JITTER_SECONDS_MAX = 24 * 3600.0
# A calendar: days and ranges of its own, countries, and how far a day is moved at most.
CALENDAR_DAYS_MAX, CALENDAR_COUNTRIES_MAX, CALENDAR_MOVE_DAYS_MAX = 2_000, 16, 366
# A rule whose calendar leaves no day for so long is called silent; 29 February on a given weekday
# comes back within forty years.
CALENDAR_HORIZON_YEARS = 50
# Instants are counted over so long a range at most: some milliseconds for each ten years.
COUNT_YEARS_MAX = 100
# Fired later than this it is called late; later than that, the instant was missed: longer than it
# takes until a frozen leader is followed.
LATE_SECONDS, MISFIRE_SECONDS = 1.0, 10.0
assert LATE_SECONDS < 2 * LEADER_LEASE_SECONDS < MISFIRE_SECONDS
# Of what was missed at once: so many are made by fire_all, and so many have a row of their own.
FIRE_ALL_MAX, PENDING_MAX = 1_000, 10_000
assert FIRE_ALL_MAX < PENDING_MAX
# Schedules that one transaction fires, and instants that it decides.
FIRE_BATCH, FIRE_DECISIONS_MAX = 1_000, 20_000
assert PENDING_MAX <= FIRE_DECISIONS_MAX
# The leader looks this often while something is due so soon, or nobody could tell it; or so often.
FIRE_POLL_SECONDS, FIRE_NEAR_SECONDS, FIRE_IDLE_SECONDS = 1.0, 60.0, 5.0
# Where there is no schedule at all; and what falls due within so long is fired together.
FIRE_EMPTY_SECONDS, FIRE_GATHER_SECONDS = 9.0, 0.05
assert FIRE_GATHER_SECONDS < LATE_SECONDS < FIRE_IDLE_SECONDS < FIRE_EMPTY_SECONDS < MISFIRE_SECONDS
assert FIRE_POLL_SECONDS <= LATE_SECONDS < FIRE_IDLE_SECONDS < MISFIRE_SECONDS
# A schedule whose time passed so long ago and that nobody fired is silent.
SILENT_SECONDS = 60.0
assert MISFIRE_SECONDS < SILENT_SECONDS
# What a schedule has made is looked at so far back for what has not ended.
OVERLAP_LOOK_MAX = 8
# Why a schedule is paused, in the words of whoever did it.
SCHEDULE_NOTE_CHARS_MAX = 500
# The next instants of a rule that are shown, unless said and at most.
PREVIEW_DEFAULT, PREVIEW_MAX = 20, 1_000
assert PREVIEW_DEFAULT <= PREVIEW_MAX
# One backfill; a ledger is cleared so many rows at a time; the doctor looks at so many of each.
BACKFILL_MAX, LEDGER_FORGET_BATCH, LEDGER_SAMPLE = 100_000, 10_000, 1_000
# One that cannot be fired as it is is tried again after so long.
FIRE_AGAIN_SECONDS = 60.0
# What a node that has more urgent things to do claims, and how often: enough for an urgent job.
SPARED_BATCH_MAX, SPARED_SECONDS = 20, 0.02
assert FIRE_AGAIN_SECONDS > FIRE_IDLE_SECONDS
# A round waits so long for a row that another transaction holds; then it fires what needs no such
# row, and the rest is looked at again after a moment. Who asks for one schedule waits longer.
FIRE_LOCK_SECONDS, FIRE_PART_LOCK_SECONDS, FIRE_HELD_SECONDS = 0.1, 0.02, 1.0
FIRE_ASKED_LOCK_SECONDS = 0.5
assert FIRE_PART_LOCK_SECONDS < FIRE_LOCK_SECONDS < FIRE_ASKED_LOCK_SECONDS < FIRE_HELD_SECONDS
assert FIRE_HELD_SECONDS < MISFIRE_SECONDS, "what is held for a moment is late and not missed"
# Rules, the next instants of each, and policies that a node keeps in mind.
RULES_KEPT_MAX, NEXTS_OF_RULE_MAX, POLICIES_KEPT_MAX = 20_000, 16, 1_000

# Durable functions: a step's name, the checkpoints that one statement writes, and how often it is
# tried again while PostgreSQL is away.
CHECKPOINT_NAME_CHARS_MAX, CHECKPOINT_BATCH_MAX = 256, 500
CHECKPOINT_AGAIN_SECONDS, CHECKPOINT_AGAIN_SECONDS_MAX = 0.05, 2.0
assert CHECKPOINT_AGAIN_SECONDS < CHECKPOINT_AGAIN_SECONDS_MAX
# To wait for a signal holds the execution's row, which somebody may keep: it is waited for so long
# at a time, and on so many connections of those that claim and accept.
LISTEN_LOCK_SECONDS, LISTENS_AT_ONCE = 0.02, 2
# A shorter rest keeps its slot, a longer one gives it back; and one that listens for a signal looks
# by itself so often all the same, for a node of an earlier release may have put it to rest.
DURABLE_REST_SECONDS, DURABLE_LISTEN_SECONDS = 5.0, 600.0
assert DURABLE_REST_SECONDS < DURABLE_LISTEN_SECONDS
# What a function does between its steps may take so long before it is said to rest only.
DURABLE_GRACE_SECONDS = 0.02
assert DURABLE_GRACE_SECONDS < DURABLE_REST_SECONDS

# Housekeeping.
IDEMPOTENCY_KEPT_SECONDS = 24 * 3600
# How long a repeated request waits for the answer of the first one, and how often it looks.
ANSWER_WAIT_SECONDS, ANSWER_LOOK_SECONDS = 10.0, 0.1
assert ANSWER_LOOK_SECONDS < ANSWER_WAIT_SECONDS < WAIT_SECONDS_MAX
# Days of the history are made so far ahead; when so few are left, somebody is told.
PARTITIONS_AHEAD_DAYS, PARTITIONS_LOW_DAYS = 14, 3
assert PARTITIONS_LOW_DAYS < PARTITIONS_AHEAD_DAYS
# Making or dropping a day waits for a lock so long (0012_history.sql has the number too), because
# finishing waits behind it; what cannot be had is tried again a few times, then after a rest.
DAY_LOCK_SECONDS, DAY_TRIES, DAY_TRY_AGAIN_SECONDS = 0.25, 3, 1.0
RETAIN_SECONDS, RETAIN_AGAIN_SECONDS = 3600.0, 600.0
assert DAY_LOCK_SECONDS < DAY_TRY_AGAIN_SECONDS < RETAIN_AGAIN_SECONDS < RETAIN_SECONDS
# A day past the retention is thinned by so many blocks at a time. So many rows and bytes that are
# needed still may move when it is dropped, while finishing waits; the last look may take so long.
THIN_BLOCKS, DAY_KEPT_MAX, DAY_DROP_SECONDS = 256, 5_000, 600
DAY_KEPT_BYTES_MAX = 4 * 1024 * 1024
# Each try to drop a day that somebody reads keeps finishing waiting. Who reads the whole history
# reads every day: after so many days of a table the others are left for the next round.
DAYS_BUSY_MAX = 2
# So many ended parents of waiting jobs are kept beyond the retention.
DAY_PARENTS_MAX = 100_000
COUNTER_FOLD_SECONDS = 2.0
# What only the leader does.
SWEEP_EVERY_SECONDS, FORGET_EVERY_SECONDS = 300.0, 3600.0
TEND_EVERY_SECONDS, TEND_IDLE_SECONDS = 5.0, 15.0
WAIT_IN_SLOT_SECONDS_MAX = 300.0
