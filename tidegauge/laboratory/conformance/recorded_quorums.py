"""Recordings of quorums whose voters change (KIP-853), brought into the form that is compared.

A harness has described the quorum after each step, by DescribeQuorum and by the files on each
controller's disk. What is compared of it, as ``quorum`` of an observation:

==========================  =====================================================================
``leader``                  the controller that answers as the leader; null: none does
``voters``                  its voters, each ``[id, directory]``, by id
``observers``               the controllers among its observers, likewise
``replicas.ID.voters``      the newest VotersRecord on a controller's disk, committed or not
``replicas.ID.kraft_version``  likewise; 0: none, or the directory is not formatted
==========================  =====================================================================

``c12#1`` is the first directory of controller 12, ``c12#2`` the one after its disk was lost, and
``none`` that of a voter of controller.quorum.voters. Log ends, epochs, votes and ages are races,
and brokers are among the observers in every answer.

Of the metadata log, the VotersRecords and KRaftVersionRecords of each step are compared, in order,
and its LeaderChanges.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from tidegauge.replication import voter_set
from tidegauge.replication.records import MOST_DIRECTORIES

#: A tree of values by name.
Tree = dict[str, Any]

QUORUM = "quorum"
VOTERS_RECORD, KRAFT_VERSION_RECORD = "VotersRecord", "KRaftVersionRecord"
LEADER_CHANGE = "LeaderChange"
#: The names under which the records of a step stand.
VOTERS, LEADERS = "voters", "leaders"
#: By kind of record: that name, and the column that is compared.
_RECORDS = {
    VOTERS_RECORD: (VOTERS, "voters"),
    KRAFT_VERSION_RECORD: (VOTERS, "kraft_version"),
    LEADER_CHANGE: (LEADERS, "leader"),
}
#: Steps with a request for a change of the voters.
_CHANGES = ("add_voter", "remove_voter")
_NAMES = (VOTERS, LEADERS)
#: The directory of a voter of controller.quorum.voters.
NO_DIRECTORY = "none"
#: A value that a repeat lacks.
_ABSENT = "ABSENT"
_AUTO_JOIN = "controller.quorum.auto.join.enable"


def directory_name(controller: int, number: int) -> str:
    """The name that a harness gives to a directory of a controller, by its number."""
    return NO_DIRECTORY if number == voter_set.ANY_DIRECTORY else f"c{controller}#{number}"


def directory_number(name: str, controller: int) -> int:
    """The number of a directory; the last possible one for a directory that nothing has."""
    owner, _, number = name.partition("#")
    return int(number) if owner == f"c{controller}" else MOST_DIRECTORIES


def named_controllers(form: Tree) -> list[int]:
    """The controllers of a recording, those last that only requests about voters name."""
    named = (change.get("b") for change in _changes_of(form))
    return list(dict.fromkeys([*form["controllers"], *(id_ for id_ in named if is_id(id_))]))


def steps_of(form: Tree) -> list[Tree]:
    """The steps of a recording that are steps: the others are refused when it is read."""
    steps = form["steps"] if isinstance(form["steps"], list) else []
    return [step for step in steps if isinstance(step, dict) and isinstance(step.get("step"), dict)]


def changes_voters(form: Tree) -> bool:
    """Whether the quorum's voters may change, or are asked to."""
    return "quorum" in form or bool(_changes_of(form))


def _changes_of(form: Tree) -> list[Tree]:
    steps = (step["step"] for step in steps_of(form))
    return [step for step in steps if step.get("op") in _CHANGES]


def is_id(written: object) -> bool:
    """Whether it is the id of a node, and no word for a role."""
    return isinstance(written, int) and not isinstance(written, bool)


def settings_of_controllers(recording: Tree) -> Tree:
    """The settings of the controllers that are not among those of all schedules.

    One setting counts for all if any controller has it: voters do not join.
    """
    own: Tree = dict(recording.get("controller_settings", {}))
    for settings in recording.get("per_controller", {}).values():
        own |= {name: value for name, value in settings.items() if name == _AUTO_JOIN}
    return own


def simplify_observed(observed: Tree) -> None:
    """Put what is compared of the quorum in place of all that was recorded of it."""
    exact, varies = observed["exact"], observed.setdefault("varies", {})
    above = f"{QUORUM}."
    varied = {path: varies.pop(path) for path in [*varies] if path.startswith(above)}
    recorded = dict(_leaves(exact.pop(QUORUM, {}), QUORUM))
    if not recorded and not varied:
        return
    repeats = max((len(values) for values in varied.values()), default=1)
    views = [
        _compared(
            {path: value for path, value in recorded.items() if path not in varied}
            | {path: values[repeat] for path, values in varied.items()}
        )
        for repeat in range(repeats)
    ]
    merged: Tree = {}
    for path in dict.fromkeys(path for view in views for path in view):
        values = [view.get(path, _ABSENT) for view in views]
        if all(value == values[0] for value in values):
            _put(merged, path, values[0])
        else:
            varies[path] = values
    if merged:
        exact[QUORUM] = merged[QUORUM]


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The values of a tree by path; a list of trees has its places in the paths."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = {str(place): each for place, each in enumerate(value)}
    if isinstance(value, dict) and value:
        for name, below in value.items():
            yield from _leaves(below, f"{path}.{name}")
    elif value != {}:
        yield path, value


def _put(tree: Tree, path: str, value: Any) -> None:
    *above, last = path.split(".")
    for name in above:
        tree = tree.setdefault(name, {})
    tree[last] = value


def _compared(recorded: Tree) -> Tree:
    """What is compared of one repeat, by path."""
    recorded = {path: value for path, value in recorded.items() if value != _ABSENT}
    leader = recorded.get(f"{QUORUM}.leader")
    view: Tree = {f"{QUORUM}.leader": leader}
    if leader is not None:
        view[f"{QUORUM}.voters"] = _keys(recorded, "voters")
        view[f"{QUORUM}.observers"] = [
            key for key in _keys(recorded, "observers") if key[1].startswith("c")
        ]
    for path, value in recorded.items():
        parts = path.split(".")
        if parts[:2] == [QUORUM, "replicas"] and parts[3:] in (["voters"], ["kraft_version"]):
            view[path] = value
    return view


def _keys(recorded: Tree, name: str) -> list[list[Any]]:
    """The replicas of one kind in a leader's answer, by id and directory."""
    above = f"{QUORUM}.{name}."
    return sorted(
        [value, recorded[path.removesuffix("id") + "directory"]]
        for path, value in recorded.items()
        if path.startswith(above) and path.endswith(".id")
    )


def merged_records(timelines: list[list[list[Any]]]) -> Tree:
    """The records of a step about voters and leaders: of one repeat if all have the same, or each.

    Args:
        timelines: all records of each repeat: ``[ms, kind, key, data, offset, epoch]``.
    """
    merged = {name: _merged([_named(name, each) for each in timelines]) for name in _NAMES}
    return {name: records for name, records in merged.items() if records}


def _named(name: str, timeline: Iterable[list[Any]]) -> list[tuple[float, list[Any]]]:
    """The records of one repeat that stand under a name, with their times in ms."""
    return [
        (time_ms, [kind, data[_RECORDS[kind][1]]])
        for time_ms, kind, _, data, *_ in timeline
        if kind in _RECORDS and _RECORDS[kind][0] == name
    ]


def _merged(repeats: list[list[tuple[float, list[Any]]]]) -> Tree:
    written = [[record for _, record in records] for records in repeats]
    if not any(written):
        return {}
    if any(each != written[0] for each in written):
        return {"exact": False, "writes_by_repeat": written}
    times = [[time_ms for time_ms, _ in records] for records in repeats]
    spans = [[min(each), max(each)] for each in zip(*times, strict=True)]
    exact = True if len(written) > 1 else None
    return {"exact": exact, "writes": written[0], "t_ms": spans}


def simplify_answer(step: Tree) -> None:
    """Put the answer to UpdateFeatures in the form of those to requests about voters."""
    exact = step.get("result", {}).get("exact", {})
    if "ErrorCode" in exact.get("answer", {}):
        exact["answer"] = {"error": exact["answer"]["ErrorCode"]}
