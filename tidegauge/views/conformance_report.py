"""The output of ``tidegauge conform``: a line for each schedule, and its differences."""

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from tidegauge.laboratory.conformance import conform
from tidegauge.laboratory.conformance.comparison import EXACT, NOT_PLAYED, TIME, VARIED
from tidegauge.laboratory.conformance.known_differences import SHIPPED
from tidegauge.runs.run import Run
from tidegauge.runs.stories import StoryLine, controller_story, partition_story
from tidegauge.runs.trace_events import Names
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import time_text
from tidegauge.views.story_lines import LISTED, Span, print_lines

#: The default number of seeds.
SEEDS = 10
#: The number of differing fields that are listed, of a step or of a row.
FIELDS = 10
#: The number of partitions whose story is printed.
STORIES = 2
#: The time before the step from which the story is printed.
BEFORE_US = 500_000

#: Fields of an observation, and of a step's result, that belong to no partition.
OF_THE_CLUSTER = {
    *("controller", "controller_epoch", "registered", "process", "isr_change_notifications"),
    *("attempts", "shutdown_ms", "brokers", "admin"),
}


class Again(NamedTuple):
    """The options that repeat the same run."""

    file: Path
    seeds: int
    out: Path

    @property
    def command(self) -> str:
        """The command that leaves the run in a folder."""
        more = "" if self.seeds == SEEDS else f" --seeds {self.seeds}"
        return (
            f"tidegauge conform {shlex.quote(str(self.file))} --out {shlex.quote(str(self.out))}"
            + more
        )

    def show(self, result: conform.Conformance, partition: str | None) -> str:
        """The command that shows a partition of the run, or else its controllers."""
        run = shlex.quote(str(self.out / self.file.stem / f"seed-{result.seed}"))
        if partition is None:
            return f"tidegauge show controller {run}"
        return f"tidegauge show partition {run} {partition}"


class ConformanceReport:
    """Prints one schedule after the other."""

    def __init__(self, out: Console, names: Iterable[str], details: bool) -> None:
        self.out = out
        self.details = details
        self.width = max(map(len, ("schedule", *names)))
        head = (
            f"{'schedule':{self.width}}  release   seed  fields  different  explained  unexplained"
        )
        out.print(head, style="bold", soft_wrap=True)

    def _print(self, text: str, style: str = "") -> None:
        # Values and paths have brackets in them that are no markup.
        self.out.print(text, style=style, markup=False, soft_wrap=True)

    def show(self, result: conform.Conformance, again: Again) -> None:
        """Print the result of a schedule."""
        schedule = result.schedule
        compared, unexplained = result.compared.total(), len(result.unexplained)
        self._print(
            f"{schedule.name:{self.width}}  {schedule.release:8}  {result.seed:4}  {compared:6}"
            f"  {len(result.differences):9}  {len(result.explained):9}  {unexplained:11}",
            style="red" if unexplained else "",
        )
        if result.not_played is not None:
            self._show_not_played(result.not_played)
        if self.details:
            self._show_explained(result)
        if unexplained:
            self._show_parting(result)
            self._show_stories(result, again)

    def _show_not_played(self, difference: conform.FieldDifference) -> None:
        reason = "nothing explains this" if difference.row is None else _row(difference)
        self._print(
            f"  not played from step {difference.step.number} on:"
            f" {difference.field.simulated} ({reason})"
        )

    def _show_explained(self, result: conform.Conformance) -> None:
        """Print the explained differences, by rows of the table."""
        for row in dict.fromkeys(each.row for each in result.explained):
            explained = [each for each in result.explained if each.row is row]
            assert row is not None
            self._print(f"  {_row(explained[0])}: {row.cause}")
            texts = [f"    step {each.step.number}: {each.field.text()}" for each in explained]
            self._print_some(texts, "    ")
        if result.not_modelled:
            self._print(f"  settings without effect here: {', '.join(result.not_modelled)}")

    def _print_some(self, lines: Sequence[str], indent: str) -> None:
        for line in lines[:FIELDS]:
            self._print(line)
        if len(lines) > FIELDS:
            self._print(f"{indent}... and {len(lines) - FIELDS} more")

    def _show_parting(self, result: conform.Conformance) -> None:
        """Print the first step that differs, and the number of others."""
        parting = result.parting
        step = parting[0].step
        outcome = result.outcomes.get(step.number)
        when = "" if outcome is None else f", at {time_text(outcome.begin_us)} of the run"
        self._print(f"\n  step {step.number}{when}: {json.dumps(step.step)}", style="bold")
        fields = [each.field.text() for each in parting if each.field.kind != NOT_PLAYED]
        self._print_some([f"    {text}" for text in fields], "    ")
        rest = [each for each in result.unexplained if each.step is not step]
        if rest:
            kinds = Counter(each.field.kind for each in rest)
            counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
            steps = dict.fromkeys(str(each.step.number) for each in rest)
            self._print(f"  and in steps {', '.join(steps)}: {counts}")

    def _show_stories(self, result: conform.Conformance, again: Again) -> None:
        """Print the story of the differing partitions around that step, and commands for more."""
        commands = [again.command]
        if result.run is not None:
            run = Run(result.run.path)
            span = _span(result)
            affected = _partitions(result.parting, run.names)
            for name in affected[:STORIES]:
                story = partition_story(run, run.names.partitions[name], span)
                self._show_story(f"{name} around it", story)
            if not affected:
                self._show_story("the controller", controller_story(run, span))
            if affected[STORIES:]:
                self._print(f"\n  the same in {', '.join(affected[STORIES:])}")
            shown = again.show(result, affected[0] if affected else None)
            commands.append(f"{shown} {_span_options(span)}")
        self._print("\n  again:")
        for command in commands:
            self._print(f"    {command}")
        self._print("")

    def _show_story(self, title: str, lines: list[StoryLine]) -> None:
        self._print(f"\n  {title}:", style="bold")
        print_lines(self.out, lines[:LISTED], handles=False)
        if len(lines) > LISTED:
            self._print(f"  ... and {len(lines) - LISTED} more")
        if not lines:
            self._print("  no events")

    def show_totals(self, results: list[conform.Conformance]) -> None:
        """Print the totals of all schedules."""
        failed = sum(bool(each.unexplained) for each in results)
        stopped = sum(each.not_played is not None for each in results)
        self._print(
            f"\nschedules: {len(results)}, with unexplained differences: {failed},"
            f" not played to their end: {stopped}",
            style="bold",
        )
        for kind in (EXACT, VARIED, TIME):
            compared, explained, unexplained = conform.figures(results, kind)
            different = explained + unexplained
            share = 100 * different / max(compared, 1)
            self._print(
                f"{kind:6}  {counted(compared, 'field'):>13}, {different} different "
                f"({share:.2f} %): {explained} explained, {unexplained} unexplained"
            )
        self._show_fields(conform.exact_fields(results))

    def _show_fields(self, fields: Mapping[str, conform.FieldCounts]) -> None:
        """Print the number of equal exact fields, by their names."""
        width = max(map(len, ("exact field", *fields)))
        head = f"\n{'exact field':{width}}  compared  different  explained  unexplained     equal"
        self._print(head, style="bold")
        for name, (compared, explained, unexplained) in fields.items():
            different = explained + unexplained
            self._print(
                f"{name:{width}}  {compared:8}  {different:9}  {explained:9}  {unexplained:11}"
                f"  {100 * (1 - different / compared):6.2f} %",
                style="red" if unexplained else "",
            )


def _row(difference: conform.FieldDifference) -> str:
    """The place of the row that explains a difference."""
    assert difference.row is not None
    return f"explained by line {difference.row.line} of {SHIPPED.name}"


def _partitions(differences: Iterable[conform.FieldDifference], names: Names) -> list[str]:
    """The partitions that differ; none if a field of the cluster differs."""
    found: dict[str, None] = {}
    for each in differences:
        path = each.field.path
        if path.partition(".")[0] in OF_THE_CLUSTER:
            continue
        asked = each.step.step.get("tp", [])
        named = [name for name in names.partitions if f".{name}." in f".{path}."]
        found |= dict.fromkeys(named or (asked if isinstance(asked, list) else [asked]))
    # A step that was not played may name unknown partitions.
    return [name for name in found if name in names.partitions]


def _span(result: conform.Conformance) -> Span:
    """The time from shortly before the first step that differs from the recording to its end.

    Both ends are whole milliseconds, as in options.
    """
    outcome = result.outcomes.get(result.parting[0].step.number)
    if outcome is None:
        # The step was not played: the events just before it.
        *_, outcome = result.outcomes.values()
        return Span(outcome.begin_us // 1000 * 1000, None)
    begin_us = max(0, outcome.begin_us - BEFORE_US) // 1000 * 1000
    return Span(begin_us, None if outcome.end_us is None else (outcome.end_us // 1000 + 1) * 1000)


def _span_options(span: Span) -> str:
    """The options of ``tidegauge show`` for a span."""
    begin = f"--from {span.begin_us // 1000}ms"
    return begin if span.end_us is None else f"{begin} --to {span.end_us // 1000 - 1}ms"
