"""A scenario from the output of tools about a real cluster, and its text.

The text is YAML that is easy to read and to change. The lines of a topic can be compared with the
dump. The head names the source files, and has all notices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tidegauge.real_cluster.describe.cluster_settings import (
    BrokerFiles,
    ClusterSettings,
    broker_files,
    cluster_settings,
    topic_settings,
)
from tidegauge.real_cluster.describe.describe_dump import (
    DescribedPartition,
    DescribedTopic,
    read_describe_dump,
)
from tidegauge.real_cluster.describe.described_cluster import DescribedCluster, described_cluster
from tidegauge.real_cluster.describe.described_quorum import described_quorum
from tidegauge.real_cluster.describe.input_file import InputError, Notices, file_text, in_order
from tidegauge.real_cluster.describe.log_sizes import LogSizes, read_log_dirs, with_sizes
from tidegauge.real_cluster.describe.reassignment_plan import read_reassignment_plan
from tidegauge.real_cluster.describe.release_hints import (
    ChosenRelease,
    choose_release,
    read_feature_levels,
)
from tidegauge.real_cluster.describe.server_properties import Property, read_server_properties
from tidegauge.real_cluster.describe.topic_rates import (
    MeasuredCluster,
    WorkloadReader,
    default_producers,
    read_topic_rates,
)
from tidegauge.replication.release_versions import KRAFT_MODE
from tidegauge.replication.releases import rules_of
from tidegauge.scenario.model.settings import Value, broker_defaults
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.scenario.text.counted import counted
from tidegauge.scenario.text.errors import Path as ModelPath
from tidegauge.scenario.text.written_yaml import comment, in_line, lines_of
from tidegauge.simulation.durations import format_duration, parse_duration

#: The first controller resumes a reassignment in progress: it is requested before that.
_GOES_ON_AT = "500ms"
_MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True)
class ImportRequest:
    """The imported files, and the corrections by options."""

    dump: Path
    name: str
    properties: Sequence[Path] = ()
    reassignment: Path | None = None
    rates: Path | None = None
    features: Path | None = None
    release: str | None = None
    duration: str = "5m"
    reassign_at: str = "60s"
    #: Ids of brokers that are up, or down, whatever the dump suggests.
    up: Sequence[int] = ()
    down: Sequence[int] = ()
    log_dirs: Path | None = None
    #: The rates of a monitoring system, instead of ``rates``.
    measured: WorkloadReader | None = None

    def origins(self) -> list[str]:
        """The names of all files, and of other places, without their folders."""
        names = [file_text(file).rpartition("/")[2] for file in self.files()]
        return names if self.measured is None else [*names, self.measured.origin]

    def files(self) -> list[Path]:
        """All files, in the order in which they are read."""
        others = [
            file for file in (self.reassignment, self.rates, self.features, self.log_dirs) if file
        ]
        return [self.dump, *self.properties, *others]


@dataclass
class ImportedScenario:
    """The result of an import."""

    #: The scenario as a mapping, its fields in the order in which people read them.
    data: dict[str, Any]
    cluster: DescribedCluster
    #: The names of the files and other places that it was made from.
    origins: list[str]
    #: As a run reads it.
    scenario: Scenario = field(init=False)
    notices: Notices = field(default_factory=Notices)


def import_scenario(request: ImportRequest) -> ImportedScenario:
    """The scenario that begins in the state of the cluster when the dump was made.

    Raises:
        InputError: a file cannot be read or contradicts itself or another, or the cluster cannot be
            simulated.
    """
    dump = read_describe_dump(request.dump)
    files = broker_files([read_server_properties(file) for file in request.properties])
    cluster = described_cluster(dump, files.by_broker, request.up, request.down)
    features = read_feature_levels(request.features) if request.features else None
    release = choose_release(request.release, files, dump, features)
    settings = cluster_settings(files, cluster.brokers, release.release, release.mode)
    imported = ImportedScenario({}, cluster, request.origins())
    sizes = LogSizes(read_log_dirs(request.log_dirs), cluster) if request.log_dirs else None
    imported.notices += [] if sizes is None else sizes.notices
    for each in (dump, files, cluster, release, settings):
        imported.notices += each.notices
    _tell_of_brokers_without_replicas(imported, files)
    imported.data = {
        "name": request.name,
        "duration": request.duration,
        **_release(release),
        "cluster": _cluster(cluster, settings, release, sizes),
        "controllers": _controllers(imported, files, settings, release),
        "topics": [
            with_sizes(written, topic, sizes)
            for written, topic in zip(
                _topics(request.dump, imported, settings, release), cluster.topics, strict=True
            )
        ],
        "workload": _workload(request, imported, settings, release),
        "steps": _steps(request, imported, release),
        "faults": _faults(cluster),
    }
    imported.data = {name: part for name, part in imported.data.items() if part not in ([], {})}
    _check(request, imported)
    imported.notices = Notices(in_order(imported.notices))
    return imported


def _release(release: ChosenRelease) -> dict[str, Any]:
    said: dict[str, Any] = {"release": release.release}
    if release.protocol:
        said["protocol"] = release.protocol
    if release.mode == KRAFT_MODE:
        said["mode"] = release.mode
        if release.metadata_version:
            said["metadata_version"] = release.metadata_version
        if release.eligible_leader_replicas is not None:
            said["eligible_leader_replicas"] = release.eligible_leader_replicas
    return said


def _cluster(
    cluster: DescribedCluster,
    settings: ClusterSettings,
    release: ChosenRelease,
    sizes: LogSizes | None,
) -> dict[str, Any]:
    said: dict[str, Any] = {"brokers": list(cluster.brokers)}
    if settings.racks:
        said["racks"] = settings.racks
    said["start_spread"] = "0s"
    reported = 1 if sizes is None else sizes.log_directories
    if max(settings.log_directories, reported) > 1:
        said["log_directories"] = max(settings.log_directories, reported)
    protocols = {broker: {"protocol": text} for broker, text in release.protocols.items()}
    others = {
        "settings": settings.common,
        "broker_settings": settings.own,
        "broker_releases": protocols,
    }
    return said | {name: part for name, part in others.items() if part}


def _controllers(
    imported: ImportedScenario,
    files: BrokerFiles,
    settings: ClusterSettings,
    release: ChosenRelease,
) -> dict[str, Any]:
    if release.mode != KRAFT_MODE:
        return {}
    quorum = described_quorum(files, settings.racks, release.release)
    imported.notices += quorum.notices
    return quorum.data


def _topics(
    dump: Path, imported: ImportedScenario, settings: ClusterSettings, release: ChosenRelease
) -> list[dict[str, Any]]:
    least = int(settings.common.get(_MIN_ISR, 1))
    return [_topic(dump, topic, imported, release, least) for topic in imported.cluster.topics]


def _topic(
    dump: Path,
    topic: DescribedTopic,
    imported: ImportedScenario,
    release: ChosenRelease,
    least: int,
) -> dict[str, Any]:
    written = {name: Property(text, dump, topic.line) for name, text in topic.settings.items()}
    settings, notices = topic_settings(written, release.release, release.mode)
    imported.notices += notices
    _suit_min_isr(topic, imported, settings, least)
    partitions = topic.partitions.values()
    said: dict[str, Any] = {"name": topic.name}
    if settings:
        said["settings"] = settings
    said["assignment"] = {each.number: list(each.replicas) for each in partitions}
    # Also for a healthy topic: without a state it would be created after the start.
    said["state"] = {
        each.number: _state(each, is_kraft=release.mode == KRAFT_MODE)
        for each in partitions
        if not _is_well(each)
    }
    return said


def _is_well(partition: DescribedPartition) -> bool:
    """Whether the preferred replica leads the partition, and all replicas are in the ISR."""
    if partition.adding or partition.removing:
        return False
    return partition.leader == partition.replicas[0] and partition.isr == partition.replicas


def _state(partition: DescribedPartition, *, is_kraft: bool) -> dict[str, Any]:
    leader = "none" if partition.leader is None else partition.leader
    state = {"leader": leader, "isr": list(partition.isr)}
    if partition.eligible:
        state["elr"] = list(partition.eligible)
    if partition.last_known:
        state["last_known_leader"] = partition.last_known[0]
    if is_kraft and (partition.adding or partition.removing):
        state |= {"adding": list(partition.adding), "removing": list(partition.removing)}
    return state


def _suit_min_isr(
    topic: DescribedTopic, imported: ImportedScenario, settings: dict[str, Value], least: int
) -> None:
    """Have a min.insync.replicas with which the eligible leader replicas (Elr) can be.

    They are those that left an ISR that became smaller than min.insync.replicas. A dump of only
    some partitions does not have the settings of topics.
    """
    sizes = {number: len(each.isr) for number, each in topic.partitions.items() if each.eligible}
    needed = max(sizes.values(), default=0) + 1
    if not sizes or needed <= int(settings.get(_MIN_ISR, least)):
        return
    if _MIN_ISR not in settings:
        settings[_MIN_ISR] = needed
        imported.notices.add(
            "partitions",
            f"{topic.name}: {_MIN_ISR} is {needed} or more, since partitions have an Elr",
        )
        return
    for number, size in sizes.items():
        if size >= int(settings[_MIN_ISR]):
            topic.partitions[number] = replace(topic.partitions[number], eligible=())
            imported.notices.add(
                "partitions", f"{topic.name}-{number}: Elr left out: the ISR has {_MIN_ISR} members"
            )


def _tell_of_brokers_without_replicas(imported: ImportedScenario, files: BrokerFiles) -> None:
    hosts = {broker for _, each in imported.cluster.partitions() for broker in each.replicas}
    idle = [broker for broker in files.by_broker if broker not in hosts]
    imported.notices.name(
        "brokers", "brokers that have a file and no replica in the dump, up", idle
    )


def _workload(
    request: ImportRequest,
    imported: ImportedScenario,
    settings: ClusterSettings,
    release: ChosenRelease,
) -> dict[str, list[dict[str, Any]]]:
    topics = [topic.name for topic in imported.cluster.topics]
    if request.measured:
        of_all = {**broker_defaults(release.release, release.mode), **settings.common}
        different = {name for own in settings.own.values() for name in own}
        in_force = {name: value for name, value in of_all.items() if name not in different}
        partitions = {topic.name: len(topic.partitions) for topic in imported.cluster.topics}
        measured = request.measured.read(MeasuredCluster(partitions, in_force))
        imported.notices += measured.notices
        groups = {"producers": measured.producers, "consumers": measured.consumers}
        return {name: part for name, part in groups.items() if part}
    if request.rates:
        producers = read_topic_rates(request.rates, topics)
    else:
        producers = default_producers(topics)
    imported.notices += producers.notices
    return {"producers": producers.groups}


def _faults(cluster: DescribedCluster) -> list[dict[str, Any]]:
    if not cluster.down:
        return []
    # No `for`: the time of their return is unknown.
    return [{"name": "down", "kind": "crash", "at": "0s", "brokers": list(cluster.down)}]


def _steps(
    request: ImportRequest, imported: ImportedScenario, release: ChosenRelease
) -> list[dict[str, Any]]:
    steps = []
    under_way = [
        {
            "topic": topic,
            "partition": each.number,
            "replicas": [broker for broker in each.replicas if broker not in each.removing],
        }
        for topic, each in imported.cluster.partitions()
        if each.adding or each.removing
    ]
    if under_way and release.mode == KRAFT_MODE:
        imported.notices.add(
            "partitions", f"partitions that are being reassigned: {len(under_way)}"
        )
    elif under_way:
        steps.append({"at": _GOES_ON_AT, "do": "reassign", "partitions": under_way})
        imported.notices.add(
            "steps",
            f"partitions that are being reassigned: {len(under_way)}; they begin with all "
            f"replicas, old and new, and the reassignment resumes at {_GOES_ON_AT}",
        )
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
            imported.notices.add("settings", f"has no effect: {line}")
        else:
            plain += 1
    if plain:
        imported.notices.add(
            "settings",
            f"{counted(plain, 'setting')} kept, without any effect: `tidegauge run` lists them",
        )


def _tell_of_refused_writes(imported: ImportedScenario, scenario: Scenario) -> None:
    """Report ISRs below min.insync.replicas: writes are refused, although there may be a leader."""
    broker = scenario.broker_ids()[0]
    settings = scenario.settings_of(broker)
    is_capped = rules_of(*scenario.release_of(broker)).min_isr_capped_by_replicas
    never, not_now = [], 0
    for topic, described in zip(scenario.topics, imported.cluster.topics, strict=False):
        least = topic.effective(settings)["min.insync.replicas"]
        replicas = scenario.replication_factor(topic)
        if is_capped:
            least = min(least, replicas)
        led = [each for each in described.partitions.values() if each.leader is not None]
        if least > replicas:
            never.append(topic.name)
        else:
            not_now += sum(len(each.isr) < least for each in led)
    imported.notices.name(
        "workload",
        "min.insync.replicas is more than the number of replicas, so writes with acks=all are "
        "refused",
        never,
    )
    if not_now:
        imported.notices.add(
            "workload",
            "partitions with a leader, but fewer replicas in sync than min.insync.replicas: "
            f"{not_now}; writes with acks=all are refused there until more replicas are in sync",
        )


#: The comment above a part, if the part has its own place.
_ABOUT = {
    "cluster": "",
    "controllers": "",
    "topics": (
        "state: leader and ISR as the run begins. A partition that it does not name is led by "
        "the first of its replicas, and all of them are in sync."
    ),
    "workload": "",
    "steps": "Actions of the operator. Beside `do`, `throttle: 10000000` is the tool's --throttle.",
    "faults": "Faults. A broker that is down remains down: add `for: 10m` to have it return.",
}


def scenario_text(imported: ImportedScenario) -> str:
    """The whole file."""
    lines = [*_introduction(imported)]
    remarks = _remarks(imported)
    for name, part in imported.data.items():
        lines += _about(name)
        lines += lines_of({name: part}, remarks)
    lines += _faults_to_try(imported)
    return "\n".join(lines) + "\n"


def _introduction(imported: ImportedScenario) -> Iterator[str]:
    yield from comment(f"Made by `tidegauge import` from {', '.join(imported.origins)}.")
    if imported.notices:
        yield "#"
        yield "# Notices:"
    for notice in imported.notices:
        yield from comment(f"- {notice.subject}: {notice.text}", "  ")


def _about(name: str) -> list[str]:
    """The comment above a part of the scenario."""
    return ["", *comment(_ABOUT[name])] if name in _ABOUT else []


def _faults_to_try(imported: ImportedScenario) -> Iterator[str]:
    """Example faults, commented out."""
    if imported.cluster.down:
        yield "# To add a fault, remove the # before it:"
    else:
        yield ""
        yield "# Faults: none yet. Remove the # before `faults` and before the faults to add."
        yield "#faults:"
    broker = (imported.cluster.up() or imported.cluster.brokers)[0]
    begin = format_duration(parse_duration(imported.data["duration"]) // 2)
    yield f"#  - {{kind: crash, at: {begin}, for: 2m, brokers: [{broker}]}}"
    yield f"#  - {{kind: slow_disk, at: {begin}, for: 30s, brokers: [{broker}], delay: 200ms}}"
    rack = next(iter(imported.data["cluster"].get("racks", ())), None)
    if rack is not None:
        hit = in_line([f"rack:{rack}"])
        yield f"#  - {{kind: power_loss, at: {begin}, for: 2m, brokers: {hit}}}"


def _remarks(imported: ImportedScenario) -> dict[ModelPath, str]:
    """Comments at the ends of lines, by the path of a line's value."""
    places = {topic["name"]: place for place, topic in enumerate(imported.data["topics"])}
    return {
        ("topics", places[topic], "assignment", number): "not in the dump"
        for topic, numbers in imported.cluster.assumed.items()
        for number in numbers
    }
