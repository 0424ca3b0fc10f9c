"""The file of a schedule that was played on a real cluster, once or several times.

A schedule is a list of steps (kill a broker, produce, cut a link, ...), each with the observations
after it: states, logs, checkpoints. For several repeats, ``exact`` holds the values that were equal
in all of them and ``varies`` the values of each.

Required are only ``release``, ``brokers`` and ``steps``, and for a step only ``step``, that is
``op`` and its arguments. Missing values are not compared::

    {
      "release": "2.6.3", "brokers": [1, 2, 3],
      "steps": [
        {"step": {"op": "create", "topic": "t", "assign": {"0": [1, 2, 3]}}},
        {"step": {"op": "produce", "tp": "t-0", "n": 5, "acks": -1}},
        {"step": {"op": "kill", "b": [1]},
         "obs": {"exact": {"partitions": {"t-0": {"zk": {"leader": 2, "isr": [2, 3]}}}}}}
      ]
    }

A schedule of a KRaft cluster has ``"mode": "kraft"``; ``recorded_dialects.py`` has the differences
between the two dialects.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.laboratory.conformance.recorded_dialects import UnknownDialectError, in_one_form
from tidegauge.laboratory.conformance.recorded_quorums import Tree
from tidegauge.replication.release_versions import MODE_NAMES, ZOOKEEPER_MODE, Mode

#: Steps without a wait for quiescence after them.
_CHANGES_NOTHING = {
    *("collect", "epochs", "fetch", "send_async", "sleep"),
    *("values", "wait", "wait_reg", "wait_unreg"),
    *("wait_ctrl", "wait_fenced", "wait_unfenced"),
    *("wait_leader", "wait_newdir", "wait_observer", "wait_voters"),
    *("add_voter", "probe", "remove_voter", "tool"),
}

#: The time until the request of a reassignment was gone from ZooKeeper.
REASSIGNED_MS = "znode_gone_ms"

#: Steps that create a topic: with an assignment, or placed by the controller.
CREATES = {"create", "create_auto"}
#: The active controller of a KRaft cluster: by its role instead of its node id, and as observed.
ACTIVE = "controller"
#: Steps at whose end a process runs that did not before.
BRINGS_BACK = {"start", "resume"}

#: The value of a repeat that lacks a field which others have.
ABSENT = "ABSENT"


#: The number of a folder's entries that are named if none is a schedule.
_LISTED = 5


class RecordingError(TidegaugeError):
    """A file that is not a recorded schedule; the message is one line."""


def _span(value: object) -> object:
    """The times of a span; a time that was recorded once is both ends."""
    return value if isinstance(value, list) else [value, value]


def _has_operation(step: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(step.get("op"), str):
        raise ValueError("has no op, the name of the action")
    return step


_Value = TypeVar("_Value")
Span = Annotated[tuple[float, float], BeforeValidator(_span)]


class RecordedPart(BaseModel):
    """A part of the file; it may have other fields, which are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class Merged(RecordedPart):
    """The observations of several repeats."""

    exact: Tree = {}
    #: By path, with dots: one value for each repeat.
    varies: dict[str, list[Any]] = {}
    #: By path: the shortest and the longest time in milliseconds.
    ranges_ms: dict[str, Span] = {}


class StateWrites(RecordedPart):
    """The writes of one partition's state during a step, or a controller's records about a broker.

    The columns of a write are those of the recording's dialect. ZooKeeper: [writer, leader, ISR,
    leader epoch, controller epoch, version]. KRaft: [kind, leader, ISR, ELR, last known ELR, leader
    epoch, partition epoch, recovering, controller epoch], and of a record that changes them also
    replicas, adding, removing.
    """

    #: None: there was one repeat, with nothing to compare it with.
    exact: bool | None
    #: The writes, unless repeats differ.
    writes: list[list[Any]] = []
    times_ms: list[Span] = Field(default=[], alias="t_ms")
    writes_by_repeat: list[list[list[Any]]] = []


class RecordedStep(RecordedPart):
    """A step and its observations."""

    number: int = Field(alias="i")
    #: ``op`` and its arguments.
    step: Annotated[dict[str, Any], AfterValidator(_has_operation)]
    result: Merged = Merged()
    #: None: there was no observation after it.
    observed: Merged | None = Field(default=None, alias="obs")
    #: By partition.
    state_writes: dict[str, StateWrites] = {}
    #: By broker (``b1``), each [state, number of the registration]; None: the recording has none.
    broker_records: dict[str, StateWrites] | None = None
    #: KRaft: the records about voters and about leaders, each ``[kind, content]``; None: the
    #: recording has none.
    quorum_records: dict[str, StateWrites] | None = None
    #: KRaft, of each repeat: the node ids of the controllers that the step names by a word.
    chosen: list[list[int]] = Field(default=[], alias="chosen_by_repeat")
    #: KRaft, of each repeat: all records of the metadata log.
    timelines: list[list[Any]] = Field(default=[], alias="timeline_by_repeat")

    @property
    def op(self) -> str:
        """The action of the step."""
        return str(self.step["op"])

    def time_ms(self, name: str) -> float:
        """The middle of the recorded times of a part of the step; 0: there is none."""
        return sum(self.result.ranges_ms.get(name, (0.0, 0.0))) / 2

    @property
    def quiet_ms(self) -> float | None:
        """The time until quiescence, in the middle of the recorded times; None: no wait.

        Without a recorded time, steps that change the cluster have a wait, unless the step has
        ``"q": false``.
        """
        if "result" not in self.model_fields_set:
            waits = self.op not in _CHANGES_NOTHING and self.step.get("q", True)
            return 0.0 if waits else None
        name = "quiesce.quiesced_after_ms"
        waited = name in self.result.ranges_ms or "quiesce" in self.result.exact
        return self.time_ms(name) if waited else None


class FirstVoters(RecordedPart):
    """The voters whose directories were formatted with --initial-controllers or --standalone."""

    initial: list[int]


class RecordedSchedule(RecordedPart):
    """A whole file."""

    name: str
    about: str = ""
    release: str
    mode: Mode = ZOOKEEPER_MODE
    brokers: list[int] = Field(min_length=1)
    #: ZooKeeper: the broker that was started first. KRaft: the controller that was active first.
    first_controller: int
    #: The settings of all brokers.
    settings: dict[str, Any] = {}
    per_broker: dict[int, dict[str, Any]] = {}
    #: ZooKeeper: ``inter.broker.protocol.version``; None: the release's own.
    protocol: str | None = Field(default=None, alias="ibp")
    zookeeper: dict[str, Any] = {}
    #: KRaft: the node ids of the quorum's controllers.
    controllers: list[int] = []
    controller_settings: dict[str, Any] = {}
    #: KRaft: None: the release's own.
    metadata_version: str | None = None
    eligible_leader_replicas: bool | None = None
    #: KRaft: how a quorum with dynamic voters began (KIP-853); None: its voters are static.
    quorum: FirstVoters | None = None
    #: KRaft: whether its voters may change, or are asked to.
    changes_voters: bool = False
    #: KRaft: the controllers that run before the first step.
    start_controllers: list[int] = []
    steps: list[RecordedStep] = Field(min_length=1)
    #: The repeat that is played: it decides where they differ.
    repeat: int = 0

    def of_repeat(self, repeat: int) -> Self:
        """The same schedule, of which another repeat is played."""
        return self.model_copy(update={"repeat": repeat})

    def own(self, repeats: list[_Value]) -> _Value:
        """Of the values of all repeats that of the one that is played."""
        return repeats[self.repeat % len(repeats)]

    @property
    def voters(self) -> list[int]:
        """The node ids of the quorum's controllers by their numbers in a run.

        The one that was active first has number 0. A race decides which of the others is elected
        after it: their ids are in the order in which they were active. In a quorum whose voters
        change the ids decide that, of the voters to which a leader hands over: they stay in order.
        """
        active = [controller for _, controller in self._active_controllers()]
        first = next((each for each in active if each in self.controllers), self.first_controller)
        others = sorted(self.controllers) if self.changes_voters else [*active, *self.controllers]
        return list(dict.fromkeys([first, *others]))

    def active_controller_after(self, controller: int, step: int) -> int:
        """The node id of the first other controller that was active in or after a step."""
        active = [other for number, other in self._active_controllers() if number >= step]
        return next(other for other in [*active, *self.voters] if other != controller)

    def _active_controllers(self) -> list[tuple[int, int]]:
        """The number of a step, and the node id of the controller that was active at its end."""
        seen = ((step.number, step.observed) for step in self.steps if step.observed is not None)
        active = (
            (number, self.own(observed.varies.get(ACTIVE, [observed.exact.get(ACTIVE)])))
            for number, observed in seen
        )
        return [(number, each) for number, each in active if isinstance(each, int)]

    @property
    def log_directories(self) -> int:
        """How many log directories each broker has."""
        observed = (step.observed.exact for step in self.steps if step.observed is not None)
        brokers: Tree = next((seen["log_dirs"] for seen in observed if "log_dirs" in seen), {})
        return max((len(each["log_dirs"]) for each in brokers.values()), default=1)

    @property
    def names_a_controller(self) -> bool:
        """Whether a step hits a controller other than the first one, by its id or by its role."""
        if self.changes_voters:
            return True
        others = set(self.controllers) - {self.voters[0]}
        named: set[Any] = set()
        stops = 0
        for step in self.steps:
            hit = step.step.get("b", [])
            hit = hit if isinstance(hit, list) else [hit]
            stops += ACTIVE in hit and step.op not in BRINGS_BACK
            named.update(hit)
            for link in step.step.get("links", []):
                named.update(link)
        return stops > 1 or not others.isdisjoint(named)


def load_schedule(path: Path) -> RecordedSchedule:
    """Read a file.

    Raises:
        RecordingError: the file cannot be read, or is not a recorded schedule.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise RecordingError(f"{path}: is not JSON: {error}") from error
    if not isinstance(data, dict) or "steps" not in data:
        raise RecordingError(f"{path}: is not a recorded schedule: it has no steps")
    try:
        return RecordedSchedule.model_validate(in_one_form(_completed(data, path.stem)))
    except UnknownDialectError as error:
        raise RecordingError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RecordingError(f"{path}: {place}: {first['msg']}") from error


def _completed(data: Tree, name: str) -> Tree:
    """A file's content with defaults: its name, and the numbers of steps."""
    steps = data["steps"]
    if isinstance(steps, list):
        steps = [
            {"i": number} | step if isinstance(step, dict) else step
            for number, step in enumerate(steps)
        ]
    return {"name": name} | data | {"steps": steps}


def recorded_files(paths: list[Path]) -> list[Path]:
    """The files of schedules among these files, and in and below these folders.

    Raises:
        RecordingError: no schedule is found, or one of the paths does not exist.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += [each for each in sorted(path.rglob("*.json")) if _has_steps(each)]
        elif path.exists():
            files.append(path)
        else:
            raise RecordingError(f"{path}: no such file or folder")
    if not files:
        raise RecordingError(
            f"{paths[0]}: has no recorded schedule, that is no .json file with steps of a "
            f"{' or '.join(MODE_NAMES.values())} cluster; it holds {_content(paths[0])}"
        )
    return files


def _content(folder: Path) -> str:
    """The entries of a folder, for users who have named the wrong one."""
    entries = sorted(folder.iterdir())
    named = [each.name + "/" * each.is_dir() for each in entries[:_LISTED]]
    more = len(entries) - len(named)
    return ", ".join([*named, *([f"{more} more"] if more else [])]) or "nothing"


def _has_steps(path: Path) -> bool:
    """Whether a file of a folder is a schedule; the folder may have others (an index, costs)."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return True
    return isinstance(data, dict) and "steps" in data
