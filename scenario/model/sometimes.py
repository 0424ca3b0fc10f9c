"""Expectations of many runs: each has to be met with at least one seed, not with every one.

A test of a rare event proves something only if the event happens at all. A run notes which of these
expectations it has met (``sometimes`` of ``summary.json``), and does not fail by the others. A
sweep fails by those that none of its seeds has met.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from tidegauge.scenario.model import parts
from tidegauge.scenario.model.deployment import Deployment
from tidegauge.scenario.model.references import partition_number_is_there
from tidegauge.scenario.text.errors import Path, Problem, ProblemsError, did_you_mean
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.checks import CHECK_NAMES
from tidegauge.traces.summary_figures import FIGURES, FORMS, is_left_out_at_zero, numbers_of

#: The numbers of the partitions that rows of a kind are about; of rows without one, None each.
PartitionsOf = Callable[[str], Collection[int | None]]

_CAPITALS = re.compile(r"[A-Z]{2,}")
#: The kinds of rows with a partition, and all.
_WITH_PARTITION = {kind.name for kind in ROW_KINDS.values() if "partition" in kind.columns}
_KINDS = tuple(kind.name for kind in ROW_KINDS.values())
_PARTITION = re.compile(r"(.+)-([0-9]{1,9})")


class Sometimes(parts.Part):
    """A verdict, a figure or an event that at least one seed of a sweep has to have.

    A run notes whether it has it, and does not fail without it. `sweep` and `run --seeds` fail if
    no seed has it.
    """

    examples = (
        "{check: exposed_durable, verdict: false}",
        "{figure: unclean_elections, at_least: 1}",
        "{event: truncated, partition: orders-0}",
    )

    check: str | None = Field(default=None, description="Name of a check.")
    verdict: bool | Literal["unknown"] | None = Field(
        default=None, description="With `check`: its verdict. Default: false, it is broken."
    )
    figure: str | None = Field(default=None, description="Name of a figure of the summary.")
    at_least: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="With `figure`: the least value. Default: 1.",
    )
    event: str | None = Field(
        default=None, description="Kind of a row of the trace (docs/trace-rows.md)."
    )
    partition: str | None = Field(
        default=None,
        description="With `event`: the partition of the row, such as orders-0. Default: any row.",
    )

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        subjects = {"check": "verdict", "figure": "at_least", "event": "partition"}
        named = [name for name in subjects if getattr(self, name) is not None]
        if len(named) != 1:
            raise ValueError("must name one thing: a check, a figure or an event")
        problems = [
            Problem((name,), f"has a meaning only together with `{subject}`")
            for subject, name in subjects.items()
            if subject not in named and getattr(self, name) is not None
        ]
        known: Mapping[str, Collection[str]] = {"check": CHECK_NAMES, "event": _KINDS}
        problems += [
            Problem((name,), f"unknown {name}; {did_you_mean(getattr(self, name), known[name])}")
            for name in named
            if name in known and getattr(self, name) not in known[name]
        ]
        if self.figure is not None and not _is_figure(self.figure):
            problems.append(
                Problem(("figure",), f"unknown figure; {did_you_mean(self.figure, FIGURES)}")
            )
        if self.partition is not None and self.event in known["event"]:
            if self.event not in _WITH_PARTITION:
                problems.append(Problem(("partition",), f"{self.event} is about no partition"))
            elif not _PARTITION.fullmatch(self.partition):
                problems.append(Problem(("partition",), "must be a partition such as orders-0"))
        if problems:
            raise ProblemsError(problems)
        return self

    def __str__(self) -> str:
        """The expectation in a few words."""
        if self.check is not None:
            return f"check {self.check} is {str(self._verdict).lower()}"
        if self.figure is not None:
            return f"{self.figure} is at least {self._least:g}"
        return f"{self.event} of {self.partition}" if self.partition else str(self.event)

    @property
    def _verdict(self) -> object:
        return False if self.verdict is None else self.verdict

    @property
    def _least(self) -> float:
        return 1 if self.at_least is None else self.at_least

    def topic_and_number(self) -> tuple[str, int] | None:
        """The topic and the number of its partition; None: any row will do."""
        match = _PARTITION.fullmatch(self.partition or "")
        return None if match is None else (match[1], int(match[2]))

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """The partition that does not exist."""
        named = self.topic_and_number()
        if named is not None:
            for problem in partition_number_is_there(path, *named, scenario):
                yield Problem((*path, "partition"), problem.message)

    def is_met(
        self, summary: Mapping[str, Any], partition: int | None, partitions_of: PartitionsOf
    ) -> bool:
        """Whether a run has it.

        Args:
            summary: the summary of the run.
            partition: the number of its partition within the cluster; None: any row will do.
            partitions_of: the partitions of the rows of a kind.
        """
        if self.check is not None:
            return bool(summary["checks"].get(self.check, {}).get("verdict") == self._verdict)
        if self.figure is not None:
            none = 0 if is_left_out_at_zero(self.figure) else float("-inf")
            return dict(numbers_of(summary)).get(self.figure, none) >= self._least
        assert self.event is not None
        found = partitions_of(self.event)
        return partition in found if partition is not None else bool(found)


def _is_figure(name: str) -> bool:
    """Whether a figure has this name, in some scenario."""
    return any(re.fullmatch(_pattern(form.name), name) for form in FORMS)


def _pattern(form: str) -> str:
    """A pattern of the names of a form: a word in capitals stands for any name."""
    return ".+".join(map(re.escape, _CAPITALS.split(form)))
