"""Arguments and options that several commands share: the same words and meaning in each of them.

The options of a command are a named tuple. Its fields have the names and defaults of the options,
the comments above them are their help, and its docstring is the help of the command.
``tidegauge/command_line.py`` makes a command of it, :func:`words_of` the words that a person types.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from copy import copy
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo

from tidegauge.compiled.errors import TidegaugeError

_Value = TypeVar("_Value")

#: More runs at once are a mistake.
MOST_RUNS = 100_000

_RANGE = re.compile(r"([0-9]{1,19})\.\.([0-9]{1,19})")

# The input.
ScenarioName = Annotated[
    str, typer.Argument(help="A scenario file, or the name of a shipped scenario.")
]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="The folder that the run wrote.")]
RunNames = Annotated[
    list[str], typer.Argument(metavar="RUN...", help="Folders of runs or of sweeps, or 'runs/*'.")
]
CostsFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Costs and resources of a real cluster, as `tidegauge calibrate` writes them.",
    ),
]

# The part of a run that is shown. Times are virtual, or those of the run's logs.
At = Annotated[str | None, typer.Option(metavar="TIME", help="Print the state at this time.")]
From = Annotated[
    str | None, typer.Option("--from", metavar="TIME", help="Start of the shown time.")
]
To = Annotated[str | None, typer.Option("--to", metavar="TIME", help="End of the shown time.")]

# The processes of a run.
Inline = Annotated[
    bool,
    typer.Option(
        help="All processes in this interpreter, without Ray. The default, unless Ray is faster."
    ),
]
OnRay = Annotated[bool, typer.Option(help="All processes in actors of Ray.")]
Actors = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of Ray actors. With one more than brokers, the last one has the controllers. "
        "Default with --ray: that number up to 8 brokers, else as many as speed up the run.",
    ),
]

# Many runs.
Seeds = Annotated[
    str | None, typer.Option(metavar="A..B", help="Run each setting with each of these seeds.")
]
SeedOfAll = Annotated[int | None, typer.Option(help="Seed of all runs.")]
Jobs = Annotated[
    int | None,
    typer.Option(metavar="J", help="Number of parallel runs. Default: the number of CPUs."),
]
SharedAddress = Annotated[
    str | None,
    typer.Option(
        help="Join the Ray cluster at this address, whose machines share the scenario file and "
        "DIR. Default: the address in RAY_ADDRESS, else Ray starts on this machine."
    ),
]

# Measurements of a real cluster.
Prometheus = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The Prometheus that watches the cluster, such as http://prometheus:9090; also "
        "https, with USER:PASSWORD@ and a path.",
    ),
]
MeasuredAt = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="The end of the measured time: 2026-11-24T17:40:00Z, seconds since 1970, or now. "
        "Default: now; with --samples, their last sample.",
    ),
]
MeasuredOver = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="The length of the measured time. Default: 5m. For two scrapes without timestamps it "
        "is the time between them; default: that between the times of their files.",
    ),
]
Matchers = Annotated[
    str | None,
    typer.Option(
        metavar="MATCHERS",
        help="Only series with these labels, such as 'cluster=\"a\"', of a Prometheus that "
        "watches several clusters.",
    ),
]

# The output.
NewFile = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="The scenario to write.")
]
Force = Annotated[bool, typer.Option(help="Overwrite the file if it exists.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON; all else goes to standard error.")
]


class Hosting(NamedTuple):
    """The options ``--inline``, ``--ray``, ``--actors`` and ``--address``."""

    inline: bool = False
    ray: bool = False
    #: The number of actors. None: the usual number.
    actors: int | None = None
    #: The address of a Ray cluster. None: that of RAY_ADDRESS, else Ray is started on this machine.
    address: str | None = None
    #: The reason for the choice, if it is a default.
    reason: str = ""

    @property
    def asks_for_ray(self) -> bool:
        """Whether an option needs Ray."""
        return self.ray or self.actors is not None or self.address is not None

    def check(self) -> None:
        """Fail if the options contradict each other."""
        if self.inline and self.asks_for_ray:
            raise TidegaugeError("--inline excludes Ray: leave out --ray, --actors and --address")

    def description(self, asked: Hosting) -> str:
        """The choice in words, with the option for the other choice.

        Args:
            asked: the options, before the default was decided.
        """
        if self.inline:
            return "inline" if asked.inline else f"inline: {self.reason} (--ray: in actors of Ray)"
        if asked.asks_for_ray:
            return "in actors of Ray"
        return f"in {self.actors} actors of Ray: {self.reason} (--inline: without)"


def parsed(option: str, text: str, parse: Callable[[str], _Value]) -> _Value:
    """The value of an option.

    Raises:
        TidegaugeError: the text cannot be parsed; the message names the option.
    """
    try:
        return parse(text)
    except ValueError as error:
        raise TidegaugeError(f"{option} {text}: {error}") from error


def seeds_of(span: str) -> range:
    """The seeds of ``--seeds``, such as ``1..20``.

    Raises:
        TidegaugeError: the span cannot be read.
    """
    numbers = _RANGE.fullmatch(span)
    if numbers is None:
        raise TidegaugeError(f"--seeds {span}: must be the first and the last one, such as 1..20")
    first, last = map(int, numbers.groups())
    if first > last:
        raise TidegaugeError(f"--seeds {span}: the last one is before the first; {last}..{first}?")
    if last >= 2**63:
        raise TidegaugeError(f"--seeds {span}: a seed is less than 2**63")
    if last - first >= MOST_RUNS:
        raise TidegaugeError(f"--seeds {span}: more than {MOST_RUNS:,} at once are too many")
    return range(first, last + 1)


def parameters_of(options: type) -> list[inspect.Parameter]:
    """The fields of options as Typer's parameters: each has the comment above it as its help."""
    hints = get_type_hints(options, include_extras=True)
    helps = _helps_of(options.__module__)
    fields = inspect.signature(options).parameters.values()
    return [
        field.replace(
            annotation=_annotation(
                field.name, hints[field.name], helps.get((options.__name__, field.name))
            )
        )
        for field in fields
    ]


def _annotation(field: str, hint: Any, text: str | None) -> Any:
    kind, *found = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    info = copy(found[0]) if found else typer.Option()
    info.help = info.help if text is None else text
    if kind is bool and not _names_in(info):
        # Typer would add --no-... to it.
        info.param_decls = (f"--{field.replace('_', '-')}",)
    return Annotated[kind, info]


def _names_in(info: Any) -> list[str]:
    """The names that are given to an option; inside of ``Annotated`` the first is its default."""
    return [each for each in (info.default, *(info.param_decls or ())) if isinstance(each, str)]


@cache
def _helps_of(module: str) -> dict[tuple[str, str], str]:
    """The comments ``#: ...`` above the fields of a module's classes."""
    found: dict[tuple[str, str], str] = {}
    of_class, comment = "", []
    for line in Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8").splitlines():
        if line.startswith("class "):
            of_class = line.partition("(")[0].removeprefix("class ")
        elif line.startswith("    #: "):
            comment.append(line.removeprefix("    #: "))
        elif comment:
            found[of_class, line.partition(":")[0].strip()] = " ".join(comment)
            comment = []
    return found


def words_of(options: Any) -> list[str]:
    """The arguments and options that differ from their defaults, as typed on the command line."""
    words: list[str] = []
    for parameter in parameters_of(type(options)):
        value, info = getattr(options, parameter.name), get_args(parameter.annotation)[1]
        if value == parameter.default:
            continue
        name = [*_names_in(info), f"--{parameter.name.replace('_', '-')}"][0]
        option = [] if isinstance(info, ArgumentInfo) else [name]
        if value is True:
            words += option
            continue
        for each in value if isinstance(value, list | tuple) else [value]:
            words += [*option, f"{each:g}" if isinstance(each, float) else str(each)]
    return words
