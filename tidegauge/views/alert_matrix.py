"""The matrix of ``tidegauge alerts``: what each alert did in each incident, in one character."""

from collections.abc import Iterator, Sequence
from textwrap import fill

from rich.console import Console
from rich.text import Text

from tidegauge.rehearsal.incidents import Rehearsal, Rehearsed
from tidegauge.rehearsal.verdicts import Judged, Verdict

_KEY = "F fired, p pending, . silent, - not exported there (mode or release), ! not as expected"
_COLUMN = 2
#: Longer names stand on a line of their own.
_LONGEST_NAME = 42
_FAILURE = "bold red"


def folded(text: str, width: int, indent: str = "", then: str | None = None) -> str:
    """A text in lines of this width; no name is broken."""
    return fill(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent if then is None else then,
        break_long_words=False,
        break_on_hyphens=False,
    )


def show_matrix(out: Console, rehearsal: Rehearsal, ended: Sequence[Rehearsed]) -> None:
    """Print what each alert that can be tested did in each incident, and the incidents' numbers."""
    names = [alert.name for alert in rehearsal.alerts.alerts if alert.is_simulated]
    tried = [one for one in ended if one.error is None]
    if not names or not tried:
        return
    width = min(_LONGEST_NAME, max(len(name) for name in names))
    at_once = max(1, (out.width - width - 1) // _COLUMN)
    for first in range(0, len(tried), at_once):
        out.print()
        for line in _lines(names, tried[first : first + at_once], first + 1, width):
            out.print(line, soft_wrap=True)
    out.print(f"\n{_KEY}", markup=False)
    for text in _numbers([one.name for one in tried], out.width):
        out.print(text, markup=False, soft_wrap=True)
    silent = [
        one.name
        for one in tried
        if one.incident is not None
        and one.incident.begins_us is not None
        and not any(each.firing for each in one.judged)
    ]
    if silent:
        out.print()
        text = folded(f"Nothing told of: {', '.join(silent)}", out.width, then="  ")
        out.print(text, markup=False)


def _lines(
    names: Sequence[str], tried: Sequence[Rehearsed], first: int, width: int
) -> Iterator[Text]:
    numbers = range(first, first + len(tried))
    if numbers[-1] >= 10:  # noqa: PLR2004 - numbers of two digits
        yield _heading([str(number // 10) if number >= 10 else " " for number in numbers], width)  # noqa: PLR2004
    yield _heading([str(number % 10) for number in numbers], width)
    courses = [{each.alert: each for each in one.judged} for one in tried]
    for name in names:
        line = Text(f"{name:{width}} ")
        if len(name) > width:
            yield Text(name)
            line = Text(" " * (width + 1))
        for course in courses:
            line.append(_cell(course[name]))
        yield line


def _heading(digits: Sequence[str], width: int) -> Text:
    return Text(" " * (width + 1) + "".join(f"{digit:{_COLUMN}}" for digit in digits), style="dim")


def _cell(judged: Judged) -> Text:
    state = "F" if judged.firing else "p" if judged.pending else "."
    if judged.verdict == Verdict.NOT_EXPORTED_HERE:
        state = "-"
    if judged.verdict.is_failure:
        return Text(f"{state}!", style=_FAILURE)
    return Text(f"{state} ", style={"F": "bold", "p": "yellow"}.get(state, "dim"))


def _numbers(names: Sequence[str], width: int) -> Iterator[str]:
    """The number of each incident, in columns."""
    texts = [f"{place + 1:2} {name}" for place, name in enumerate(names)]
    column = max(map(len, texts)) + 2
    count = max(1, width // column)
    rows = -(-len(texts) // count)
    for row in range(rows):
        yield "".join(f"{text:{column}}" for text in texts[row::rows]).rstrip()
