"""The settings of a real cluster that a scenario takes, and their values.

A scenario takes nearly all of them, also those without effect. Left out, with a notice, are:
settings that could contain secrets, which must not be in a file that is shared; settings with
another place in a scenario; settings that the release does not have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from tidegauge.real_cluster.describe.notices import Notice, named
from tidegauge.real_cluster.describe.server_properties import Property
from tidegauge.replication.release_versions import KRAFT_MODE, Mode
from tidegauge.scenario.model.settings import (
    CONTROLLER_SETTINGS,
    THROTTLED_RATES,
    THROTTLED_REPLICAS,
    TOPIC_SETTINGS,
    Value,
    broker_defaults,
    controller_defaults,
    meant_setting,
    problems_of_settings,
    problems_of_settings_with_kraft,
)

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
    *("listeners", "advertised.listeners", "host.name", "port", "controller.quorum.voters"),
    *("advertised.host.name", "advertised.port", "controller.quorum.bootstrap.servers"),
}
#: Settings with another place in a scenario, which the import fills in.
_SAID_ELSEWHERE = {
    *("broker.id", "node.id", "broker.rack", "log.dir", "log.dirs"),
    *("inter.broker.protocol.version", "process.roles"),
}
_INTEGER = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)
_DECIMAL = re.compile(r"-?\d{1,9}\.\d{1,9}", re.ASCII)
_LARGEST = 2**63 - 1


class TakenSettings(NamedTuple):
    """The settings that a scenario takes, and notices about the others."""

    values: dict[str, Value]
    notices: list[Notice]


def broker_settings(properties: Mapping[str, Property], release: str, mode: Mode) -> TakenSettings:
    """The settings of brokers of this release and mode, without those of KRaft's controllers.

    Raises:
        InputError: a setting that the simulator reads has a value that Kafka would refuse, or a
            name is a misspelling of one of Kafka's.
    """
    defaults = broker_defaults(release, mode)
    if mode != KRAFT_MODE:
        return _taken(properties, "brokers", dict(defaults))
    own = {name: each for name, each in properties.items() if name not in CONTROLLER_SETTINGS}
    of_zookeeper = {
        str(problem.path[-1])
        for problem in problems_of_settings_with_kraft((), dict.fromkeys(own, ""))
    } - _SAID_ELSEWHERE
    with_kraft = {name: each for name, each in own.items() if name not in of_zookeeper}
    taken = _taken_with_kraft(with_kraft, "brokers", dict(defaults))
    if of_zookeeper:
        text = f"left out, as they have no meaning with KRaft: {named(sorted(of_zookeeper))}"
        taken.notices.append(Notice("settings", text))
    return taken


def _taken_with_kraft(
    properties: Mapping[str, Property], kind: str, known: Mapping[str, int | str]
) -> TakenSettings:
    """... without throttles of replication, which are not simulated with KRaft yet."""
    throttles = [name for name in properties if name in (*THROTTLED_RATES, *THROTTLED_REPLICAS)]
    others = {name: each for name, each in properties.items() if name not in throttles}
    taken = _taken(others, kind, known)
    if throttles:
        text = f"left out, as they are not simulated with KRaft yet: {named(sorted(throttles))}"
        taken.notices.append(Notice("settings", text))
    return taken


def controller_settings(properties: Mapping[str, Property], release: str) -> TakenSettings:
    """The settings of KRaft's controllers among those of a node; errors as for brokers."""
    own = {name: each for name, each in properties.items() if name in CONTROLLER_SETTINGS}
    return _taken(own, "controllers", dict(controller_defaults(release)))


def topic_settings(properties: Mapping[str, Property], release: str, mode: Mode) -> TakenSettings:
    """The settings of a topic in a cluster of this release and mode; errors as for brokers."""
    defaults = broker_defaults(release, mode)
    known: dict[str, int | str] = {name: defaults[name] for name in TOPIC_SETTINGS}
    if mode == KRAFT_MODE:
        return _taken_with_kraft(properties, "topics", known)
    return _taken(properties, "topics", known | dict.fromkeys(THROTTLED_REPLICAS, ""))


def _taken(
    properties: Mapping[str, Property], kind: str, known: Mapping[str, int | str]
) -> TakenSettings:
    values: dict[str, Value] = {}
    notices: list[Notice] = []
    left_out: dict[str, list[str]] = {}
    for name, written in properties.items():
        if name in _SAID_ELSEWHERE:
            continue
        reason = _why_left_out(name, written.text)
        if reason:
            left_out.setdefault(reason, []).append(name)
            continue
        value = written.text if name in THROTTLED_REPLICAS else _value(name, written.text)
        problem = next(problems_of_settings((), {name: value}, kind, known), None)
        if problem is None:
            values[name] = value
        elif name in known or meant_setting(name, kind):
            raise written.error(f"{name}: {problem.message}")
        else:
            text = f"left out: {name} on line {written.line} of {written.file.name}: "
            notices.append(Notice("settings", text + problem.message))
    for reason, names in left_out.items():
        notices.append(Notice("settings", f"left out, as {reason}: {named(sorted(names))}"))
    return TakenSettings(values, notices)


def _why_left_out(name: str, value: str) -> str | None:
    if _SECRET.search(name) or _USER_IN_ADDRESS.search(value):
        return "they could contain secrets"
    return "a scenario has no hosts" if name in _ADDRESSES else None


def _value(name: str, text: str) -> Value:
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
