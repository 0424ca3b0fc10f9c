"""The objects behind the numbers in rows: brokers, partitions and faults, as small relations.

They come from the manifests of the runs, and all but ``names`` from there alone.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis.requests import FoundRun
from tidegauge.analysis.tables.result_table import PARTITION, RUN, Column
from tidegauge.simulation.quantities import parse_duration
from tidegauge.simulation.trace_rows.schema import Enumerations
from tidegauge.traces.directory import Directory, created_later
from tidegauge.traces.run_files import OF_LOGS, read_manifest

#: Types of columns in Arrow, as :class:`Column` names them.
ARROW_TYPES = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "array<bigint>": pa.list_(pa.int64()),
}

#: More than a replica list can hold.
_NEVER_CAPPED = 1 << 30

#: The kind of faults that have parts: restarts.
ROLL = "rolling_restart"
#: A restart of a roll is named after it (``scenario/cluster_plan.py``).
_OF_ROLL = re.compile(r" of (broker|controller) \d+$", re.ASCII)
_NUMBER, _TEXT, _FLAG, _NUMBERS = "bigint", "string", "boolean", "array<bigint>"


class Relation(NamedTuple):
    """A relation of objects: the meaning of a row, and its columns."""

    meaning: str
    columns: tuple[Column, ...]


_PROCESS = Column("process", _NUMBER, "", "number of the process, as in rows")
_BROKER = Column("broker", _NUMBER, "", "index of the broker within the cluster")
_BROKER_ID = Column("broker_id", _NUMBER, "", "its id, as `broker.id` or `node.id`")
_PARTITION, _TOPIC, _TOPIC_PARTITION = PARTITION

#: All these relations, by name.
TOPOLOGY: Mapping[str, Relation] = {
    "runs": Relation(
        "A run: where its figures begin and end, and how it was made.",
        (
            RUN,
            Column("ends_us", _NUMBER, "us", "the end of the run; the liveness phase begins then"),
            Column(
                "measured_from_us",
                _NUMBER,
                "us",
                "where its figures begin, if the scenario says so; null: at its start",
            ),
            Column(
                "sample_us",
                _NUMBER,
                "us",
                "interval of the samples of replicas; null: the scenario does not set it",
            ),
            Column("of_logs", _FLAG, "", "it was made of the logs of a real cluster"),
        ),
    ),
    "brokers": Relation(
        "A broker of the cluster.",
        (
            RUN,
            _BROKER,
            _BROKER_ID,
            Column("registered", _FLAG, "", "it counts as registered before the first row"),
        ),
    ),
    "notification_rules": Relation(
        "Settings of a broker for when it writes an isr_change_notification; ZooKeeper only.",
        (
            RUN,
            _BROKER,
            Column(
                "notifies_quiet_us",
                _NUMBER,
                "us",
                "a change is propagated after so long without one",
            ),
            Column(
                "notifies_at_most_us",
                _NUMBER,
                "us",
                "the longest time that a change waits for that",
            ),
        ),
    ),
    "partitions": Relation(
        "A partition, as the scenario has it.",
        (
            RUN,
            _PARTITION,
            _TOPIC,
            _TOPIC_PARTITION,
            Column("topic_number", _NUMBER, "", "number of its topic within the cluster"),
            Column(
                "slot_ids",
                _NUMBERS,
                "broker id",
                "the brokers behind the slots of its replica lists",
            ),
            Column(
                "first_replicas",
                _NUMBERS,
                "broker id",
                "the assignment that it is created with, the preferred leader first",
            ),
            Column("replica_count", _NUMBER, "replicas", "replicas of that assignment"),
            Column("min_insync_replicas", _NUMBER, "replicas", "min.insync.replicas at the start"),
            Column(
                "most_insync_replicas",
                _NUMBER,
                "replicas",
                "the most that counts of min.insync.replicas; 2^30: there is no limit",
            ),
            Column("is_first", _FLAG, "", "it exists from the start"),
            Column("is_written", _FLAG, "", "producers of the scenario write to it"),
        ),
    ),
    "slots": Relation(
        "A broker that hosts a replica of a partition at some time.",
        (
            RUN,
            _PARTITION,
            Column("slot", _NUMBER, "", "its place in the replica lists of the partition, from 0"),
            _BROKER,
            _BROKER_ID,
        ),
    ),
    "scenario_faults": Relation(
        "A fault of the scenario; after those the restarts of rolling restarts.",
        (
            RUN,
            Column("fault", _NUMBER, "", "number of the fault, as in rows"),
            Column(
                "part_of", _NUMBER, "", "the rolling restart of a restart, else the fault itself"
            ),
            Column("fault_name", _TEXT, "", "its name"),
            Column("fault_kind", _TEXT, "", "its kind"),
            Column("fault_text", _TEXT, "", "its kind and targets in words"),
        ),
    ),
    "processes": Relation(
        "A process.",
        (
            RUN,
            _PROCESS,
            Column(
                "role",
                _TEXT,
                "",
                "`broker`, `controller`, `zookeeper`, `client` or `quorum controller`",
            ),
        ),
    ),
    "client_processes": Relation(
        "A producer or consumer.",
        (
            RUN,
            _PROCESS,
            Column("client", _TEXT, "", "its name, such as `shop-0`"),
            Column("client_group", _TEXT, "", "the name of its group, such as `shop`"),
        ),
    ),
    "scenario_steps": Relation(
        "A step of the scenario.",
        (
            RUN,
            Column("step", _NUMBER, "", "place of the step in the scenario, from 0"),
            Column("action", _TEXT, "", "the name of its action"),
            Column("step_text", _TEXT, "", "the action with its fields"),
        ),
    ),
    "names": Relation(
        "The name of a code, as the release that wrote the run has it.",
        (
            RUN,
            Column("enumeration", _TEXT, "", "the column of rows that holds the code"),
            Column("number", _NUMBER, "", "the code"),
            Column("name", _TEXT, "", "its name"),
        ),
    ),
    "notification_znodes": Relation(
        "The first znode of isr_change_notifications; ZooKeeper only.",
        (RUN, Column("first_znode", _NUMBER, "", "its number, as in rows")),
    ),
}


class _Run(NamedTuple):
    """A run's own description."""

    name: str
    manifest: Mapping[str, Any]
    directory: Directory
    end_us: int
    enumerations: Enumerations


class Topology:
    """The relations of some runs: Arrow tables by their names, each made when it is needed."""

    def __init__(self, runs: Sequence[FoundRun]) -> None:
        """Read the manifests of the runs.

        Raises:
            RunError: a manifest or a summary cannot be read.
            TraceError: a trace file is damaged.
        """
        self._runs = [_known(run) for run in runs]
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """A relation.

        Raises:
            KeyError: there is none of this name.
            ScenarioError: this Tidegauge cannot read the scenario of a manifest.
        """
        if name not in self._made:
            rows = (row for run in self._runs for row in _ROWS[name](run))
            self._made[name] = _table(TOPOLOGY[name].columns, rows)
        return self._made[name]


def ends_us_of(relations: Topology) -> dict[str, int]:
    """The end of each run, by its name, from the relation ``runs``."""
    return {each["run"]: each["ends_us"] for each in relations["runs"].to_pylist()}


def _known(run: FoundRun) -> _Run:
    manifest = read_manifest(run.folder)
    return _Run(run.name, manifest, Directory(manifest), run.end_us(), run.enumerations())


def _table(columns: Sequence[Column], rows: Iterator[tuple[Any, ...]]) -> Any:
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [
        pa.array(each, ARROW_TYPES[column.type])
        for each, column in zip(values, columns, strict=True)
    ]
    return pa.table(arrays, names=[column.name for column in columns])


def _runs(run: _Run) -> Iterator[tuple[Any, ...]]:
    scenario = run.manifest["scenario"]
    measured_from, sample_every = scenario.get("measure_from"), scenario.get("sample_every")
    yield (
        run.name,
        run.end_us,
        None if measured_from is None else parse_duration(measured_from),
        None if sample_every is None else parse_duration(sample_every),
        run.manifest.get("source") == OF_LOGS,
    )


def _brokers(run: _Run) -> Iterator[tuple[Any, ...]]:
    for index, broker in enumerate(run.directory.brokers):
        yield run.name, index, broker, index in run.directory.registered_before


def _notification_rules(run: _Run) -> Iterator[tuple[Any, ...]]:
    # Only one table needs it, and it takes a while.
    from tidegauge.scenario.reading import scenario_from_mapping  # noqa: PLC0415

    if run.directory.controllers:
        return
    planned = scenario_from_mapping(run.manifest["scenario"], run.name)
    for index, broker in enumerate(run.directory.brokers):
        settings = planned.settings_of(broker)
        yield (
            run.name,
            index,
            settings["isr_change_notification_quiet_ms"] * 1000,
            settings["isr_change_notification_max_delay_ms"] * 1000,
        )


def _partitions(run: _Run) -> Iterator[tuple[Any, ...]]:
    scenario = run.manifest["scenario"]
    steps = scenario.get("steps", ())
    to_come = created_later((step["do"], step.get("topic", "")) for step in steps)
    producers = scenario.get("workload", {}).get("producers", ())
    written = {topic for group in producers for topic in group["topics"]}
    for number, partition in enumerate(run.directory.all_partitions):
        most = partition.most_insync_replicas
        yield (
            run.name,
            number,
            partition.topic,
            run.directory.partition(number),
            partition.topic_number,
            list(partition.slots),
            list(partition.replicas),
            len(partition.replicas),
            partition.min_insync_replicas,
            _NEVER_CAPPED if most is None else most,
            partition.topic not in to_come,
            partition.topic in written,
        )


def _slots(run: _Run) -> Iterator[tuple[Any, ...]]:
    for number, partition in enumerate(run.directory.all_partitions):
        both = zip(partition.hosts, partition.slots, strict=True)
        for slot, (host, broker) in enumerate(both):
            yield run.name, number, slot, host, broker


def _faults(run: _Run) -> Iterator[tuple[Any, ...]]:
    rolls = {each.name: n for n, each in enumerate(run.directory.faults) if each.kind == ROLL}
    for number, fault in enumerate(run.directory.faults):
        roll = _OF_ROLL.sub("", fault.name)
        yield run.name, number, rolls.get(roll, number), fault.name, fault.kind, fault.text


def _steps(run: _Run) -> Iterator[tuple[Any, ...]]:
    for number, step in enumerate(run.manifest["scenario"].get("steps", ())):
        yield run.name, number, step["do"], run.directory.step_text(number)


def _processes(run: _Run) -> Iterator[tuple[Any, ...]]:
    for number, process in run.directory.processes.items():
        yield run.name, number, process.role


def _client_processes(run: _Run) -> Iterator[tuple[Any, ...]]:
    for number, client in run.directory.clients.items():
        yield run.name, number, client.name, client.group


def _names(run: _Run) -> Iterator[tuple[Any, ...]]:
    for enumeration, names in run.enumerations.items():
        for number, name in names.items():
            yield run.name, enumeration, number, name


def _notification_znodes(run: _Run) -> Iterator[tuple[Any, ...]]:
    for each in run.directory.zookeeper_tree:
        if each.sort == "notification":
            yield run.name, each.first


_ROWS: dict[str, Callable[[_Run], Iterator[tuple[Any, ...]]]] = {
    "runs": _runs,
    "brokers": _brokers,
    "notification_rules": _notification_rules,
    "partitions": _partitions,
    "slots": _slots,
    "scenario_faults": _faults,
    "processes": _processes,
    "client_processes": _client_processes,
    "scenario_steps": _steps,
    "names": _names,
    "notification_znodes": _notification_znodes,
}
