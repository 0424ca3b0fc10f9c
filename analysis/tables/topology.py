"""The objects behind the numbers in rows: brokers, partitions and faults, as small relations.

They come from the manifests of the runs:

===================  ==============================================================================
``runs``             where the figures of each run end, its liveness phase apart, and where they
                     are to begin, if the scenario says so; how often replicas are sampled
``brokers``          ``broker``: the index, which is the process; ``registered``: before the run
``notification_rules``  when each broker writes an isr_change_notification
``partitions``       ``slot_ids``: the ids of the brokers behind the slots of replica lists;
                     ``first_replicas``: the assignment that it is created with; ``is_first``: it
                     exists from the start; ``is_written``: producers of the scenario write to it
``slots``            a row for each broker that ever hosts a replica of a partition
``scenario_faults``  faults, and after those of the scenario the restarts of rolls; ``part_of``: the
                     roll of a restart, else the fault itself
``client_processes`` producers and consumers, and their groups
``scenario_steps``   steps, in their order
``names``            the names of numbers in columns, as the release that wrote the run has them
``notification_…``   the first znode of isr_change_notifications, where there is ZooKeeper
===================  ==============================================================================
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis.requests import FoundRun
from tidegauge.simulation.quantities import parse_duration
from tidegauge.simulation.trace_rows.schema import Enumerations
from tidegauge.traces.directory import Directory, created_later
from tidegauge.traces.run_files import OF_LOGS, read_manifest

#: More than a replica list can hold.
_NEVER_CAPPED = 1 << 30

#: The kind of faults that have parts: restarts.
ROLL = "rolling_restart"
#: A restart of a roll is named after it (``scenario/cluster_plan.py``).
_OF_ROLL = re.compile(r" of (broker|controller) \d+$", re.ASCII)
_NUMBER, _TEXT, _FLAG, _NUMBERS = pa.int64(), pa.string(), pa.bool_(), pa.list_(pa.int64())

_SCHEMAS = {
    "runs": {
        "run": _TEXT,
        "ends_us": _NUMBER,
        "measured_from_us": _NUMBER,
        "sample_us": _NUMBER,
        "of_logs": _FLAG,
    },
    "brokers": {
        "run": _TEXT,
        "broker": _NUMBER,
        "broker_id": _NUMBER,
        "registered": _FLAG,
    },
    "notification_rules": {
        "run": _TEXT,
        "broker": _NUMBER,
        "notifies_quiet_us": _NUMBER,
        "notifies_at_most_us": _NUMBER,
    },
    "partitions": {
        "run": _TEXT,
        "partition": _NUMBER,
        "topic": _TEXT,
        "topic_partition": _TEXT,
        "topic_number": _NUMBER,
        "slot_ids": _NUMBERS,
        "first_replicas": _NUMBERS,
        "replica_count": _NUMBER,
        "min_insync_replicas": _NUMBER,
        "most_insync_replicas": _NUMBER,
        "is_first": _FLAG,
        "is_written": _FLAG,
    },
    "slots": {
        "run": _TEXT,
        "partition": _NUMBER,
        "slot": _NUMBER,
        "broker": _NUMBER,
        "broker_id": _NUMBER,
    },
    "scenario_faults": {
        "run": _TEXT,
        "fault": _NUMBER,
        "part_of": _NUMBER,
        "fault_name": _TEXT,
        "fault_kind": _TEXT,
        "fault_text": _TEXT,
    },
    "processes": {"run": _TEXT, "process": _NUMBER, "role": _TEXT},
    "client_processes": {
        "run": _TEXT,
        "process": _NUMBER,
        "client": _TEXT,
        "client_group": _TEXT,
    },
    "scenario_steps": {"run": _TEXT, "step": _NUMBER, "action": _TEXT, "step_text": _TEXT},
    "names": {"run": _TEXT, "enumeration": _TEXT, "number": _NUMBER, "name": _TEXT},
    "notification_znodes": {"run": _TEXT, "first_znode": _NUMBER},
}


#: The names of all these relations.
TOPOLOGY = frozenset(_SCHEMAS)


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
            self._made[name] = _table(_SCHEMAS[name], rows)
        return self._made[name]


def ends_us_of(relations: Topology) -> dict[str, int]:
    """The end of each run, by its name, from the relation ``runs``."""
    return {each["run"]: each["ends_us"] for each in relations["runs"].to_pylist()}


def _known(run: FoundRun) -> _Run:
    manifest = read_manifest(run.folder)
    return _Run(run.name, manifest, Directory(manifest), run.end_us(), run.enumerations())


def _table(schema: Mapping[str, Any], rows: Iterator[tuple[Any, ...]]) -> Any:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(each, kind) for each, kind in zip(columns, schema.values(), strict=True)]
    return pa.table(arrays, names=list(schema))


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
