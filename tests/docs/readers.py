"""Who reads which page: what stands there in real life and not on the page.

A database of orders, a receiver that is away, a second node. Whatever a page can say itself it
says itself. `NOT_RUN` is all that no reader does, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.docs.follow import Reader
from tests.docs.log_lines import are_log_lines, is_json_line

# Played by a test of its own, which fails when something stands there that it does not play.
ELSEWHERE: Final[Mapping[str, str]] = {
    "README.md": "tests/docs/test_readme.py",
    "docs/coming-from-celery.md": "tests/docs/test_coming_from_celery.py",
    "docs/operating/backup.md": "tests/servers/test_backup_of_own.py",
}

# By page, how the step begins. One that is not there any more fails a test.
NOT_RUN: Final[Mapping[str, Mapping[str, str]]] = {
    "README.md": {"git clone": "the address of the repository is not known before it is published"},
}

# In the shell of whoever began `windlass up` himself: where its database is.
EMBEDDED: Final = """\
export DATABASE_URL="postgresql://windlass:$(cat .windlass/passwords/postgresql)@/windlass"
DATABASE_URL="$DATABASE_URL?host=$PWD/.windlass/postgresql"
REDIS_URL="unix://:$(cat .windlass/passwords/valkey)@$PWD/.windlass/valkey/valkey.sock"
"""
ORDERS: Final = 'db -qc "CREATE TABLE orders (id int, total numeric)"'
SHOP: Final = """\
import windlass

app = windlass.App("shop")


@app.task
def pack(number: int) -> str:
    return f"packed {number}"
"""

# Charged and shipped at first, and told of somebody else the second time.
CHANGED: Final = """\
import windlass

app = windlass.App("changed")


def charge(order: int) -> None: ...


def ship(order: int) -> None: ...


def notify(order: int) -> None: ...


@app.durable(retry=windlass.Retry(2, initial="100ms"))
async def restock(order: int) -> None:
    await windlass.step(charge, order)
    if windlass.current().attempt == 1:
        await windlass.step(ship, order)
        raise RuntimeError("deployed")
    await windlass.step(notify, order)
"""
# What docs/testing.md imports.
TESTED: Final = """\
import windlass

app = windlass.App("shop")


@app.task(retry=windlass.Retry(5))
def charge(amount: int) -> str:
    return "paid"


@app.task
def send_receipt(order: int) -> None: ...


@app.task
def place_order(order: int) -> str:
    send_receipt.enqueue(order)
    return "placed"
"""
CRONTAB: Final = """\
#!/bin/sh
cat <<'END'
# what runs at night
# and at the start
30 2 * * * /usr/local/bin/backup.sh
@reboot start-it
END
"""
# A receiver that answers later, and a delivery to it: tells what it was told.
LATER: Final = """\
from http.server import BaseHTTPRequestHandler, HTTPServer

import windlass


class Later(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.send_response(202)
        self.send_header("windlass-async", "true")
        self.end_headers()
        print("WEBHOOK_ID=" + self.headers["webhook-id"])
        print("TOKEN=" + self.headers["windlass-callback-token"])

    def log_message(self, *_: object) -> None: ...


with HTTPServer(("127.0.0.1", 0), Later) as server:
    url = f"http://127.0.0.1:{server.server_port}/"
    job = windlass.Client().jobs.submit("http", {"url": url, "json": {}})
    server.handle_request()
print("JOB=" + job.id)
"""
MYSITE: Final = """
import os

from psycopg.conninfo import conninfo_to_dict

SECRET_KEY = "only for tests"
USE_TZ = True
INSTALLED_APPS = ["django_tasks"]
_found = conninfo_to_dict(os.environ.get("DATABASE_URL", ""))
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": _found.get("host"),
        "NAME": _found.get("dbname"),
        "USER": _found.get("user"),
        "PASSWORD": _found.get("password"),
    }
}
"""
MYSITE_TASKS: Final = """\
from django_tasks import task


@task(queue_name="mail")
def told(name: str) -> str:
    return f"told {name}"


if __name__ == "__main__":
    import django
    from django.db import transaction

    django.setup()
    from mysite.tasks import told as known

    with transaction.atomic():
        made = known.enqueue("Ada")
    import windlass

    with windlass.Client() as client:
        assert client.jobs.wait(made.id, 30).state == "succeeded"
    made.refresh()
    assert made.return_value == "told Ada"
"""

GUIDES: Final = (
    Reader(
        page="docs/tasks.md",
        node=False,
        after={
            "windlass up --app shop:app": EMBEDDED + ORDERS,
            "import logging": ">>> pack(3)",
        },
    ),
    Reader(
        page="docs/client.md",
        after={
            "made = client": ">>> assert len({job.id for job in made}) == 1000",
            "try:\n    client.jobs.get": ">>> client.close()",
        },
    ),
    Reader(
        page="docs/durable.md",
        node=False,
        files={"changed.py": CHANGED},
        after={
            "# both.py": """
windlass up --app both:app --app changed:app

>>> from both import both
>>> assert both.start().result(timeout=30) == ["parcel of 2", "parcel of 3"]
""",
        },
        shows={
            "'restock' did 'ship'": """
windlass workflow run restock --input '{"order": 1}' --wait; test $? = 1

windlass job get $(windlass dead ls -o id) -o json | python -c '
import json, sys
print(json.load(sys.stdin)["error"]["message"])'
""",
        },
    ),
    Reader(
        page="docs/http.md",
        before={"mail()": "windlass queue set mail --max-jobs 500"},
        shows={'{"verb"': "api POST /v1/jobs/bulk -d @block"},
    ),
    Reader(
        page="docs/command-line.md",
        first="""
JOB=$(windlass job submit noop --delay 1h -o id)
SHORT=${JOB:4:18}
printf '{"kind": "noop", "delay": 3600}\\n%.0s' 1 2 > two
TWO=$(windlass job submit --file two -o id | head -1)
TWO=${TWO:4:12}
mkdir -p ~/.config/fish/completions
""",
        words={
            "01a1f04422b7c0": "$SHORT",
            "error: 01a1f054a98e may": "error: … may",
            "  job_01a1f054a98e703896a1c07ce3b9d2f4  dead, 78 s ago, reserve": "…",
            "  job_01a1f054a98e70379c445ac8d4e387b9  queued, 78 s ago, noop\n": "",
            "  job_01a1f054a98e70379c445ac8d4e387b9  queued, 78 s ago, noop": "",
            "01a1f054a98e": "$TWO",
            '"${fpath[1]}/_windlass"': "_windlass",
        },
        fails={"windlass job cancel 01a1f054a98e": 2},
        after={"windlass completion fish": "test -s _windlass && bash -n $d/windlass"},
    ),
    Reader(
        page="docs/audit.md",
        after={"windlass audit export": "test $(wc -l < audit.jsonl) -ge 2"},
    ),
    Reader(page="docs/quotas.md"),
    Reader(page="docs/locks.md"),
    Reader(page="docs/sign-on.md"),
    Reader(page="docs/outbox.md", first=ORDERS),
    Reader(
        page="docs/plugins.md",
        # As an installer does it: what the node finds is what pyproject.toml names.
        after={
            "# acme_sms.py": """
mkdir acme_sms-1.dist-info
python -c '
import tomllib
groups = tomllib.load(open("pyproject.toml", "rb"))["project"]["entry-points"]
with open("acme_sms-1.dist-info/entry_points.txt", "w") as file:
    for group, entries in groups.items():
        print(f"[{group}]", *(f"{k} = {v}" for k, v in entries.items()), sep=chr(10), file=file)
'
printf 'Metadata-Version: 2.1\\nName: acme-sms\\nVersion: 1\\n' > acme_sms-1.dist-info/METADATA
""",
        },
    ),
    Reader(
        page="docs/users-and-keys.md",
        node=False,
        # Who reads it sits at a terminal and is asked.
        words={
            "windlass login --user admin": (
                "windlass login --user admin --password-from one-time --new-password-from mine"
            ),
        },
        before={
            "windlass login": """
sed -n 's/.*one-time password //p' typed/*.said > one-time

echo "a mill by the river" > mine
""",
        },
        fails={
            "WINDLASS_TOKEN=$TOKEN windlass job submit noop --queue mail": 4,
            "WINDLASS_TOKEN=$TOKEN windlass queue pause": 4,
        },
        after={"windlass user reset-password": "windlass logout"},
    ),
    Reader(page="docs/workflows.md"),
    Reader(
        page="docs/workflows-as-code.md",
        after={
            "# send.py": """
>>> import asyncio, gift, send, shop
>>> asyncio.run(shop.app.publish())
>>> code = {name: workflow.definition() for name, workflow in shop.app.workflows.items()}
>>> assert code.keys() == {"fulfil", "gift", "send"}
>>> assert code["fulfil"]["description"] == "Charge, pack, ask about risky ones, ship."
>>> assert code["fulfil"]["steps"][0]["undo"]["input"]["task"] == "refund"
>>> assert code["send"]["steps"][-1]["join"] == "any"
""",
        },
    ),
    Reader(
        page="docs/schedules.md",
        files={
            "bin/crontab": CRONTAB,
            "rebuild.json": '{"name": "rebuild", "steps": [{"id": "a", "kind": "noop"}]}',
        },
        first="windlass workflow apply rebuild.json",
        fails={"crontab -l": 1},
        shows={
            '{"weekdays"': """
api POST /v1/schedules/preview -d "{\\"cron\\": \\"0 8 * * *\\", \\"calendar\\": $(cat block)}"
""",
            '{"cron"': "api PUT /v1/schedules/books -d @block",
        },
        after={
            "# jobs.py": """
>>> import jobs
>>> bodies = [schedule.body("jobs") for schedule in jobs.app.schedules.values()]
>>> found = [body["job"]["input"]["task"] for body in bodies]
>>> assert found == ["digest", "count_stock", "close_books"]
>>> import asyncio; asyncio.run(jobs.app.publish())
""",
        },
    ),
    Reader(
        page="docs/testing.md",
        node=False,
        files={"shop.py": TESTED},
        after={"# test_shop.py": "python -m pytest -q -p no:cacheprovider test_shop.py"},
    ),
    Reader(
        page="docs/integrations.md",
        node=False,
        files={"shop.py": SHOP, "more.py": MYSITE, "mysite/tasks.py": MYSITE_TASKS},
        after={
            "# web.py": """
>>> import web
>>> from fastapi.testclient import TestClient
>>> with TestClient(web.api) as client:
>>>     answer = client.post("/orders?number=7").json()
>>>     assert answer["job"].startswith("job_"), answer
""",
            "# mysite/settings.py": "cat more.py >> mysite/settings.py\n" + EMBEDDED,
            "DJANGO_SETTINGS_MODULE": """
DJANGO_SETTINGS_MODULE=mysite.settings python -m mysite.tasks
""",
            "windlass up --app shop_celery": "windlass queue ls",
        },
    ),
    Reader(
        page="docs/webhooks.md",
        node=False,
        files={"later.py": LATER},
        after={
            "import os": """
>>> from datetime import UTC, datetime
>>> os.environ["WEBHOOK_SECRET"] = "whsec_" + "0f" * 16
>>> at = datetime.now(UTC)
>>> signed = Webhook(os.environ["WEBHOOK_SECRET"]).sign("msg_1", at, "{}")
>>> stamp = str(int(at.timestamp()))
>>> heads = {"webhook-id": "msg_1", "webhook-timestamp": stamp, "webhook-signature": signed}
>>> assert verified(b"{}", heads) == {}
""",
            'curl "http://127.0.0.1:5777/v1/jobs/$WEBHOOK_ID': "windlass job watch $JOB",
        },
        before={
            'curl "http://127.0.0.1:5777/v1/jobs/$WEBHOOK_ID': 'eval "$(python later.py)"',
            "printenv": "export SHOP_TOKEN=12345678",
        },
    ),
)
# A task that does nothing, in a package.
QUIET: Final = """\
import windlass

app = windlass.App("{0}")


@app.task
def {0}() -> None: ...
"""
SECOND_NODE: Final = (
    "WINDLASS_PORT= WINDLASS_HEARTBEAT_SECONDS=0.5 windlass node --roles worker,leader --workers 8"
)
# Each line of the loop is a question to the server: a fact is waited for, and no time.
RUNNING: Final = """
until test "$(windlass job ls --state running -o id | wc -l)" = {0}; do :; done
"""
STANDING: Final = "JOB=$(windlass job submit noop --delay 1h -o id)"

OPERATIONS: Final = (
    Reader(
        page="docs/operations.md",
        node=False,
        files={
            "shop/tasks.py": QUIET.format("shop"),
            "mail/tasks.py": QUIET.format("mail"),
        },
        words={
            "/srv/windlass": ".windlass",  # one folder is made in less time than two
            "postgresql://windlass:secret@db/windlass": "$DATABASE_URL",
            "redis://cache:6379/0": "$REDIS_URL",
            "wlk_…": "$(cat .windlass/admin.key)",
            "5 jobs (2 unfinished), 0 executions, 0 schedules": "…",
            "0024_bulk": "…",
            "/safe/secret.key": "$PWD/.windlass/secret.key",
            "/backup/windlass.dump": "windlass.dump",
        },
        shows={
            "wrote windlass.dump": """
env -u WINDLASS_SECRET_KEY windlass backup windlass.dump --data .windlass --force
"""
        },
        before={
            "export WINDLASS_DATABASE_URL": EMBEDDED
            + "mkdir -p etc/windlass && cp .windlass/secret.key etc/windlass/",
            "windlass node --roles api": "export WINDLASS_PORT=$SECOND_PORT",
        },
    ),
)
TOUR: Final = (
    Reader(
        page="docs/tour.md",
        node=False,
        first="ln -s $ROOT/examples examples",
        fails={'db "UPDATE': 1, "windlass job submit python": 1},
        numbers=frozenset({"windlass node ls"}),  # how much of a node's work its last beat told of
        words={"2026-11-15T20:03:21Z": "$AT", '"seconds": 20': '"seconds": 8'},
        before={
            "windlass job get $JOB --at": (
                """AT=$(windlass job get $JOB -o json | grep -oP '"created_at": ?"\\K[^"]+')"""
            ),
            "yes": """
export WINDLASS_LEASE_SECONDS=4 WINDLASS_HEARTBEAT_SECONDS=1

make up ARGS='--app examples.shop:app --nodes 2'
""",
            "windlass node ls": RUNNING.format(32),
            "windlass node get NODE": """
of() { db "COPY ($1) TO STDOUT" | tr -d -; }
NODE=$(of "SELECT id FROM windlass.node WHERE NOT 'api' = ANY (roles) AND state = 'active'")
JOB=job_$(of "SELECT id FROM windlass.job WHERE node_id = '$NODE' LIMIT 1")
NODE=node_$NODE
PID=$(windlass node get $NODE -o json | grep -oP '"pid": ?\\K\\d+')
""",
        },
        shows={
            "2026-11-15 20:04:25": """
windlass job watch $JOB

windlass job events $JOB
""",
        },
    ),
)

RUNBOOKS: Final = (
    Reader(page="docs/operating/leader.md"),
    Reader(
        page="docs/operating/least-privilege.md",
        first="""
export ADMIN_URL=$SERVER_URL OWNER_URL=$DATABASE_URL
psql() { "$PSQL" -Xq "$@"; }
NODE_URL=$(echo "$DATABASE_URL" | sed 's|//[^@]*@|//windlass_node:of-the-nodes@|')
""",
        words={"postgresql://windlass_node:of-the-nodes@db/windlass": "$NODE_URL"},
        before={"windlass node --roles": "export WINDLASS_PORT="},
        after={
            "windlass doctor": """
windlass doctor 2>&1 | grep 'as windlass_node, which owns nothing'
""",
            "windlass migrate role shop": """
SHOP_URL=$(echo "$OWNER_URL" | sed 's|//[^@]*@|//shop:of-the-shop@|')
psql "$SHOP_URL" -c "SELECT windlass.enqueue('{\"kind\": \"noop\"}')"
! psql "$SHOP_URL" -c "SELECT FROM windlass.job"
""",
            "export WINDLASS_REDIS_URL": "windlass config show | grep -q rediss://",
        },
    ),
    Reader(
        page="docs/operating/logs.md",
        judges={
            "14:02:09": are_log_lines,
            "14:10:02": are_log_lines,
            '{"name"': is_json_line,
        },
    ),
    Reader(
        page="docs/operating/nodes.md",
        before={"windlass node ls": SECOND_NODE, "windlass job attempts": STANDING},
        fails={"windlass node signal ping --to": 7},
    ),
    Reader(
        page="docs/operating/postgres.md",
        before={
            "windlass health": """
NAME=$(db -Atc 'SELECT current_database()')
away() { "$PSQL" -Xq "$SERVER_URL" -c "ALTER DATABASE $NAME ALLOW_CONNECTIONS $1" -c "
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '$NAME'"; }
away false
""",
        },
        after={
            "curl": "away true",
            "WINDLASS_DATABASE_URL": "windlass config show | grep -q one:5432",
        },
    ),
    Reader(
        page="docs/operating/queues.md",
        app="examples.shop:app",
        before={
            "windlass queue ls": "windlass job submit noop --wait",
            "windlass job ls": STANDING,
            "windlass queue get": "windlass job cancel $JOB",
            "windlass dead groups": """
! windlass task run reserve what=tea count=11 --max-attempts 1 --wait
""",
            "windlass job cancel --queue mail --task reserve --since 2h --dry-run": """
for n in 1 2 3; do windlass task run reserve what=tea count=1 --queue mail --delay 1h; done
""",
        },
    ),
    Reader(
        page="docs/operating/redis.md",
        settings={"WINDLASS_REDIS_URL": "redis://127.0.0.1:1/0"},
        # Another database's node was there first.
        before={
            "windlass health\nstatus          degraded\ndegraded        redis_shared": """
NAME=$(db -Atc 'SELECT current_database()')
"$PSQL" -Xq "$SERVER_URL" -c "CREATE DATABASE ${NAME}_b OWNER windlass"
export WINDLASS_PORT= WINDLASS_DATABASE_URL=${DATABASE_URL/$NAME/${NAME}_b}

windlass node --roles worker

export WINDLASS_PORT=$SECOND_PORT WINDLASS_DATABASE_URL=$DATABASE_URL
export WINDLASS_URL=http://127.0.0.1:$SECOND_PORT

windlass node --roles api

until windlass health | grep -q redis_shared; do :; done
""",
        },
        after={
            "WINDLASS_REDIS_URL=redis://cache": "windlass config show | grep -q cache:6379/1",
            "WINDLASS_REDIS_URL=redis+sentinel": "windlass config show | grep -q mymaster",
            "WINDLASS_REDIS_URL=redis+cluster": "windlass config show | grep -q redis.cluster",
        },
    ),
    Reader(
        page="docs/operating/resize.md",
        first="NODE=$(windlass node ls -o id)",
        before={
            "windlass node resize NODE 2 --dry-run": """
windlass node resize --all 8 --wait 60s
for i in 1 2 3 4; do echo '{"kind": "wait", "input": {"seconds": 6}}'; done > waits
windlass job submit --file waits
"""
            + RUNNING.format(4),
            "windlass operation ls": """
windlass node resize --all 8 --wait 60s
windlass job submit wait --input '{"seconds": 6}'
"""
            + RUNNING.format(1)
            + "windlass node resize NODE 0 --drain-timeout 60s -o id",
        },
    ),
    Reader(page="docs/operating/schedules.md"),
    Reader(
        page="docs/operating/sweep.md",
        first=SECOND_NODE + "\n\nuntil windlass sweep --dry-run | grep -q 'kept 2'; do :; done",
    ),
    Reader(
        page="docs/operating/tls-and-proxies.md",
        node=False,
        fails={"WINDLASS_CA_FILE= windlass health": 9},
        after={
            "export WINDLASS_PUBLIC_URL": "windlass config show | grep -q windlass.example.com",
        },
    ),
    Reader(
        page="docs/operating/targets.md",
        words={"shop.example": "$NOBODY"},
        first="""
windlass target set $NOBODY --failures 1
for i in 1 2 3 4 5; do
    JOB=$(windlass job submit http --input '{"url": "http://'$NOBODY'/"}' -o id)
done
until windlass job why $JOB | grep -q 'is parked'; do :; done
""",
    ),
)
READERS: Final = (*GUIDES, *OPERATIONS, *TOUR, *RUNBOOKS)
