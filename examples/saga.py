"""A saga: when a later step fails, what was done before is undone, the newest first.

make up ARGS='--app examples.saga:app'
.venv/bin/python -m examples.saga
"""

from __future__ import annotations

from typing import Any

import windlass

app = windlass.App("saga")


@app.task
def book(what: str, trip: str) -> str:
    return f"{what} for {trip}"


@app.task
def give_back(booking: str) -> str:
    windlass.current().log(f"gave back {booking}")
    return booking


@app.task(retry=1)
def rent_car(trip: str) -> str:
    if trip == "the island":
        raise LookupError("there is no car on the island")
    return f"car for {trip}"


@app.workflow("book_trip")
def book_trip(trip: str) -> Any:
    flight = book.step("flight", trip).named("flight")
    flight.undo(give_back, flight.out)
    hotel = book.step("hotel", trip, after=flight).named("hotel")
    hotel.undo(give_back, hotel.out)
    car = rent_car.step(trip, after=hotel).named("car")
    return {"flight": flight, "hotel": hotel, "car": car}


def main() -> None:
    print("booked:  ", book_trip.start("the coast").result(timeout=30))
    failed = book_trip.start("the island")
    try:
        failed.result(timeout=30)
    except windlass.JobFailed as trouble:
        print("failed:  ", trouble.message)
    with windlass.Client() as client:
        jobs = client.executions.jobs(failed.id)
        undone = [job for job in jobs if job["input"].get("task") == "give_back"]
        for job in sorted(undone, key=lambda job: str(job["id"])):
            print("undone:  ", job["result"])


if __name__ == "__main__":
    main()
