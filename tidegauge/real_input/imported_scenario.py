"""A scenario from the output of tools about a real cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidegauge.real_input.cluster_settings import (
    BrokerFiles,
    ClusterSettings,
    broker_files,
    cluster_settings,
)
from tidegauge.real_input.describe_dump import (
    DescribedPartition,
    DescribedTopic,
    read_describe_dump,
)
from tidegauge.real_input.described_cluster import DescribedCluster, described_cluster
from tidegauge.real_input.input_file import InputError, file_text
from tidegauge.real_input.notices import Notice, in_order, named
from tidegauge.real_input.reassignment_plan import read_reassignment_plan
from tidegauge.real_input.release_hints import ChosenRelease, choose_release
from tidegauge.real_input.server_properties import Property, read_server_properties
from tidegauge.real_input.setting_values import topic_settings
from tidegauge.real_input.topic_rates import default_producers, read_topic_rates
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.scenario.text.counted import counted

#: The first controller resumes a reassignment in progress: it is requested before that.
_GOES_ON_AT = "500ms"


@dataclass(frozen=True)
class ImportRequest:
    """The imported files, and the corrections by options."""

    dump: Path
    name: str
    properties: Sequence[Path] = ()
    reassignment: Path | None = None
    rates: Path | None = None
    release: str | None = None
    duration: str = "5m"
    reassign_at: str = "60s"
    #: Ids of brokers that are up, or down, whatever the dump suggests.
    up: Sequence[int] = ()
    down: Sequence[int] = ()

    def files(self) -> list[Path]:
        """All files, in the order in which they are read."""
        others = [file for file in (self.reassignment, self.rates) if file]
        return [self.dump, *self.properties, *others]


@dataclass
class ImportedScenario:
    """The result of an import."""

    #: The scenario as a mapping, its fields in the order in which people read them.
    data: dict[str, Any]
    cluster: DescribedCluster
    files: list[Path]
    #: As a run reads it.
    scenario: Scenario = field(init=False)
    notices: list[Notice] = field(default_factory=list)


def import_scenario(request: ImportRequest) -> ImportedScenario:
    """The scenario that begins in the state of the cluster when the dump was made.

    Raises:
        InputError: a file cannot be read or contradicts itself or another, or the cluster cannot be
            simulated.
    """
    dump = read_describe_dump(request.dump)
    files = broker_files([read_server_properties(file) for file in request.properties])
    cluster = described_cluster(dump, files.by_broker, request.up, request.down)
    release = choose_release(request.release, files, dump)
    settings = cluster_settings(files, cluster.brokers, release.release)
    imported = ImportedScenario({}, cluster, request.files())
    for each in (dump, files, cluster, release, settings):
        imported.notices += each.notices
    _tell_of_brokers_without_replicas(imported, files)
    imported.data = {
        "name": request.name,
        "duration": request.duration,
        **_release(release),
        "cluster": _cluster(cluster, settings, release),
        "topics": _topics(request.dump, imported, release.release),
        "workload": {"producers": _producers(request, imported)},
        "steps": _steps(request, imported),
        "faults": _faults(cluster),
    }
    imported.data = {name: part for name, part in imported.data.items() if part != []}
    _check(request, imported)
    imported.notices = in_order(imported.notices)
    return imported


def _release(release: ChosenRelease) -> dict[str, Any]:
    said = {"release": release.release}
    return said | {"protocol": release.protocol} if release.protocol else said


def _cluster(
    cluster: DescribedCluster, settings: ClusterSettings, release: ChosenRelease
) -> dict[str, Any]:
    said: dict[str, Any] = {"brokers": list(cluster.brokers)}
    if settings.racks:
        said["racks"] = settings.racks
    said["start_spread"] = "0s"
    if settings.log_directories > 1:
        said["log_directories"] = settings.log_directories
    protocols = {broker: {"protocol": text} for broker, text in release.protocols.items()}
    others = {
        "settings": settings.common,
        "broker_settings": settings.own,
        "broker_releases": protocols,
    }
    return said | {name: part for name, part in others.items() if part}


def _topics(dump: Path, imported: ImportedScenario, release: str) -> list[dict[str, Any]]:
    return [_topic(dump, topic, imported, release) for topic in imported.cluster.topics]


def _topic(
    dump: Path, topic: DescribedTopic, imported: ImportedScenario, release: str
) -> dict[str, Any]:
    written = {name: Property(text, dump, topic.line) for name, text in topic.settings.items()}
    settings, notices = topic_settings(written, release)
    imported.notices += notices
    partitions = topic.partitions.values()
    said: dict[str, Any] = {"name": topic.name}
    if settings:
        said["settings"] = settings
    said["assignment"] = {each.number: list(each.replicas) for each in partitions}
    # Also for a healthy topic: without a state it would be created after the start.
    said["state"] = {each.number: _state(each) for each in partitions if not _is_well(each)}
    return said


def _is_well(partition: DescribedPartition) -> bool:
    """Whether the preferred replica leads the partition, and all replicas are in the ISR."""
    return partition.leader == partition.replicas[0] and partition.isr == partition.replicas


def _state(partition: DescribedPartition) -> dict[str, Any]:
    leader = "none" if partition.leader is None else partition.leader
    state = {"leader": leader, "isr": list(partition.isr)}
    # Where there is an ISR, ZooKeeper's control plane uses no other replicas.
    needs_eligible = partition.eligible and not partition.isr
    return state | {"elr": list(partition.eligible)} if needs_eligible else state


def _tell_of_brokers_without_replicas(imported: ImportedScenario, files: BrokerFiles) -> None:
    hosts = {broker for _, each in imported.cluster.partitions() for broker in each.replicas}
    idle = [broker for broker in files.by_broker if broker not in hosts]
    if idle:
        text = f"brokers that have a file and no replica in the dump, up: {named(idle)}"
        imported.notices.append(Notice("brokers", text))


def _producers(request: ImportRequest, imported: ImportedScenario) -> list[dict[str, Any]]:
    topics = [topic.name for topic in imported.cluster.topics]
    if request.rates:
        producers = read_topic_rates(request.rates, topics)
    else:
        producers = default_producers(topics)
    imported.notices += producers.notices
    return producers.groups


def _faults(cluster: DescribedCluster) -> list[dict[str, Any]]:
    if not cluster.down:
        return []
    # No `for`: the time of their return is unknown.
    return [{"name": "down", "kind": "crash", "at": "0s", "brokers": list(cluster.down)}]


def _steps(request: ImportRequest, imported: ImportedScenario) -> list[dict[str, Any]]:
    steps = []
    under_way = [
        {
            "topic": topic,
            "partition": each.number,
            "replicas": [broker for broker in each.replicas if broker not in each.removing],
        }
        for topic, each in imported.cluster.partitions()
        if each.is_reassigning
    ]
    if under_way:
        steps.append({"at": _GOES_ON_AT, "do": "reassign", "partitions": under_way})
        text = (
            f"partitions that are being reassigned: {len(under_way)}; they begin with all "
            f"replicas, old and new, and the reassignment resumes at {_GOES_ON_AT}"
        )
        imported.notices.append(Notice("steps", text))
    if request.reassignment:
        counts = {topic.name: len(topic.partitions) for topic in imported.cluster.topics}
        plan = read_reassignment_plan(request.reassignment, counts, imported.cluster.brokers)
        imported.notices += plan.notices
        steps.append({"at": request.reassign_at, "do": "reassign", "partitions": plan.moves})
    return steps


def _check(request: ImportRequest, imported: ImportedScenario) -> None:
    """Read the scenario as a run does, and report the settings that have no effect."""
    try:
        scenario = scenario_from_mapping(imported.data, file_text(request.dump))
    except ScenarioError as error:
        raise InputError(str(error).splitlines()[0]) from error
    imported.scenario = scenario
    _tell_of_settings(imported, scenario)
    _tell_of_refused_writes(imported, scenario)


def _tell_of_settings(imported: ImportedScenario, scenario: Scenario) -> None:
    plain = 0
    for line in scenario.settings_not_modelled():
        if ": " in line:
            imported.notices.append(Notice("settings", f"has no effect: {line}"))
        else:
            plain += 1
    if plain:
        text = (
            f"{counted(plain, 'setting')} kept, without any effect here: `tidegauge run` lists them"
        )
        imported.notices.append(Notice("settings", text))


def _tell_of_refused_writes(imported: ImportedScenario, scenario: Scenario) -> None:
    """Report ISRs below min.insync.replicas: writes are refused, although there may be a leader."""
    settings = scenario.settings_of(scenario.broker_ids()[0])
    never, not_now = [], 0
    for topic, described in zip(scenario.topics, imported.cluster.topics, strict=False):
        least = topic.effective(settings)["min.insync.replicas"]
        led = [each for each in described.partitions.values() if each.leader is not None]
        if least > scenario.replication_factor(topic):
            never.append(topic.name)
        else:
            not_now += sum(len(each.isr) < least for each in led)
    if never:
        text = (
            "min.insync.replicas is more than the number of replicas, so writes with acks=all are "
            f"refused: {named(never)}"
        )
        imported.notices.append(Notice("workload", text))
    if not_now:
        text = (
            "partitions with a leader, but fewer replicas in sync than min.insync.replicas: "
            f"{not_now}; writes with acks=all are refused there until more replicas are in sync"
        )
        imported.notices.append(Notice("workload", text))
