"""Pictures: the states of partitions as somebody saw them, in a file or in the history of a run.

A picture has a few states with times, and leaves out what nobody knows::

    partition: orders-3
    states:
      - {leader: 1, isr: [1, 2, 3]}
      - {at: 02:14:00, isr: [1], for: 12s}
      - {isr: [1, 3]}

A state without ``isr`` or ``leader`` may have any. Its ``at`` is the time at which it began;
without it the state follows the one before, after the ``for`` of that one if it has any. Between
the end of a state and a later ``at`` of the next one anything may have happened, and so before an
``at`` of the first state and after a ``for`` of the last one.

Times are since any moment (``12s``), or of a day (``02:14:00``).
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import yaml
from pydantic import BeforeValidator, Field, ValidationError, model_validator

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.histories import partition_states
from tidegauge.runs.partitions import partition_number
from tidegauge.runs.run import Run
from tidegauge.scenario.model.parts import BrokerId, Listed, Part, PositiveDuration, Some
from tidegauge.scenario.text.errors import Problem, ProblemsError, problems_in, scenario_error
from tidegauge.scenario.text.yaml_file import read_scenario_file
from tidegauge.simulation.quantities import parse_duration, short_seconds_text, short_time_text
from tidegauge.simulation.wall_clock import DAY_MS, is_wall_clock, parse_moment, wall_clock_text

#: The leader of a state in which nobody leads.
NO_LEADER = -1
#: Two times that differ by so much are the same, if the picture does not say otherwise.
DEFAULT_WITHIN_US = 2_000_000
#: Fields with a time that may be one of a day: YAML would read some of these as numbers.
_TIMES = frozenset({"at", "until"})
_DAY_US = DAY_MS * 1_000


class _Time(NamedTuple):
    """A time of a picture."""

    time_us: int
    is_of_day: bool


def _time(text: object) -> _Time:
    if isinstance(text, str) and is_wall_clock(text):
        return _Time(parse_moment(text).time_ms * 1_000, is_of_day=True)
    return _Time(0 if text == "0" else parse_duration(text), is_of_day=False)


def _leader(said: object) -> object:
    return NO_LEADER if said is None or said == "none" else said


#: A place in the file.
Place: TypeAlias = tuple[str | int, ...]
_TimeField = Annotated[Any, BeforeValidator(_time)]


class _WrittenState(Part):
    """A state as the file has it."""

    at: _TimeField = Field(default=None, validate_default=False)
    leader: Annotated[int, BeforeValidator(_leader)] | None = Field(default=None)
    isr: Listed[BrokerId] | None = None
    for_us: PositiveDuration | None = Field(default=None, alias="for")

    @model_validator(mode="after")
    def _says_something(self) -> "_WrittenState":
        if self.leader is None and self.isr is None:
            raise ValueError("must have leader, isr or both")
        return self


class _WrittenPartition(Part):
    """A partition as the file has it."""

    partition: str
    states: Some[_WrittenState]
    until: _TimeField = Field(default=None, validate_default=False)


class _WrittenPicture(Part):
    """A picture of several partitions as the file has it."""

    partitions: Some[_WrittenPartition]
    within_us: PositiveDuration = Field(default=DEFAULT_WITHIN_US, alias="within")


class SeenState(NamedTuple):
    """A state of a partition in a picture; times are None where they are not known."""

    begin_us: int | None
    end_us: int | None
    #: The id of a broker, or NO_LEADER; None: not known.
    leader: int | None
    #: None: not known.
    isr: frozenset[int] | None

    @property
    def is_anything(self) -> bool:
        """Whether nothing is known of it."""
        return self.leader is None and self.isr is None


class SeenPartition(NamedTuple):
    """The states of a partition in their order, one after the other without gaps."""

    name: str
    states: Sequence[SeenState]
    #: Nothing is known of what came later.
    until_us: int

    @property
    def topic(self) -> str:
        """Name of its topic."""
        return self.name.rpartition("-")[0]

    @property
    def number(self) -> int:
        """Its number within the topic."""
        return int(self.name.rpartition("-")[2])

    @property
    def changes_us(self) -> list[int]:
        """The times at which it changed, as far as they are known."""
        return [each.begin_us for each in self.states if each.begin_us is not None]

    @property
    def brokers(self) -> set[int]:
        """The ids of all brokers that it names."""
        leaders = {each.leader for each in self.states if each.leader is not None} - {NO_LEADER}
        return leaders.union(*(each.isr for each in self.states if each.isr is not None))


class Picture(NamedTuple):
    """The states of some partitions over the same time."""

    partitions: Sequence[SeenPartition]
    #: Times that differ by so much are the same.
    within_us: int = DEFAULT_WITHIN_US
    #: Times are of a day.
    is_of_day: bool = False

    @property
    def begin_us(self) -> int:
        """The time of the first change."""
        return min((time for each in self.partitions for time in each.changes_us), default=0)

    @property
    def end_us(self) -> int:
        """The time at which it ends."""
        return max(each.until_us for each in self.partitions)

    @property
    def changes_us(self) -> list[int]:
        """The times of all changes, each once, in their order."""
        return sorted({time for each in self.partitions for time in each.changes_us})

    def ended_by(self, end_us: int) -> "Picture":
        """The picture of the time before another end, which is not before its last change."""
        partitions = [
            each._replace(until_us=min(each.until_us, end_us)) for each in self.partitions
        ]
        return self._replace(partitions=partitions)

    def time_text(self, time_us: int) -> str:
        """A time of the picture as its file has times."""
        if not self.is_of_day:
            before = f"-{short_seconds_text(-time_us)}"
            return before if time_us < 0 else short_time_text(time_us)
        return wall_clock_text(time_us % _DAY_US // 1_000).partition("T")[2]


def read_picture(file: Path) -> Picture:
    """The picture in a file.

    Raises:
        ScenarioError: the file cannot be read, or is no picture.
    """
    read = read_scenario_file(file)
    data = _with_texts(read.root, read.data)
    if not isinstance(data, Mapping):
        problem = Problem((), "must be a mapping, with partition and states")
        raise scenario_error(str(file), [problem], read.line_of)
    is_one = "partitions" not in data
    if is_one:
        one = {name: value for name, value in data.items() if name != "within"}
        others = {name: value for name, value in data.items() if name == "within"}
        data = {"partitions": [one], **others}
    try:
        written = _WrittenPicture.model_validate(data)
        return _picture_of(written)
    except ValidationError as error:
        problems = problems_in(error, data)
    except ProblemsError as error:
        problems = [*error.problems]
    if is_one:
        problems = [
            Problem(path[2:] if path[:2] == ("partitions", 0) else path, words)
            for path, words in problems
        ]
    raise scenario_error(str(file), problems, read.line_of)


def _with_texts(node: yaml.Node, data: object) -> object:
    """The content, with times of a day as the texts that they are in the file."""
    if isinstance(node, yaml.MappingNode) and isinstance(data, dict):
        return {
            key.value: value.value
            if key.value in _TIMES and isinstance(value, yaml.ScalarNode)
            else _with_texts(value, data.get(key.value))
            for key, value in node.value
        }
    if isinstance(node, yaml.SequenceNode) and isinstance(data, list):
        return [_with_texts(*pair) for pair in zip(node.value, data, strict=True)]
    return data


def _picture_of(written: _WrittenPicture) -> Picture:
    times = [
        each.is_of_day
        for one in written.partitions
        for each in (one.until, *(state.at for state in one.states))
        if each is not None
    ]
    if len({*times}) == 2:  # noqa: PLR2004 - both kinds
        problem = "has times of a day (02:14:00) and others (12s): all must be of one kind"
        raise ProblemsError([Problem(("partitions",), problem)])
    seen = [
        _seen_partition(("partitions", place), one, written.within_us)
        for place, one in enumerate(written.partitions)
    ]
    return Picture(seen, written.within_us, any(times))


def _seen_partition(path: Place, written: _WrittenPartition, within_us: int) -> SeenPartition:
    """The states of a partition, with gaps filled by states of which nothing is known."""
    topic, _, number = written.partition.rpartition("-")
    if not topic or not number.isdigit():
        problem = "must be a topic and the number of its partition, such as orders-3"
        raise ProblemsError([Problem((*path, "partition"), problem)])
    states: list[SeenState] = []
    last_us, now_us = 0, None
    for place, each in enumerate(written.states):
        where = (*path, "states", place)
        begin_us = now_us if each.at is None else _later(each.at, last_us, (*where, "at"))
        if each.at is not None and (not states or (now_us is not None and begin_us != now_us)):
            states.append(SeenState(now_us, begin_us, None, None))
        if each.for_us is not None and begin_us is None:
            problem = "has no effect: the time at which the state began is not known"
            raise ProblemsError([Problem((*where, "for"), problem)])
        now_us = None if each.for_us is None or begin_us is None else begin_us + each.for_us
        isr = None if each.isr is None else frozenset(each.isr)
        states.append(SeenState(begin_us, now_us, each.leader, isr))
        last_us = max(time for time in (last_us, begin_us, now_us) if time is not None)
    until_us = last_us + 2 * within_us
    if written.until is not None:
        until_us = _later(written.until, last_us, (*path, "until"))
    if now_us is not None and now_us < until_us:
        states.append(SeenState(now_us, None, None, None))
    return SeenPartition(written.partition, _with_ends(states), until_us)


def _later(time: _Time, last_us: int, path: Place) -> int:
    """A time that follows another one; a time of a day may be one of the next day."""
    time_us = time.time_us
    if time.is_of_day:
        time_us += round(max(last_us - time_us, 0) / _DAY_US) * _DAY_US
    if time_us < last_us:
        problem = "is earlier than the state before, or than its end"
        raise ProblemsError([Problem(path, problem)])
    return time_us


def _with_ends(states: Sequence[SeenState]) -> tuple[SeenState, ...]:
    """The states, each of which ends where the next one begins."""
    ends = [each.begin_us for each in states[1:]]
    return tuple(each._replace(end_us=end) for each, end in zip(states, [*ends, None], strict=True))


def picture_of_run(
    run: Run,
    partitions: Iterable[str],
    from_us: int | None,
    to_us: int | None,
    within_us: int = DEFAULT_WITHIN_US,
) -> Picture:
    """The picture that a run has of some partitions between two times.

    Raises:
        TidegaugeError: there is no such partition, or it has no state then.
        TraceError: a trace file is damaged.
    """
    begin_us = 0 if from_us is None else from_us
    seen = []
    names = [*partitions]
    for name in names:
        partition_number(name, run.names)
    history = partition_states(run)
    for name in names:
        states = [
            each
            for each in history
            if each.partition == name
            and (each.end_us is None or each.end_us > begin_us)
            and (to_us is None or each.begin_us < to_us)
        ]
        if not states:
            raise TidegaugeError(f"{name}: has no state between --from and --to")
        merged: list[SeenState] = []
        for each in states:
            leader = NO_LEADER if each.leader is None else each.leader
            state = SeenState(each.begin_us, each.end_us, leader, frozenset(each.isr))
            if not merged or merged[-1][2:] != state[2:]:
                merged.append(state)
        merged[0] = merged[0]._replace(begin_us=None)
        until_us = to_us if to_us is not None else run_end_us(run)
        seen.append(SeenPartition(name, _with_ends(merged), until_us))
    return Picture(seen, within_us)


def run_end_us(run: Run) -> int:
    """The time at which a run ends, in microseconds."""
    return parse_duration(str(run.manifest["scenario"]["duration"]))
