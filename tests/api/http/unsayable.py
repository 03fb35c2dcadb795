"""Why a request that is valid by schema may be refused: what no JSON Schema can say.

Each reason is narrow: where it may be found, by its pointer, and how it is worded, by its detail.
Everything else that is refused is a hole in a schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Reason:
    """Regular expressions: all of the place and of the operation, the beginning of what is said."""

    why: str
    pointer: str
    detail: str
    operation: str = ".+"

    def holds(self, operation: str, pointer: str, detail: str) -> bool:
        is_here = re.fullmatch(self.operation, operation) and re.fullmatch(self.pointer, pointer)
        return bool(is_here and re.match(self.detail, detail, re.DOTALL))


# By the code of the problem, whatever it says.
CODES: Final = {"idempotency_mismatch": "which keys were used before"}
# By the operation: its request has no body, and what is refused was sent before.
OPERATIONS: Final = {
    "POST /v1/workflows/{name}/draft/publish": "the draft may be full of mistakes until now"
}

_JOB: Final = r"(/jobs/\d+|/job)?"
_STEP: Final = r"/steps/\d+"
_EXPRESSION: Final = rf"({_STEP}(/.+)?|/output(/.+)?|/concurrency/key)"
_INPUT: Final = rf"({_STEP}(/undo|/step)?)?/input"
_NUL: Final = r"holds the character U\+0000"
REASONS: Final[tuple[Reason, ...]] = (
    # Time: a schema knows no now, and compares no two values.
    Reason("what lies in the past by now", rf"{_JOB}/deadline", "lies in the past"),
    Reason("what lies in the past by now", "/(at|ends_at)", "lies in the past"),
    Reason("whose key asks", "user", "say whose sessions are", operation="DELETE /v1/sessions"),
    Reason("which passwords are known", "/(password|new)", "is among the first that somebody"),
    Reason("what lies in the past by now", "/expires_at", "must be an instant that is not past"),
    Reason("one of two fields", "/expires_in", "expires_at says it already"),
    Reason("how far ahead it is by now", rf"{_JOB}/run_at", "lies more than a year ahead"),
    Reason("the later of two instants", rf"{_JOB}/deadline", "lies before the job is due"),
    Reason("the later of two instants", "/ends_at", "does not lie after starts_at"),
    Reason("the later of two instants", "/to", "must lie after from"),
    Reason("the later of two days", r"/calendar/ranges/\d+", "ends before it begins"),
    Reason("whether it ever fires", "/(cron|at|starts_at|ends_at|calendar)", "never: "),
    Reason("the longer of two durations", "/jitter", "must be shorter than every"),
    Reason("the longer of two durations", "/breaker/rest_max", "must not be shorter than rest"),
    Reason("the longer of two durations", rf"{_JOB}/debounce_max", "must be at least as long"),
    # Syntax: an expression is a language of its own, and so is a rule of cron.
    Reason("the syntax of CEL", _EXPRESSION, r"(\$\{.*)?is not CEL: "),
    Reason("the syntax of a template", _EXPRESSION, r"\$\{\s*\} must be a CEL expression of 1 to"),
    Reason("what was said before", "/quota/requests_burst", "has no meaning without requests_per"),
    Reason("whose key it is that asks", "/is_personal", "you are no user"),
    Reason("the syntax of CEL", rf"{_JOB}{_INPUT}/expect", "is not CEL: |knows no "),
    Reason("the syntax of a template", _EXPRESSION, r"\$\{ has no closing brace"),
    Reason("how far an expression reaches", _EXPRESSION, "is a name, and expressions stand in"),
    Reason("the syntax of a cron field", "/cron", "(second|minute|hour|day of|month|year)"),
    Reason("a pattern that compiles", r".*/pattern", "is no regular expression|repeats too much"),
    # References: what exists is known when somebody asks.
    Reason(
        "which steps there are", rf"{_STEP}/(needs|default|cases/\d+/go)/\d+", "there is no step"
    ),
    Reason("which names there are", _EXPRESSION, r"(\$\{.*)?there is no "),
    Reason("that no two have one id", rf"{_STEP}/id", r"is the id of /steps/\d+ as well"),
    Reason("that no two have one id", rf"{_STEP}/needs/\d+", ".* is needed twice"),
    Reason("which jobs there are", r"/jobs/\d+/depends_on", r"#\d+ is not a job of this batch"),
    Reason("which jobs there are", rf"{_JOB}/depends_on/\d+", "job_[0-9a-f]{32} is not a job"),
    Reason("which workflows there are", "/workflow/(name|version)", "there is no workflow"),
    Reason("where a $ref leads", r".*/\$ref", "leads to no schema"),
    # Graphs.
    Reason("circles", rf"{_STEP}/needs", "waits in a circle"),
    Reason("circles", r"/jobs/\d+/depends_on", "these jobs wait in a circle"),
    Reason("what can be reached", rf"{_STEP}/needs", "can never"),
    Reason("the length of another list", rf"{_STEP}/join", r"asks for \d+ and the step has [1-9]"),
    # Tables of others, which change between releases of theirs.
    Reason("the IANA database", "/timezone", "must be a time zone of the IANA database"),
    Reason("the holidays of the world", r"/calendar/countries/\d+", "the holidays of [A-Z]{2} are"),
    Reason("the holidays of the world", r"/calendar/countries/\d+", "[A-Z]{2} has no part "),
    Reason("what stands in an input", rf"{_JOB}/limits/\d+/per", "leads to what is no text"),
    # A value of any shape: its depth, and a character anywhere in it.
    Reason(
        "any character of any text in it", rf"{_JOB}/input|/workflow/input|/job|/payload|", _NUL
    ),
    # Sameness that is more than being equal, or reaches over several lists.
    Reason("case", rf"{_JOB}{_INPUT}/headers/.+", "stands twice; case does not count"),
    Reason("other lists", rf"{_JOB}{_INPUT}/statuses/\w+/\d+", r"\w+ stands under \w+ too"),
    Reason("what two set", rf"{_JOB}{_INPUT}/auth/\d+", "sets .+, which an entry before it sets"),
    # What the definition of a workflow says of its inputs, with a schema of its own.
    Reason(
        "the inputs of the definition",
        "/input(/.+)?",
        "must (?!be an object$)",
        operation=r"POST /v1/workflows/\{name\}/executions",
    ),
    # What is there already, and of which some fields are changed.
    Reason("the name in the path", "/name", "is another name than that of the path"),
    Reason("what is left of a schedule", "/job", "say what to do", operation="PATCH .*"),
    Reason("what is left of a schedule", "", "say when", operation="PATCH .*"),
)


def holes_in(operation: str, problem: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each error of a refusal that a schema could have said, as pointer and detail."""
    if problem["code"] in CODES or operation in OPERATIONS:
        return
    for error in problem.get("errors") or [{"pointer": "", "detail": problem["detail"]}]:
        pointer, detail = error["pointer"], error["detail"]
        if not any(reason.holds(operation, pointer, detail) for reason in REASONS):
            yield pointer, detail
