"""Figures that can be trusted on a machine that others use too.

A rate alone says little: the disk, the neighbours and the weather of the machine are in it.
So a thing and its bare twin are run in turns, A B A B A B, and read as a ratio:

    round        1         2         3
    measured   24.1k     19.8k     25.0k      median 24.1k   spread 19.8k .. 25.0k
    bare       70.2k     55.1k     71.9k      median 70.2k
    paired      0.34      0.36      0.35      ratio of medians 0.34, spread 0.34 .. 0.36

A slow round is slow for both, which is why the spread of the paired ratios is the one to read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.limits import ROUNDS, RUN_SECONDS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one run gave."""

    value: float
    unit: str

    @classmethod
    def rate(cls, count: int, seconds: float, unit: str) -> Sample:
        return cls(value=count / seconds, unit=unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Something that can be measured again and again."""

    name: str
    once: Callable[[], Awaitable[Sample | None]]  # None: it cannot be had on this machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(low=min(values), high=max(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """All samples of one run, in the order they were taken."""

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def spread(self) -> Spread:
        return Spread.of(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the report. What is wanted is wanted of the ratio, if there is one."""

    name: str
    value: float
    unit: str
    spread: Spread  # of the ratio if there is one, else of the value
    at_least: float | None = None
    at_most: float | None = None
    ratio_to: str | None = None  # the name of the bare twin; None: an absolute figure
    bare: float | None = None  # the twin's median; None with ratio_to
    ratio: float | None = None  # of the medians; None with ratio_to

    @property
    def holds(self) -> bool | None:
        """Whether the figure is as wanted; None when nothing is wanted of it."""
        if self.at_least is None and self.at_most is None:
            return None
        judged = self.value if self.ratio is None else self.ratio
        return (self.at_least is None or judged >= self.at_least) and (
            self.at_most is None or judged <= self.at_most
        )


async def interleave(
    runs: Sequence[Run],
    *,
    rounds: int = ROUNDS,
    seconds_max: float = RUN_SECONDS_MAX,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Series]:
    """Take the runs in turns. A run that cannot be had on this machine is left out."""
    taken: dict[str, list[Sample]] = {run.name: [] for run in runs}
    assert len(taken) == len(runs), "two runs of one name"
    for number in range(1, rounds + 1):
        for run in [run for run in runs if run.name in taken]:
            async with asyncio.timeout(seconds_max):
                sample = await run.once()
            if sample is None:
                del taken[run.name]
            else:
                taken[run.name].append(sample)
                tell(f"{number}/{rounds} {run.name}: {shown(sample.value)} {sample.unit}")
    return {name: _series(name, samples) for name, samples in taken.items()}


def compare(
    measured: Series,
    bare: Series,
    *,
    name: str | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Figure:
    """The measured series as a ratio to its bare twin of the same rounds."""
    paired = [one / other for one, other in zip(measured.values, bare.values, strict=True)]
    return Figure(
        name=name or measured.name,
        value=measured.median,
        unit=measured.unit,
        spread=Spread.of(paired),
        at_least=at_least,
        at_most=at_most,
        ratio_to=bare.name,
        bare=bare.median,
        ratio=measured.median / bare.median,
    )


def absolute(
    measured: Series,
    *,
    name: str | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Figure:
    """The measured series for what it is."""
    return Figure(
        name=name or measured.name,
        value=measured.median,
        unit=measured.unit,
        spread=measured.spread,
        at_least=at_least,
        at_most=at_most,
    )


def worst(measured: Series, *, at_most: float | None = None) -> Figure:
    """The measured series by its highest: for what must hold every time."""
    return Figure(
        name=measured.name,
        value=max(measured.values),
        unit=measured.unit,
        spread=measured.spread,
        at_most=at_most,
    )


def shown(value: float) -> str:
    """A number as people read it: decimals only where they say something."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"


def _series(name: str, samples: Sequence[Sample]) -> Series:
    units = {sample.unit for sample in samples}
    assert len(units) == 1, f"{name} was measured in {sorted(units)}"
    return Series(name=name, unit=units.pop(), values=tuple(sample.value for sample in samples))
