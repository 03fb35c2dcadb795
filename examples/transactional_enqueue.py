"""The order and the job that packs it are committed together, or neither is.

    make up ARGS='--app examples.transactional_enqueue:app'
    export DATABASE_URL=postgresql://…             # the database that Windlass lives in
    .venv/bin/python -m examples.transactional_enqueue

The task, too, writes through its job's own transaction: what it did is committed with its end.
"""

from __future__ import annotations

import os

import psycopg

import windlass

app = windlass.App("orders")

TABLES = """
CREATE TABLE IF NOT EXISTS orders (id int PRIMARY KEY, state text NOT NULL);
TRUNCATE orders
"""


@app.task(retry=5)
def pack(order: int) -> str:
    db = windlass.current().db
    db.execute("UPDATE orders SET state = 'packed' WHERE id = $1", order)
    return f"order {order} is packed"  # committed with that UPDATE, once, whatever crashes


def main() -> None:
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        connection.execute(TABLES)
        connection.commit()

        connection.execute("INSERT INTO orders VALUES (1, 'new')")
        lost = pack.using(connection=connection).enqueue(1)
        connection.rollback()  # neither the order nor its job ever was

        connection.execute("INSERT INTO orders VALUES (2, 'new')")
        packed = pack.using(connection=connection).enqueue(2)
        connection.commit()

        try:
            lost.state()
        except windlass.NotFound:
            print("rolled back: no job", 1)
        print("committed:  ", packed.result(timeout=30))
        print("orders:     ", connection.execute("SELECT id, state FROM orders").fetchall())


if __name__ == "__main__":
    main()
