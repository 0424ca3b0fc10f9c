"""The settings of a cluster from the ``server.properties`` of some of its brokers.

Settings that all files have in common are the cluster's; settings that differ belong to a broker. A
broker without a file gets the common settings. A single file that names no broker is a template for
all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tidegauge.real_cluster.describe.input_file import input_error
from tidegauge.real_cluster.describe.notices import Notice, named
from tidegauge.real_cluster.describe.server_properties import Property, ServerProperties
from tidegauge.real_cluster.describe.setting_values import broker_settings
from tidegauge.replication.release_versions import Mode
from tidegauge.scenario.model.cluster import DEFAULT_RACK, MOST_LOG_DIRECTORIES
from tidegauge.scenario.model.settings import Value

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
    notices: list[Notice] = field(default_factory=list)

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
        return any(file.is_of_kraft() for file in self.nodes())


@dataclass
class ClusterSettings:
    """The settings of a cluster in a scenario."""

    common: dict[str, Value] = field(default_factory=dict)
    #: By broker, only of those that differ.
    own: dict[int, dict[str, Value]] = field(default_factory=dict)
    #: Ids of brokers by rack; empty if no rack is known.
    racks: dict[str, list[int]] = field(default_factory=dict)
    log_directories: int = 1
    notices: list[Notice] = field(default_factory=list)


def broker_files(files: Sequence[ServerProperties]) -> BrokerFiles:
    """The broker of each file.

    Raises:
        InputError: two files are of the same broker, or one of several names no broker.
    """
    found = BrokerFiles(notices=[notice for file in files for notice in file.notices])
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
            text = f"{file.file.name} names no broker, so its settings apply to all brokers"
            found.notices.append(Notice("brokers", text))
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
    taken = {}
    for file in files.all():
        values, notices = broker_settings(file.properties, release, mode)
        taken[file.file] = values
        settings.notices += notices
    _part_common_from_own(settings, files, taken)
    _place_in_racks(settings, files, brokers)
    _count_log_directories(settings, files.all())
    _tell_what_is_not_said(settings, files, brokers)
    return settings


def _part_common_from_own(
    settings: ClusterSettings, files: BrokerFiles, taken: dict[Path, dict[str, Value]]
) -> None:
    first, *others = taken.values() or [{}]
    settings.common = {
        name: value
        for name, value in first.items()
        if all(name in other and _same(other[name], value) for other in others)
    }
    for broker, file in sorted(files.by_broker.items()):
        values = taken[file.file]
        own = {name: value for name, value in values.items() if name not in settings.common}
        if own:
            settings.own[broker] = own


def _same(one: Value, other: Value) -> bool:
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
        text = "no file has broker.rack: all brokers are in one rack"
        settings.notices.append(Notice("brokers", text))
        return
    for broker in sorted(brokers):
        settings.racks.setdefault(known.get(broker, DEFAULT_RACK), []).append(broker)
    unknown = [broker for broker in sorted(brokers) if broker not in known]
    if unknown:
        text = (
            f"no file has broker.rack for these brokers: {named(unknown)}; they are in a separate "
            f"rack, {DEFAULT_RACK!r}: change `racks` to correct that"
        )
        settings.notices.append(Notice("brokers", text))


def _rack(settings: ClusterSettings, file: ServerProperties) -> str | None:
    rack = file.text("broker.rack")
    if rack is None or not _PLACEHOLDER.search(rack):
        return rack
    text = f"{file.file.name}: broker.rack is {rack}, to be filled in when the broker starts"
    settings.notices.append(Notice("brokers", text))
    return None


def _count_log_directories(settings: ClusterSettings, files: Collection[ServerProperties]) -> None:
    counts = {file.file: _log_directories(file) for file in files}
    most = max(counts.values(), default=1)
    settings.log_directories = min(most, MOST_LOG_DIRECTORIES)
    if len(set(counts.values())) > 1 or most > MOST_LOG_DIRECTORIES:
        text = (
            f"log.dirs has {named(sorted(set(counts.values())))} directories; here all brokers "
            f"have the same number: {settings.log_directories}"
        )
        settings.notices.append(Notice("settings", text))


def _log_directories(file: ServerProperties) -> int:
    directories = file.text("log.dirs") or file.text("log.dir") or ""
    return sum(1 for directory in directories.split(",") if directory.strip()) or 1


def _tell_what_is_not_said(
    settings: ClusterSettings, files: BrokerFiles, brokers: Collection[int]
) -> None:
    for text in _not_said(files, brokers):
        settings.notices.append(Notice("settings", text))


def _not_said(files: BrokerFiles, brokers: Collection[int]) -> Iterator[str]:
    if not files.all():
        yield "no server.properties was given: brokers have the defaults of their release"
    elif files.by_broker:
        others = [broker for broker in sorted(brokers) if broker not in files.by_broker]
        if others:
            yield (
                f"no file is of brokers {named(others)}: they have the settings that all files "
                "have in common"
            )
