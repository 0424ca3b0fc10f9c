"""``tidegauge inspect``: a moment of a run, by fields and events; in a terminal as a dialogue."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from rich.console import Console

from tidegauge.commands.loading import announce_compilation, opened_run
from tidegauge.commands.replay import note_other_release
from tidegauge.commands.snapshots.snapshot_options import InspectOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.rewind.handled_event import HandledStep
from tidegauge.rewind.moment import Moment
from tidegauge.rewind.subjects import Subject, parse_subjects
from tidegauge.runs.causes import event_of_handle
from tidegauge.simulation.quantities import short_seconds_text
from tidegauge.views import moment_view, overview
from tidegauge.views.output import console, print_json, report
from tidegauge.views.progress import working


def inspect_run(options: InspectOptions) -> None:
    """Perform ``tidegauge inspect``."""
    run = opened_run(options.run, "inspect")
    subjects = parse_subjects(options.subjects or [], run.names)
    at = f"{run.end_us}us" if options.at is None else options.at
    with report(as_json=options.as_json):
        announce_compilation()
        note_other_release(run)
        with working(f"repeating {run.path} up to {at}"):
            moment = Moment(run, at, handles_idle=options.idle_fetches)
    steps = None if options.step is None else moment.step(options.step, subjects)
    if options.as_json:
        states = moment.states(subjects) if subjects else [moment.overview()]
        print_json(moment_view.moment_for_programs(moment, states, steps))
        return
    dialogue = Dialogue(console(), moment, subjects, explain=options.explain)
    if steps:
        dialogue.show_steps(steps)
    else:
        dialogue.show_state()
    if options.step is not None and sys.stdin.isatty() and sys.stdout.isatty():
        dialogue.answer_all(_typed())


def _typed() -> Iterator[str]:
    """The lines that are typed at a prompt, until the end of the input."""
    with suppress(ImportError):
        import readline  # noqa: F401, PLC0415 - input() has a history then; not every system has it
    with suppress(EOFError):
        while True:
            yield input("inspect> ")


_HELP = """\
  n [N]              the next event, or the next N
  p [N]              back by one event, or by N
  to TIME            another moment, such as: to 65s
  SUBJECT...         look at these: broker ID, partition TOPIC-N, client NAME, controller [ID],
                     zookeeper, link FROM TO, events [N]
  state              their state again
  cause [HANDLE]     the chain of triggers behind the last event, or behind a row
  explain            print the meanings of fields, or leave them out
  q                  the end"""


class Dialogue:
    """Answers the lines that are typed about a moment."""

    def __init__(
        self, out: Console, moment: Moment, subjects: Sequence[Subject], *, explain: bool
    ) -> None:
        """Begin at a moment, with the subjects that are looked at."""
        self._out = out
        self._moment = moment
        self._subjects = list(subjects)
        self._explain = explain
        self._last: HandledStep | None = None

    def answer_all(self, lines: Iterable[str]) -> None:
        """Answer lines until one ends the dialogue; a wrong one is answered with its error."""
        self._out.print("n: next event, p: previous, to TIME, a subject, cause, help, q: quit")
        for line in lines:
            words = line.split()
            if words in (["q"], ["quit"], ["exit"]):
                return
            try:
                self._answer(words or ["n"])
            except TidegaugeError as error:
                self._out.print(str(error), markup=False)

    def _answer(self, words: Sequence[str]) -> None:
        first, *others = words
        answers: dict[str, Callable[[Sequence[str]], None]] = {
            **dict.fromkeys(("n", "next"), lambda given: self._step(_count(given))),
            **dict.fromkeys(("p", "previous"), lambda given: self._step(-_count(given))),
            "to": self._go_to,
            "state": lambda _: self.show_state(),
            "cause": self._show_cause,
            "explain": lambda _: self._toggle_explain(),
            **dict.fromkeys(("h", "help", "?"), lambda _: self._out.print(_HELP, markup=False)),
        }
        if first.lstrip("+-").isdecimal() and not others:
            self._step(int(first))
        elif first in answers:
            answers[first](others)
        else:
            self._look_at(words)

    def show_state(self) -> None:
        """Print the state of the subjects; without any the cluster in short, and what is next."""
        moment_view.show_moment(self._out, self._moment)
        if self._subjects:
            states = self._moment.states(self._subjects)
        else:
            states = [self._moment.overview()]
        moment_view.show_states(self._out, states, explain=self._explain)
        if not self._subjects:
            moment_view.show_events(self._out, self._moment.events())

    def show_steps(self, steps: Sequence[HandledStep]) -> None:
        """Print events that were handled, and where the run is behind them."""
        self._last = steps[-1] if steps else None
        moment_view.show_steps(self._out, self._moment.run, steps, explain=self._explain)
        moment_view.show_moment(self._out, self._moment)

    def _step(self, count: int) -> None:
        steps = self._moment.step(count, self._subjects)
        if count > 0:
            self.show_steps(steps)
        else:
            self._last = None
            self.show_state()

    def _go_to(self, words: Sequence[str]) -> None:
        if len(words) != 1:
            raise TidegaugeError(
                f"to: a time is needed, such as: to {short_seconds_text(65_000_000)}"
            )
        self._moment.go_to(words[0])
        self._last = None
        self.show_state()

    def _look_at(self, words: Sequence[str]) -> None:
        self._subjects = self._moment.subjects(words)
        self.show_state()

    def _show_cause(self, words: Sequence[str]) -> None:
        handle = words[0] if words else self._last and self._last.event.cause
        if handle is None:
            raise TidegaugeError(
                "cause: there is no row behind this event" if self._last else "cause: step first"
            )
        run = self._moment.run
        overview.show_cause(self._out, run, event_of_handle(handle, run))

    def _toggle_explain(self) -> None:
        self._explain = not self._explain
        self._out.print(f"meanings of fields are {'printed' if self._explain else 'left out'}")


def _count(words: Sequence[str]) -> int:
    """The number of events that is typed behind a word; by default 1."""
    if not words:
        return 1
    if len(words) > 1 or not words[0].isdecimal():
        raise TidegaugeError(f"{' '.join(words)}: must be a number of events")
    return int(words[0])
