"""The output of ``kafka-configs.sh --describe`` of brokers, read as their server.properties.

A section is of a broker, or of the dynamic defaults of all, and has a line for each setting: its
value in force, and all values that were given, in the order in which Kafka looks for one::

    All configs for broker 1 are:
      min.insync.replicas=2 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:min.insync.replicas=2,
        DEFAULT_CONFIG:min.insync.replicas=1}

Settings in force by Kafka's default alone are left out, as a release decides them. Those of a
section count before those of a server.properties of the broker, which has no dynamic ones.

Source: ConfigCommand.describeResourceConfig@2.6.0 and @4.1.0; KIP-226, KIP-524.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tidegauge.real_cluster.describe import input_file
from tidegauge.real_cluster.describe.server_properties import (
    Property,
    ServerProperties,
    read_server_properties,
)

_OF_BROKER = re.compile(r"(?:All |Dynamic )?[Cc]onfigs for broker '?(\d{1,10})'? are:?")
_OF_ALL = re.compile(r"Default configs for brokers in the cluster are:?")
_OF_OTHERS = re.compile(r"(?:All |Dynamic |Default )?[Cc]onfigs for (\S+).* are:?")
_SETTING = re.compile(
    r"\s+(?P<name>[\w.-]+)=(?P<value>.*) sensitive=(?:true|false) synonyms=\{(?P<synonyms>.*)\}"
)
#: Kafka does not print the value.
_HIDDEN = "null"
#: The source of a value that nobody has set.
_DEFAULT = "DEFAULT_CONFIG"


@dataclass
class _Section:
    """The settings of a broker, or the dynamic defaults of all brokers."""

    file: Path
    #: The broker's id; None: of all brokers.
    broker: int | None
    properties: dict[str, Property] = field(default_factory=dict)


def read_properties(files: Sequence[Path]) -> list[ServerProperties]:
    """The properties of brokers in files of either kind.

    Raises:
        InputError: a file cannot be read, has no property, or one that Java refuses.
    """
    written = []
    sections: list[_Section] = []
    notices = input_file.Notices()
    for file in files:
        content = input_file.read_bytes(file)
        text = input_file.text_in(content)
        if any(_OF_OTHERS.fullmatch(line.strip()) for line in input_file.lines_of(text)):
            sections += _sections(file, text, notices)
        else:
            written.append(read_server_properties(file, content))
    brokers = {each.broker: each for each in sections if each.broker is not None}
    of_all = {
        name: each
        for one in sections
        if one.broker is None
        for name, each in one.properties.items()
    }
    merged = [_overlaid(each, of_all, brokers) for each in written]
    known = {each.broker_id() for each in written}
    for broker, section in brokers.items():
        if broker not in known:
            merged.append(_overlaid(_file_of(section), of_all, brokers))
    if not merged and of_all:
        merged.append(ServerProperties(files[0], of_all))
    if merged:
        merged[0].notices += notices
    return merged


def _sections(file: Path, text: str, notices: input_file.Notices) -> Iterator[_Section]:
    """The sections of a file; those of topics, users and so on are left out."""
    section: _Section | None = None
    others = set()
    for number, line in enumerate(input_file.lines_of(text), start=1):
        head = line.strip()
        if other := _OF_OTHERS.fullmatch(head):
            if section:
                yield section
            section = None
            if _OF_ALL.fullmatch(head):
                section = _Section(file, None)
            elif broker := _OF_BROKER.fullmatch(head):
                section = _Section(file, int(broker[1]))
            else:
                others.add(other[1])
        elif section and (found := _SETTING.fullmatch(line)) and _is_given(found):
            section.properties[found["name"]] = Property(found["value"], file, number)
    if section:
        yield section
    notices.name("settings", f"{file.name}: configs that are not of brokers are left out", others)


def _is_given(setting: re.Match[str]) -> bool:
    """Whether somebody has set a value, and the tool prints it."""
    return setting["value"] != _HIDDEN and not setting["synonyms"].startswith(_DEFAULT)


def _file_of(section: _Section) -> ServerProperties:
    """The file of a broker of which there is only a section."""
    properties = dict(section.properties)
    if "node.id" not in properties and "broker.id" not in properties:
        properties["broker.id"] = Property(str(section.broker), section.file, 1)
    return ServerProperties(section.file, properties)


def _overlaid(
    file: ServerProperties, of_all: dict[str, Property], brokers: dict[int, _Section]
) -> ServerProperties:
    """A broker's file with its dynamic settings, and with those of all brokers below them."""
    broker = file.broker_id()
    own = brokers[broker].properties if broker in brokers else {}
    return replace(file, properties={**file.properties, **of_all, **own})
