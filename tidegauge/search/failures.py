"""The failure of a run that smaller scenarios have to show, too: a broken check, or a figure.

A run often breaks several checks, one after the other. The failure is the first of them: a scenario
in which another check breaks before it shows something else.
"""

import operator
import re
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, NamedTuple, Protocol, TypeAlias

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.scenario.text.errors import did_you_mean
from tidegauge.search.judged_runs import Judged
from tidegauge.traces.checks import CHECK_NAMES, CHECKS, LIVENESS
from tidegauge.traces.summary_figures import is_left_out_at_zero, numbers_of

#: The promise of each check.
_PROMISES = {check.name: check.promise for check in (*CHECKS.values(), LIVENESS)}

_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
_FIGURE = re.compile(r"\s*([^\s<>=]+)\s*(>=|<=|>|<|=)\s*([0-9]+(?:\.[0-9]+)?)\s*")


class Failure(Protocol):
    """A failure of a run."""

    @property
    def name(self) -> str:
        """The check, or the figure with its comparison."""

    @property
    def words(self) -> str:
        """The failure in a line."""

    def happens_in(self, run: Judged) -> bool:
        """Whether a run shows it."""

    def event_in(self, run: Judged) -> Mapping[str, Any] | None:
        """The event that is the failure, as ``summary.json`` has it; None: it has no event."""


class BrokenCheck(NamedTuple):
    """A check that a run breaks."""

    name: str
    #: The checks that break before it.
    before: frozenset[str] = frozenset()
    #: A setting or the release permits the break.
    is_permitted: bool = False

    @property
    def words(self) -> str:
        """The broken promise."""
        permitted = " (a setting or the release permits it)" if self.is_permitted else ""
        return f"{self.name} is broken{permitted}: {_PROMISES[self.name]}"

    def happens_in(self, run: Judged) -> bool:
        """Whether a run breaks it, and no check before it that was not broken before it."""
        verdicts = run.verdicts()
        if not verdicts.get(self.name, {}).get(_count_of(self.is_permitted)):
            return False
        return _broken_before(self.name, verdicts, self.is_permitted) <= self.before

    def event_in(self, run: Judged) -> Mapping[str, Any] | None:
        """The first event that breaks it; None: it is about the end of the run."""
        event: Mapping[str, Any] | None = run.verdicts()[self.name]["first_event"]
        return event


class FigureReached(NamedTuple):
    """A figure of the summary that compares so with a number."""

    figure: str
    comparison: str
    bound: float

    @property
    def name(self) -> str:
        """The figure with its comparison."""
        return f"{self.figure}{self.comparison}{self.bound:g}"

    @property
    def words(self) -> str:
        """The comparison."""
        return f"{self.figure} {self.comparison} {self.bound:g}"

    def happens_in(self, run: Judged) -> bool:
        """Whether the figure of a run compares so."""
        value = dict(numbers_of(run.summary())).get(self.figure)
        if value is None:
            if not is_left_out_at_zero(self.figure):
                return False
            value = 0
        return _COMPARISONS[self.comparison](value, self.bound)

    def event_in(self, _run: Judged) -> None:
        """None: no event is the figure."""
        return


def _count_of(is_permitted: bool) -> str:
    """The field of a verdict with the number of such breaks."""
    return "permitted" if is_permitted else "broken"


def _broken_before(
    check: str,
    verdicts: Mapping[str, Mapping[str, Any]],
    is_permitted: bool,
) -> frozenset[str]:
    """The checks that break earlier than one of them, in the same way."""
    begin_us = _broken_us(verdicts[check])
    broken = (name for name, found in verdicts.items() if found[_count_of(is_permitted)])
    return frozenset(name for name in broken if _broken_us(verdicts[name]) < begin_us)


def _broken_us(found: Mapping[str, Any]) -> float:
    event = found["first_event"]
    return inf if event is None else event["time_us"]


#: Chooses the failure of a run.
FailureOf: TypeAlias = Callable[[Judged], Failure]


def failure_of(run: Judged, check: str | None, source: str) -> BrokenCheck:
    """The failure of a run: a check that it breaks.

    Args:
        run: the run.
        check: the name of the check; None: that with an unexpected verdict that breaks first.
        source: the run or the scenario, for errors.

    Raises:
        TidegaugeError: nothing is broken.
    """
    verdicts = run.verdicts()
    if check is not None:
        if check not in verdicts:
            raise TidegaugeError(f"--check {check}: unknown check; {did_you_mean(check, verdicts)}")
        found = verdicts[check]
        if not found["broken"] and not found["permitted"]:
            raise TidegaugeError(f"{source}: {check} is not broken, so there is nothing to shrink")
    else:
        unexpected = [
            name
            for name, found in verdicts.items()
            if not found["as_expected"] and found["verdict"] is False
        ]
        if not unexpected:
            raise TidegaugeError(_nothing_fails(source, verdicts))
        order = {name: place for place, name in enumerate(CHECK_NAMES)}
        check = min(unexpected, key=lambda name: (_broken_us(verdicts[name]), order[name]))
    is_permitted = not verdicts[check]["broken"]
    return BrokenCheck(check, _broken_before(check, verdicts, is_permitted), is_permitted)


def _nothing_fails(source: str, verdicts: Mapping[str, Mapping[str, Any]]) -> str:
    """The error about a run that is as expected, with the checks that it breaks all the same."""
    known = [name for name, found in verdicts.items() if found["verdict"] is False]
    breaks = f", and expects to break {', '.join(known)}: choose one with --check" if known else ""
    return (
        f"{source}: every verdict is as expected{breaks or ', so there is nothing to shrink'}; "
        "or name a figure: --figure 'records_acknowledged_lost>0'"
    )


def figure_reached(text: str, run: Judged, source: str) -> FigureReached:
    """The failure that ``--figure`` names.

    Raises:
        TidegaugeError: the text is no comparison of a figure, or the run has another value.
    """
    match = _FIGURE.fullmatch(text)
    if match is None:
        raise TidegaugeError(
            f"--figure {text}: must be a figure and its comparison with a number, such as "
            "'records_acknowledged_lost>0'"
        )
    figure = FigureReached(match[1], match[2], float(match[3]))
    values = dict(numbers_of(run.summary()))
    if figure.figure not in values and not is_left_out_at_zero(figure.figure):
        hint = did_you_mean(figure.figure, values)
        raise TidegaugeError(f"--figure {text}: unknown figure; {hint}")
    if not figure.happens_in(run):
        value = values.get(figure.figure, 0)
        raise TidegaugeError(f"--figure {text}: {figure.figure} of {source} is {value:g}")
    return figure
