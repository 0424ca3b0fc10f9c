"""A scenario from the output of tools about a real cluster, and its text.

The text is YAML that is easy to read and to change. The lines of a topic can be compared with the
dump. The head names the source files, and has all notices.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidegauge.real_cluster.describe import input_file, topic_rates
from tidegauge.real_cluster.describe.broker_configs import read_properties
from tidegauge.real_cluster.describe.cluster_settings import (
    broker_files,
    cluster_settings,
    topic_settings,
)
from tidegauge.real_cluster.describe.describe_dump import (
    DescribedPartition,
    DescribedTopic,
    DescribeDump,
    read_describe_dump,
)
from tidegauge.real_cluster.describe.described_cluster import DescribedCluster, described_cluster
from tidegauge.real_cluster.describe.described_quorum import controller_ids, described_quorum
from tidegauge.real_cluster.describe.kraft_tools import read_feature_levels, read_metadata_quorum
from tidegauge.real_cluster.describe.log_sizes import LogSizes, read_log_dirs, with_sizes
from tidegauge.real_cluster.describe.reassignment_plan import read_reassignment_plan
from tidegauge.real_cluster.describe.release_hints import ChosenRelease, choose_release
from tidegauge.real_cluster.describe.server_properties import Property
from tidegauge.real_cluster.describe.strimzi_cluster import StrimziCluster, strimzi_cluster
from tidegauge.real_cluster.describe.strimzi_resources import is_yaml, strimzi_resources
from tidegauge.real_cluster.describe.strimzi_topics import topics_as_created
from tidegauge.replication.release_versions import KRAFT_MODE
from tidegauge.replication.releases import rules_of
from tidegauge.scenario.model.settings import Value, broker_defaults
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.scenario.text.errors import Path as ModelPath
from tidegauge.scenario.text.errors import counted
from tidegauge.scenario.text.yaml_file import comment, in_line, lines_of
from tidegauge.scenario.warnings import newer_than_known
from tidegauge.simulation.quantities import format_duration, parse_duration

#: The first controller resumes a reassignment in progress: it is requested before that.
_RESUMES_AT = "500ms"
_MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True)
class ImportRequest:
    """The imported files, and the corrections by options."""

    #: Files with the output of kafka-topics.sh --describe, with resources of Strimzi, or both.
    sources: Sequence[Path]
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
    quorum: Path | None = None
    #: The rates of a monitoring system, instead of ``rates``.
    measured: topic_rates.WorkloadReader | None = None

    def origins(self) -> list[str]:
        """The names of all files, and of other places, without their folders."""
        names = [input_file.file_text(file).rpartition("/")[2] for file in self.files()]
        return names if self.measured is None else [*names, self.measured.origin]

    def files(self) -> list[Path]:
        """All files, in the order in which they are read."""
        others = (self.reassignment, self.rates, self.features, self.log_dirs, self.quorum)
        return [*self.sources, *self.properties, *(file for file in others if file)]


@dataclass
class ImportedScenario:
    """The result of an import."""

    #: The scenario as a mapping, its fields in the order in which people read them.
    data: dict[str, Any]
    cluster: DescribedCluster
    #: The names of the files and other places that it was made from.
    origins: list[str]
    #: As a run reads it.
    scenario: Scenario
    notices: list[input_file.Notice]
    #: Its release and mode, and whether they are guesses.
    release: ChosenRelease


def import_scenario(request: ImportRequest) -> ImportedScenario:
    """The scenario that begins in the state of the cluster when the dump was made.

    Raises:
        InputError: a file cannot be read or contradicts itself or another, or the cluster cannot be
            simulated.
    """
    parts = _Parts(request)
    data = parts.data()
    try:
        scenario = scenario_from_mapping(data, input_file.file_text(request.sources[0]))
    except ScenarioError as error:
        raise input_file.InputError(str(error).splitlines()[0]) from error
    parts.notices.add("release", *newer_than_known(scenario))
    _tell_of_settings(parts.notices, scenario)
    _tell_of_refused_writes(parts.notices, scenario, parts.cluster)
    notices = input_file.in_order(parts.notices)
    return ImportedScenario(
        data, parts.cluster, request.origins(), scenario, notices, parts.release
    )


def _filled(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The parts that have a value."""
    return {name: part for name, part in parts.items() if part not in (None, [], {})}


def _read_sources(files: Sequence[Path]) -> tuple[DescribeDump, StrimziCluster | None]:
    """The topics of a cluster, and its nodes if there are resources; a dump's topics come first."""
    texts = [(file, input_file.read_text(file)) for file in files]
    documents = [each for each in texts if is_yaml(*each)]
    dumps = [each for each in texts if each not in documents]
    if len(dumps) > 1:
        message = f"is a second dump beside {input_file.file_text(dumps[0][0])}: import one"
        raise input_file.input_error(dumps[1][0], None, message)
    if not documents:
        return read_describe_dump(*dumps[0]), None
    resources = strimzi_resources(documents)
    cluster = strimzi_cluster(resources)
    if not dumps:
        return topics_as_created(resources, cluster), cluster
    names = [each.metadata.name for each in resources.topics]
    cluster.notices.name("input", "KafkaTopics are left out, as the dump has the topics", names)
    return read_describe_dump(*dumps[0]), cluster


class _Parts:
    """The parts of a scenario, as they follow from the files of a request."""

    def __init__(self, request: ImportRequest) -> None:
        self._request = request
        self.notices = input_file.Notices()
        dump, resources = _read_sources(request.sources)
        files = read_properties(request.properties)
        self._files = broker_files([*files, *(resources.files if resources else ())])
        if resources:
            self._files.release = resources.release
            self._files.metadata_version = resources.metadata_version
            self.notices += resources.notices
        others = [*self._files.by_broker]
        if request.quorum:
            self._files.quorum = read_metadata_quorum(request.quorum)
            controllers = controller_ids(self._files)
            others += [each for each in self._files.quorum.observers if each not in controllers]
        self.cluster = described_cluster(dump, others, request.up, request.down)
        self._features = read_feature_levels(request.features) if request.features else None
        self.release = choose_release(request.release, self._files, dump, self._features)
        #: The release and the mode, by which settings are read.
        self._version = (self.release.release, self.release.mode)
        self._is_kraft = self.release.mode == KRAFT_MODE
        self._settings = cluster_settings(self._files, self.cluster.brokers, *self._version)
        self._sizes: LogSizes | None = None
        if request.log_dirs:
            self._sizes = LogSizes(read_log_dirs(request.log_dirs), self.cluster)
            self.notices += self._sizes.notices
        for each in (dump, self._files, self.cluster, self.release, self._settings):
            self.notices += each.notices

    def data(self) -> dict[str, Any]:
        """The scenario as a mapping."""
        self._name_idle_brokers()
        request, release = self._request, self.release
        of_kraft = {
            "mode": release.mode,
            "metadata_version": release.metadata_version,
            "eligible_leader_replicas": release.eligible_leader_replicas,
        }
        return _filled(
            {
                "name": request.name,
                "duration": request.duration,
                "release": release.release,
                "protocol": release.protocol,
                **(of_kraft if self._is_kraft else {}),
                "cluster": self._cluster(),
                "controllers": self._controllers() if self._is_kraft else {},
                "topics": [self._topic(each) for each in self.cluster.topics],
                "workload": self._workload(),
                "steps": self._steps(),
                "faults": self._faults(),
            }
        )

    def _name_idle_brokers(self) -> None:
        """Name the brokers without replicas: one without a file may be a controller (KIP-853)."""
        hosts = {broker for _, each in self.cluster.partitions() for broker in each.replicas}
        idle = [broker for broker in self.cluster.up() if broker not in hosts]
        self.notices.name("brokers", "brokers that have no replica in the dump, up", idle)
        quorum = self._files.quorum
        if quorum is not None and quorum.is_dynamic:
            unknown = {*quorum.observers} - self._files.by_broker.keys()
            self.notices.name(
                "brokers",
                "taken for brokers, since they observe the quorum; a controller may observe, too, "
                "and its own file (--properties) tells that",
                [broker for broker in idle if broker in unknown],
            )

    def _cluster(self) -> dict[str, Any]:
        settings, protocols = self._settings, self.release.protocols
        directories = settings.log_directories
        if self._sizes is not None:
            directories = max(directories, self._sizes.log_directories)
        return _filled(
            {
                "brokers": list(self.cluster.brokers),
                "racks": settings.racks,
                "start_spread": "0s",
                "log_directories": directories if directories > 1 else None,
                "settings": settings.common,
                "broker_settings": settings.own,
                "broker_releases": {each: {"protocol": text} for each, text in protocols.items()},
            }
        )

    def _controllers(self) -> dict[str, Any]:
        racks, release = self._settings.racks, self.release.release
        quorum = described_quorum(self._files, racks, release, self._features)
        self.notices += quorum.notices
        return quorum.data

    def _topic(self, topic: DescribedTopic) -> dict[str, Any]:
        written = {
            name: Property(text, topic.file, topic.line) for name, text in topic.settings.items()
        }
        settings, notices = topic_settings(written, *self._version)
        self.notices += notices
        self._suit_min_isr(topic, settings)
        partitions = topic.partitions.values()
        described = {
            **_filled({"name": topic.name, "settings": settings}),
            "assignment": {each.number: list(each.replicas) for each in partitions},
            # Also for a healthy topic: without a state it would be created after the start.
            "state": {each.number: self._state(each) for each in partitions if not _is_well(each)},
        }
        return with_sizes(described, topic, self._sizes)

    def _state(self, partition: DescribedPartition) -> dict[str, Any]:
        moves = self._is_kraft and (partition.adding or partition.removing)
        lists = {"adding": list(partition.adding), "removing": list(partition.removing)}
        return {
            "leader": "none" if partition.leader is None else partition.leader,
            "isr": list(partition.isr),
            **_filled({"elr": list(partition.eligible)}),
            **({"last_known_leader": partition.last_known[0]} if partition.last_known else {}),
            **(lists if moves else {}),
        }

    def _suit_min_isr(self, topic: DescribedTopic, settings: dict[str, Value]) -> None:
        """Set a min.insync.replicas with which the eligible leader replicas (Elr) are possible.

        They are those that left an ISR that became smaller than min.insync.replicas. A dump of only
        some partitions does not have the settings of topics.
        """
        sizes = {each.number: len(each.isr) for each in topic.partitions.values() if each.eligible}
        needed = max(sizes.values(), default=0) + 1
        least = int(settings.get(_MIN_ISR, self._settings.common.get(_MIN_ISR, 1)))
        if not sizes or needed <= least:
            return
        if _MIN_ISR not in settings:
            settings[_MIN_ISR] = needed
            text = f"{topic.name}: {_MIN_ISR} is {needed} or more, since partitions have an Elr"
            self.notices.add("partitions", text)
            return
        for number, size in sizes.items():
            if size >= least:
                topic.partitions[number] = replace(topic.partitions[number], eligible=())
                text = f"{topic.name}-{number}: Elr left out: the ISR has {_MIN_ISR} members"
                self.notices.add("partitions", text)

    def _workload(self) -> dict[str, list[dict[str, Any]]]:
        topics = {topic.name: len(topic.partitions) for topic in self.cluster.topics}
        if self._request.measured:
            of_all = {**broker_defaults(*self._version), **self._settings.common}
            different = {name for own in self._settings.own.values() for name in own}
            in_force = {name: value for name, value in of_all.items() if name not in different}
            measured = self._request.measured.read(topic_rates.MeasuredCluster(topics, in_force))
            self.notices += measured.notices
            return _filled({"producers": measured.producers, "consumers": measured.consumers})
        if self._request.rates:
            producers = topic_rates.read_topic_rates(self._request.rates, topics)
        else:
            producers = topic_rates.default_producers([*topics])
        self.notices += producers.notices
        return {"producers": producers.groups}

    def _faults(self) -> list[dict[str, Any]]:
        down = list(self.cluster.down)
        # No `for`: the time of their return is unknown.
        return [{"name": "down", "kind": "crash", "at": "0s", "brokers": down}] if down else []

    def _steps(self) -> list[dict[str, Any]]:
        steps = []
        moves = [
            {
                "topic": topic,
                "partition": each.number,
                "replicas": [broker for broker in each.replicas if broker not in each.removing],
            }
            for topic, each in self.cluster.partitions()
            if each.adding or each.removing
        ]
        text = f"partitions that are being reassigned: {len(moves)}"
        if moves and self._is_kraft:
            self.notices.add("partitions", text)
        elif moves:
            steps.append({"at": _RESUMES_AT, "do": "reassign", "partitions": moves})
            text += (
                "; they begin with all replicas, old and new, and the reassignment resumes at "
                f"{_RESUMES_AT}"
            )
            self.notices.add("steps", text)
        if self._request.reassignment:
            counts = {topic.name: len(topic.partitions) for topic in self.cluster.topics}
            plan = read_reassignment_plan(self._request.reassignment, counts, self.cluster.brokers)
            self.notices += plan.notices
            at = self._request.reassign_at
            steps.append({"at": at, "do": "reassign", "partitions": plan.moves})
        return steps


def _is_well(partition: DescribedPartition) -> bool:
    """Whether the preferred replica leads the partition, and all replicas are in the ISR."""
    if partition.adding or partition.removing:
        return False
    return partition.leader == partition.replicas[0] and partition.isr == partition.replicas


def _tell_of_settings(notices: input_file.Notices, scenario: Scenario) -> None:
    """Report the settings that have no effect."""
    lines = list(scenario.settings_not_modelled())
    reasons = [line for line in lines if ": " in line]
    notices.add("settings", *(f"has no effect: {line}" for line in reasons))
    if others := len(lines) - len(reasons):
        text = f"{counted(others, 'setting')} kept, without any effect: `tidegauge run` lists them"
        notices.add("settings", text)


def _tell_of_refused_writes(
    notices: input_file.Notices, scenario: Scenario, cluster: DescribedCluster
) -> None:
    """Report ISRs below min.insync.replicas: writes are refused, although there may be a leader."""
    broker = scenario.broker_ids()[0]
    settings = scenario.settings_of(broker)
    is_capped = rules_of(*scenario.release_of(broker)).min_isr_capped_by_replicas
    never, not_now = [], 0
    for topic, described in zip(scenario.topics, cluster.topics, strict=False):
        least = topic.effective(settings)[_MIN_ISR]
        replicas = scenario.replication_factor(topic)
        if is_capped:
            least = min(least, replicas)
        led = [each for each in described.partitions.values() if each.leader is not None]
        if least > replicas:
            never.append(topic.name)
        else:
            not_now += sum(len(each.isr) < least for each in led)
    notices.name(
        "workload",
        f"{_MIN_ISR} is more than the number of replicas, so writes with acks=all are refused",
        never,
    )
    if not_now:
        notices.add(
            "workload",
            f"partitions with a leader, but fewer replicas in sync than {_MIN_ISR}: "
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
