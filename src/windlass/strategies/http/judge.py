"""What a receiver's answer (HTTP status) means: done, another try, or the end.

asked for `webhook-delivery: abort`     -> the end, whatever else it says
the job's `expect` holds                -> done, whatever the status
2xx (or the job's own `statuses`)       -> done; not as expected: another try
408 425 429 5xx                         -> another try, when `retry-after` says if it does
everything else                         -> the end; 410 is called "gone"
done, with 202 and `windlass-async`     -> the receiver will say how it ended
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal

import msgspec

from windlass.limits import EXPECT_QUICK_WORK_MAX, EXPECT_WORK_MAX, RETRY_AFTER_SECONDS_MAX
from windlass.model.job.outcome import Failed, Outcome, Succeeded
from windlass.model.json.pointer import step
from windlass.model.json.storable import harmless_text
from windlass.model.json.whole import whole
from windlass.strategies.http.answer import Answer
from windlass.strategies.http.expect import Spent, Unanswerable, expectation

Verdict = Literal["succeed", "retry", "fail"]
VERDICTS: Final[tuple[Verdict, ...]] = ("succeed", "retry", "fail")
# Another try may help: too slow, too early, too often; and 5xx, when the far side broke.
_TRANSIENT: Final = frozenset({408, 425, 429})
CLASSES: Final = ("1xx", "2xx", "3xx", "4xx", "5xx")
STATUSES_MAX: Final = 100


async def judge_answer(
    answer: Answer, given: Mapping[str, Any], redirect_host: str | None = None
) -> Outcome:
    """`judge`, in a thread where what is expected takes longer than the loop may be held up."""
    try:
        return judge(answer, given, redirect_host, EXPECT_QUICK_WORK_MAX)
    except Spent:
        return await asyncio.to_thread(judge, answer, given, redirect_host)


def judge(
    answer: Answer,
    given: Mapping[str, Any],
    redirect_host: str | None = None,
    work_max: int = EXPECT_WORK_MAX,
) -> Outcome:
    """The outcome of an attempt that got an answer.

    `given` is the job's input; `redirect_host` the host of a redirect that was not followed. Raises
    Spent when `work_max` was too little to tell and less than may be.
    """
    if answer.headers.get("webhook-delivery", "").strip().lower() == "abort":
        return _failed(answer, "aborted by receiver", "the receiver asked to stop", is_final=True)
    verdict = verdict_of(
        answer.status, given.get("statuses"), is_renewable=_is_renewable(given.get("auth"))
    )
    if "expect" in given:
        try:
            is_expected = expectation(given["expect"]).holds(answer, work_max)
        except Unanswerable as trouble:
            if isinstance(trouble, Spent) and work_max < EXPECT_WORK_MAX:
                raise
            return _failed(answer, "expect", f"the expectation has no answer: {trouble}")
        if is_expected:
            verdict = "succeed"
        elif verdict == "succeed":
            said = f"the receiver answered {answer.status}, but not as expected"
            return _failed(answer, "unexpected answer", said)
    if verdict == "succeed":
        return Succeeded(_result(answer))
    cause = "gone" if answer.status == 410 and verdict == "fail" else f"http {answer.status}"
    said = (
        f"the receiver answered {answer.status} {harmless_text(answer.reason or '')[:100]}".rstrip()
    )
    if redirect_host is not None:
        said += (
            f" and points to {redirect_host}; redirects are followed as often as `redirects` says, "
            "and only within one origin"
        )
    return _failed(answer, cause, said, is_final=verdict == "fail")


def verdict_of(
    status: int, statuses: Mapping[str, Any] | None, *, is_renewable: bool = False
) -> Verdict:
    """What a status means; in the job's own `statuses` a number beats a class.

    `is_renewable`: the credentials were a token, and the next try asks for a new one.
    """
    if statuses is not None:
        for name in (status, f"{status // 100}xx"):
            for verdict in VERDICTS:
                if name in statuses.get(verdict, ()):
                    return verdict
    if 200 <= status < 300:
        return "succeed"
    if status in _TRANSIENT or status >= 500 or (status == 401 and is_renewable):
        return "retry"
    return "fail"


def _is_renewable(auth: Any) -> bool:
    entries = auth if isinstance(auth, list) else [auth]
    return any(entry is not None and entry["type"] == "oauth2" for entry in entries)


def is_deferred(answer: Answer) -> bool:
    """Whether the receiver took the work and will say later how it ended."""
    return (
        answer.status == 202 and answer.headers.get("windlass-async", "").strip().lower() == "true"
    )


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """The receiver's wish in seconds or as a date; None: none that makes sense."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        # A number of any length; Python refuses to read one of thousands of digits.
        return float(min(int(text[:12]), RETRY_AFTER_SECONDS_MAX))
    until = _date(text)
    if until is None:
        return None
    # By the receiver's own clock where it shows one: ours may differ.
    seconds = (until - (_date(headers.get("date", "")) or now)).total_seconds()
    return min(seconds, float(RETRY_AFTER_SECONDS_MAX)) if seconds > 0 else None


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text[:100])
    except (ValueError, OverflowError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _failed(answer: Answer, cause: str, message: str, *, is_final: bool = False) -> Failed:
    return Failed(
        cause,
        message,
        {"status_code": answer.status, "body": answer.excerpt},
        is_final=is_final,
        retry_after_seconds=None
        if is_final
        else retry_after_seconds(answer.headers, datetime.now(UTC)),
    )


def _result(answer: Answer) -> bytes:
    result: dict[str, Any] = {"status_code": answer.status, "body": answer.excerpt}
    text = answer.json_text
    if text is not None:
        result["json"] = msgspec.Raw(text.encode())
    return msgspec.json.encode(result)


def statuses_problems(value: object) -> list[tuple[str, str]]:
    """What is wrong with the `statuses` of a job."""
    if not isinstance(value, dict) or not value.keys() <= set(VERDICTS):
        return [("", 'must be an object such as {"succeed": [404], "retry": ["4xx"], "fail": []}')]
    problems: list[tuple[str, str]] = []
    seen: dict[int | str, str] = {}
    for verdict, names in value.items():
        if not isinstance(names, list) or len(names) > STATUSES_MAX:
            problems.append((f"/{verdict}", f"must be a list of at most {STATUSES_MAX} statuses"))
            continue
        for place, name in enumerate(names):
            pointer = f"/{verdict}" + step(str(place))
            status = _status(name)
            if status is None:
                problems.append((pointer, 'must be 100 to 599, or a class such as "4xx"'))
            elif seen.setdefault(status, verdict) != verdict:
                problems.append((pointer, f"{status} stands under {seen[status]} too"))
    return problems


def _status(name: object) -> int | str | None:
    """None: it is neither a status nor a class of them."""
    if isinstance(name, str):
        return name if name in CLASSES else None
    found = whole(name)
    return found if found is not None and 100 <= found <= 599 else None
