"""The settings of a cluster from the ``server.properties`` of some of its brokers.

Settings that all files have in common are the cluster's; settings that differ belong to a broker. A
broker without a file gets the common settings. A single file that names no broker is a template for
all.

A scenario takes nearly all settings, also those without effect. Left out, with a notice, are:
settings that could contain secrets, which must not be in a file that is shared; settings with
another place in a scenario; settings that the release does not have.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

from tidegauge.real_cluster.describe.input_file import Notices, input_error, named
from tidegauge.real_cluster.describe.kraft_tools import MetadataQuorum
from tidegauge.real_cluster.describe.server_properties import Property, ServerProperties
from tidegauge.replication.kraft_releases import kraft_cells_of
from tidegauge.replication.release_versions import KRAFT_MODE, Mode
from tidegauge.scenario.model import settings as model_settings
from tidegauge.scenario.model.cluster import DEFAULT_RACK, MOST_LOG_DIRECTORIES

# Names of ConfigDef.Type.PASSWORD settings, and those of plug-ins.
_SECRET = re.compile(
    r"password|secret|credential|jaas|license|certificate\.chain$|truststore\.certificates$"
    r"|\.key$|token$|passphrase|user\.info$|connection\.string$",
    re.IGNORECASE,
)
#: A user in an address, most often with a password.
_USER_IN_ADDRESS = re.compile(r"://[^/\s]*@")
#: Addresses of brokers for clients, which are not needed here.
_ADDRESSES = {
    *("listeners", "advertised.listeners", "host.name", "port"),
    *("advertised.host.name", "advertised.port"),
}
#: Settings with another place in a scenario, which the import fills in.
_PLACED_ELSEWHERE = {
    *("broker.id", "node.id", "broker.rack", "log.dir", "log.dirs"),
    *("inter.broker.protocol.version", "process.roles"),
    *("controller.quorum.voters", "controller.quorum.bootstrap.servers"),
}
_INTEGER = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)
_DECIMAL = re.compile(r"-?\d{1,9}\.\d{1,9}", re.ASCII)
_LARGEST = 2**63 - 1


class TakenSettings(NamedTuple):
    """The settings that a scenario takes, and notices about the others."""

    values: dict[str, model_settings.Value]
    notices: Notices


def broker_settings(properties: Mapping[str, Property], release: str, mode: Mode) -> TakenSettings:
    """The settings of brokers of this release and mode, without those of KRaft's controllers.

    Raises:
        InputError: a setting that the simulator reads has a value that Kafka would refuse, or a
            name is a misspelling of one of Kafka's.
    """
    defaults = dict(model_settings.broker_defaults(release, mode))
    cordons = model_settings.CORDONED_LOG_DIRS
    if mode != KRAFT_MODE:
        return _taken(properties, "brokers", defaults, {cordons: "they have no meaning here"})
    of_controllers = model_settings.CONTROLLER_SETTINGS
    of_brokers = {name: each for name, each in properties.items() if name not in of_controllers}
    own = _with_numbered_log_dirs(of_brokers)
    problems = model_settings.problems_of_settings_with_kraft((), dict.fromkeys(own, ""))
    of_zookeeper = {str(problem.path[-1]) for problem in problems}
    reasons = dict.fromkeys(of_zookeeper, "they have no meaning with KRaft")
    if not kraft_cells_of(release)["cordoned_directories_known"].value:
        reasons[cordons] = f"release {release} does not have them yet"
    return _taken(own, "brokers", defaults, reasons)


def _with_numbered_log_dirs(properties: Mapping[str, Property]) -> Mapping[str, Property]:
    """The same with the numbers of log directories in cordoned.log.dirs, in place of paths.

    Raises:
        InputError: a path is none of log.dirs, as Kafka refuses it.
    """
    written = properties.get(model_settings.CORDONED_LOG_DIRS)
    if written is None or written.text.strip() in ("", "*"):
        return properties
    known = properties.get("log.dirs") or properties.get("log.dir")
    paths = [] if known is None else [path.strip() for path in known.text.split(",")]
    numbers = []
    for cordoned in written.text.split(","):
        if cordoned.strip() not in paths:
            message = f"{model_settings.CORDONED_LOG_DIRS}: {cordoned.strip()} is not in log.dirs"
            raise written.error(message)
        numbers.append(str(1 + paths.index(cordoned.strip())))
    numbered = written._replace(text=",".join(numbers))
    return {**properties, model_settings.CORDONED_LOG_DIRS: numbered}


def controller_settings(properties: Mapping[str, Property], release: str) -> TakenSettings:
    """The settings of KRaft's controllers among those of a node; errors as for brokers."""
    known = model_settings.controllers_may_set(release)
    own = {name: each for name, each in properties.items() if name in known}
    return _taken(own, "controllers", dict(known))


def topic_settings(properties: Mapping[str, Property], release: str, mode: Mode) -> TakenSettings:
    """The settings of a topic in a cluster of this release and mode; errors as for brokers."""
    defaults = model_settings.broker_defaults(release, mode)
    known: dict[str, int | str] = {name: defaults[name] for name in model_settings.TOPIC_SETTINGS}
    known |= dict.fromkeys(model_settings.THROTTLED_REPLICAS, "")
    return _taken(properties, "topics", known)


def _taken(
    properties: Mapping[str, Property],
    kind: str,
    known: Mapping[str, int | str],
    reasons: Mapping[str, str] = {},
) -> TakenSettings:
    """The settings that a scenario takes; ``reasons`` are those to leave some of them out."""
    taken = TakenSettings({}, Notices())
    left_out: dict[str, list[str]] = defaultdict(list)
    for name, written in properties.items():
        if name in _PLACED_ELSEWHERE:
            continue
        if reason := reasons.get(name) or _why_left_out(name, written.text):
            left_out[reason].append(name)
            continue
        is_list = name in model_settings.THROTTLED_REPLICAS
        value = written.text if is_list else _value(name, written.text)
        problem = next(model_settings.problems_of_settings((), {name: value}, kind, known), None)
        if problem is None:
            taken.values[name] = value
        elif name in known or model_settings.meant_setting(name, kind):
            raise written.error(f"{name}: {problem.message}")
        else:
            text = f"left out: {name} on line {written.line} of {written.file.name}: "
            taken.notices.add("settings", text + problem.message)
    for reason, names in left_out.items():
        taken.notices.name("settings", f"left out, as {reason}", sorted(names))
    return taken


def _why_left_out(name: str, value: str) -> str | None:
    if _SECRET.search(name) or _USER_IN_ADDRESS.search(value):
        return "they could contain secrets"
    return "a scenario has no hosts" if name in _ADDRESSES else None


def _value(name: str, text: str) -> model_settings.Value:
    """A flag or a number where the text is the usual form of one, else the text."""
    text = text.strip()
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if _INTEGER.fullmatch(text) and abs(int(text)) <= _LARGEST:
        return int(text)
    # 2.10 is a release, not the number 2.1.
    if not name.endswith("version") and _DECIMAL.fullmatch(text) and repr(float(text)) == text:
        return float(text)
    return text


#: Placeholders of operators and config providers: ${STRIMZI_RACK_ID}.
_PLACEHOLDER = re.compile(r"\$\{.*\}|\$\w+")
_PROTOCOL = "inter.broker.protocol.version"

#: Beginnings of names of broker settings; a file without any of them is another kind of file.
_SETTING = re.compile(r"[\w-]+(\.[\w-]+)+")


@dataclass
class BrokerFiles:
    """The files of brokers by id, or one that is about all of them."""

    by_broker: dict[int, ServerProperties] = field(default_factory=dict)
    template: ServerProperties | None = None
    #: Those of KRaft's controllers that are not brokers.
    controllers: list[ServerProperties] = field(default_factory=list)
    #: The release and the metadata.version, where the resources of an operator name them.
    release: Property | None = None
    metadata_version: Property | None = None
    #: The quorum of controllers, if its tool was asked.
    quorum: MetadataQuorum | None = None
    notices: Notices = field(default_factory=Notices)

    def all(self) -> list[ServerProperties]:
        """All files of brokers."""
        return [self.template] if self.template else list(self.by_broker.values())

    def nodes(self) -> list[ServerProperties]:
        """All files of controllers and brokers."""
        return [*self.controllers, *self.all()]

    def protocols(self) -> dict[int | None, Property]:
        """inter.broker.protocol.version by broker, where it is set; None: of all brokers."""
        files: dict[int | None, ServerProperties] = dict(self.by_broker.items())
        if self.template:
            files[None] = self.template
        return {
            broker: file.properties[_PROTOCOL]
            for broker, file in files.items()
            if file.text(_PROTOCOL)
        }

    def are_of_kraft(self) -> bool:
        """Whether the files are of nodes without ZooKeeper."""
        return bool(self.quorum) or any(file.is_of_kraft() for file in self.nodes())


@dataclass
class ClusterSettings:
    """The settings of a cluster in a scenario."""

    common: dict[str, model_settings.Value] = field(default_factory=dict)
    #: By broker, only of those that differ.
    own: dict[int, dict[str, model_settings.Value]] = field(default_factory=dict)
    #: Ids of brokers by rack; empty if no rack is known.
    racks: dict[str, list[int]] = field(default_factory=dict)
    log_directories: int = 1
    notices: Notices = field(default_factory=Notices)


def broker_files(files: Sequence[ServerProperties]) -> BrokerFiles:
    """The broker of each file.

    Raises:
        InputError: two files are of the same broker, or one of several names no broker.
    """
    found = BrokerFiles(notices=Notices(notice for file in files for notice in file.notices))
    for file in files:
        broker = file.broker_id()
        if file.roles() == {"controller"}:
            found.controllers.append(file)
            continue
        if broker is None:
            if not any(_SETTING.fullmatch(name) for name in file.properties):
                raise input_error(file.file, None, "has no settings of a broker")
            if len(files) - len(found.controllers) > 1:
                message = "names no broker (broker.id or node.id), so its broker is unknown"
                raise input_error(file.file, None, message)
            found.template = file
            found.notices.add(
                "brokers", f"{file.file.name} names no broker, so its settings apply to all brokers"
            )
        elif broker in found.by_broker:
            first = found.by_broker[broker].file
            raise input_error(
                file.file, None, f"is of broker {broker}, as is {first}: each broker has one file"
            )
        else:
            found.by_broker[broker] = file
    return found


def cluster_settings(
    files: BrokerFiles, brokers: Collection[int], release: str, mode: Mode
) -> ClusterSettings:
    """The settings of a cluster of this release and mode with these brokers.

    Raises:
        InputError: a setting has a value that Kafka would refuse.
    """
    settings = ClusterSettings()
    taken = [broker_settings(file.properties, release, mode) for file in files.all()]
    settings.notices += [notice for each in taken for notice in each.notices]
    _split_common_from_own(settings, files, [each.values for each in taken])
    _place_in_racks(settings, files, brokers)
    _count_log_directories(settings, files.all())
    _tell_of_missing_files(settings, files, brokers)
    return settings


def _split_common_from_own(
    settings: ClusterSettings,
    files: BrokerFiles,
    taken: Sequence[dict[str, model_settings.Value]],
) -> None:
    first, *others = taken or [{}]
    settings.common = {
        name: value
        for name, value in first.items()
        if all(name in other and _same(other[name], value) for other in others)
    }
    of_brokers = zip(files.by_broker, taken, strict=False)
    for broker, values in sorted(of_brokers, key=itemgetter(0)):
        own = {name: value for name, value in values.items() if name not in settings.common}
        if own:
            settings.own[broker] = own


def _same(one: model_settings.Value, other: model_settings.Value) -> bool:
    # In Python 1 is True.
    return one == other and type(one) is type(other)


def _place_in_racks(
    settings: ClusterSettings, files: BrokerFiles, brokers: Collection[int]
) -> None:
    rack_of = {broker: _rack(settings, file) for broker, file in files.by_broker.items()}
    if files.template:
        rack_of = dict.fromkeys(brokers, _rack(settings, files.template))
    known = {broker: rack for broker, rack in rack_of.items() if rack}
    if not known:
        settings.notices.add("brokers", "no file has broker.rack: all brokers are in one rack")
        return
    for broker in sorted(brokers):
        settings.racks.setdefault(known.get(broker, DEFAULT_RACK), []).append(broker)
    unknown = [broker for broker in sorted(brokers) if broker not in known]
    if unknown:
        settings.notices.add(
            "brokers",
            f"no file has broker.rack for these brokers: {named(unknown)}; they are in a separate "
            f"rack, {DEFAULT_RACK!r}: change `racks` to correct that",
        )


def _rack(settings: ClusterSettings, file: ServerProperties) -> str | None:
    rack = file.text("broker.rack")
    if rack is None or not _PLACEHOLDER.search(rack):
        return rack
    settings.notices.add(
        "brokers",
        f"{file.file.name}: broker.rack is {rack}, to be filled in when the broker starts",
    )
    return None


def _count_log_directories(settings: ClusterSettings, files: Collection[ServerProperties]) -> None:
    counts = {_log_directories(file) for file in files}
    most = max(counts, default=1)
    settings.log_directories = min(most, MOST_LOG_DIRECTORIES)
    if len(counts) > 1 or most > MOST_LOG_DIRECTORIES:
        settings.notices.add(
            "settings",
            f"log.dirs has {named(sorted(counts))} directories; here all brokers "
            f"have the same number: {settings.log_directories}",
        )


def _log_directories(file: ServerProperties) -> int:
    directories = file.text("log.dirs") or file.text("log.dir") or ""
    return sum(1 for directory in directories.split(",") if directory.strip()) or 1


def _tell_of_missing_files(
    settings: ClusterSettings, files: BrokerFiles, brokers: Collection[int]
) -> None:
    others = [broker for broker in sorted(brokers) if broker not in files.by_broker]
    if not files.all():
        text = "no server.properties was given: brokers have the defaults of their release"
        settings.notices.add("settings", text)
    elif files.by_broker and others:
        settings.notices.add(
            "settings",
            f"no file is of brokers {named(others)}: they have the settings that all files have in "
            "common",
        )
