"""Workflows as code, whatever is written: it is valid, and CEL says what Python says."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import windlass
from windlass import Value, WorkflowCode, flow
from windlass.model.expression import compile_expression
from windlass.sdk.workflow.block import Block
from windlass.sdk.workflow.step import Step

app = windlass.App("fuzz")
SCOPE = {"a": 3, "b": -2, "c": 7}
WORDS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "neg": operator.neg,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&": operator.and_,
    "|": operator.or_,
    "not": lambda value: ~value if isinstance(value, Value) else not value,
}

# A name, a number, or a word with its operands.
Tree = str | int | tuple[Any, ...]


def _grown(words: str, one: str) -> Callable[[Any], some.SearchStrategy[Tree]]:
    return lambda inner: (
        some.tuples(some.sampled_from(words.split()), inner, inner)
        | some.tuples(some.just(one), inner)
    )


NUMBERS: some.SearchStrategy[Tree] = some.recursive(
    some.sampled_from(sorted(SCOPE)) | some.integers(-9, 9), _grown("+ - *", "neg"), max_leaves=12
)
TRUTHS: some.SearchStrategy[Tree] = some.recursive(
    some.tuples(some.sampled_from(["<", "<=", ">", ">=", "==", "!="]), NUMBERS, NUMBERS),
    _grown("& |", "not"),
    max_leaves=8,
)


def made(tree: Tree, names: dict[str, Any]) -> Any:
    match tree:
        case str():
            return names[tree]
        case int():
            return tree
        case _:
            word, *parts = tree
            return WORDS[word](*(made(part, names) for part in parts))


@settings(max_examples=300, deadline=None)
@given(tree=NUMBERS | TRUTHS)
def test_an_expression_means_in_cel_what_it_means_in_python(tree: Tree) -> None:
    traced = made(tree, {name: Value("inputs")[name] for name in SCOPE})
    if isinstance(traced, Value):
        found = compile_expression(traced.cel).evaluate({"inputs": SCOPE})
        assert found == made(tree, SCOPE), traced


def _holds(asked: str | None, x: int, ones: set[str]) -> bool:
    return x == 1 if asked is None else asked in ones


class Program:
    """Steps in any order in blocks of any shape, by chance."""

    def __init__(self, chance: Random, x: Value) -> None:
        self.chance, self.x = chance, x
        self.steps: list[Step[Any]] = []
        self.asks: dict[Block, Callable[[int, set[str]], bool]] = {}  # is the block entered?
        self.uses: dict[str, set[str]] = {}  # by step: those that it names

    def is_entered(self, step: Step[Any], x: int, ones: set[str]) -> bool:
        blocks = [] if step.block is None else list(step.block.and_above())
        return all(self.asks[block](x, ones) for block in blocks)

    def before(self, step: Step[Any]) -> set[str]:
        """All steps that come before it, by what is written."""
        found, rest = set[str](), [step.id]
        while rest:
            new = self.uses[rest.pop()] - found
            found |= new
            rest += new
        return found

    def write(self, depth: int = 0) -> None:
        for _ in range(self.chance.randint(1, 3)):
            last = self.step()
            kind = self.chance.choice(["plain", "when", "switch"])
            if kind == "when" and depth < 2:
                is_input = self.chance.random() < 0.5
                with windlass.when((self.x if is_input else last.out) == 1) as block:
                    self.asks[block] = partial(_holds, None if is_input else last.id)
                    self.write(depth + 1)
            elif kind == "switch" and depth < 2:
                self.switch(depth)

    def switch(self, depth: int) -> None:
        with windlass.switch() as way:
            count = self.chance.randint(1, 2)
            for n in range(count):
                with way.case(self.x == n) as block:
                    self.asks[block] = partial(lambda n, x, _: x == n, n)
                    self.write(depth + 1)
            if self.chance.random() < 0.5:
                with way.default() as block:
                    self.asks[block] = lambda x, _: x >= count
                    self.write(depth + 1)

    def step(self) -> Step[Any]:
        """After some that were written before, perhaps with the output of one that surely ran."""
        count = min(len(self.steps), self.chance.randint(0, 3))
        after = self.chance.sample(self.steps, count)
        made = flow.transform(1, after=after)
        self.uses[made.id] = {one.id for one in after}
        mine = [] if made.block is None else list(made.block.and_above())
        sure = [step for step in self.steps if step.block is None or step.block in mine]
        if sure and self.chance.random() < 0.5:
            used = self.chance.choice(sure)
            made.body["input"] = {"value": f"${{{used.out.cel}}}"}
            self.uses[made.id].add(used.id)
        self.steps.append(made)
        return made


def written(seed: int) -> tuple[Program, dict[str, Any]]:
    programs: list[Program] = []

    def function(x: Value) -> None:
        programs.append(Program(Random(seed), x))
        programs[0].write()

    document = WorkflowCode(app, "fuzzed", function, {}).definition()
    return programs[0], document


def played(document: dict[str, Any], x: int, failing: set[str], ones: set[str]) -> dict[str, str]:
    """How each step ends, as definitions mean it: `failing` fail, `ones` give 1."""
    seen: dict[str, dict[str, Any]] = {}
    led: dict[
        str, tuple[str, bool]
    ] = {}  # by step: the switch that leads to it, and whether it does
    for step in document["steps"]:
        scope = {"inputs": {"x": x}, "steps": seen}
        needs = [one if isinstance(one, dict) else {"step": one} for one in step.get("needs", [])]
        met = [_is_met(seen[need["step"]]["state"], need.get("when")) for need in needs]
        if step["id"] in led:
            switch, is_led = led[step["id"]]
            met.append(is_led and seen[switch]["state"] == "succeeded")
        runs = any(met) if step.get("join") == "any" else all(met)
        if runs and "if" in step:
            runs = compile_expression(step["if"][2:-1]).evaluate(scope)
        state = "skipped" if not runs else "dead" if step["id"] in failing else "succeeded"
        output = int(step["id"] in ones) if state == "succeeded" else None
        seen[step["id"]] = {"state": state, "output": output, "error": None}
        if step["kind"] == "switch":
            led |= _led(step, scope)
    return {name: one["state"] for name, one in seen.items()}


def _is_met(state: str, when: str | None) -> bool:
    return when == "ended" or state == "succeeded"


def _led(switch: dict[str, Any], scope: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    ways = [(case["if"], case["go"]) for case in switch["cases"]]
    chosen = [compile_expression(asked[2:-1]).evaluate(scope) for asked, _ in ways]
    taken = chosen.index(True) if True in chosen else len(ways)
    every = [*(go for _, go in ways), switch["default"]]
    return {name: (switch["id"], number == taken) for number, go in enumerate(every) for name in go}


@pytest.mark.parametrize("seed", range(60))
def test_blocks_read_as_in_python(seed: int) -> None:
    program, document = written(seed)
    chance = Random(seed)
    names = [step.id for step in program.steps]
    for x in range(3):
        ones = {name for name in names if chance.random() < 0.5}
        # When nothing fails, a step runs if and only if the blocks around it are entered.
        ends = played(document, x, set(), ones)
        for step in program.steps:
            assert (ends[step.id] == "succeeded") == program.is_entered(step, x, ones), step
        # When something fails, nothing runs that comes after it.
        failing = {name for name in names if chance.random() < 0.2}
        ends = played(document, x, failing, ones)
        for step in program.steps:
            if ends[step.id] != "skipped":
                before = program.before(step)
                assert [one for one in before if ends[one] == "dead"] == [], step
