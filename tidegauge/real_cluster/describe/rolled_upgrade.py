"""The upgrade of a cluster in a scenario: rolls to another release, then the version of all nodes.

With KRaft the controllers are restarted first, one at a time and the active one last, then the
brokers; with all of them on the new release, a step raises metadata.version. With ZooKeeper a
second roll of the brokers raises inter.broker.protocol.version. Each part begins when the one
before it is done, so a roll that gives up ends the upgrade.

Source: Kafka's upgrade notes of 3.9 and 4.0; Strimzi's KafkaRoller (the active one last).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tidegauge.replication.release_versions import Release
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.simulation.quantities import format_duration

#: The names of the rolls: that of the brokers, and the one before or behind it.
ROLL = "roll"
CONTROLLERS = "controllers"
PROTOCOL = "protocol"


class RolledUpgrade(NamedTuple):
    """The faults and steps of an upgrade, as in a scenario: the roll of the brokers comes first."""

    faults: list[dict[str, Any]]
    steps: list[dict[str, Any]]


def rolled_upgrade(
    cluster: Scenario, at_us: int, most_us: int, target: str | None, **roll: Any
) -> RolledUpgrade:
    """The restarts of an upgrade, in the releases that nodes have or to another one.

    Args:
        cluster: the cluster in its present release.
        at_us: the begin.
        most_us: the longest time of each roll.
        target: the new release; None: nodes keep theirs, and no version is raised.
        roll: further fields of the roll of the brokers.
    """
    kind = {"kind": "rolling_restart", "timeout": format_duration(most_us)}
    new = {} if target is None else {"to_release": target}
    begins = {"at": format_duration(at_us)}
    brokers = {"name": ROLL, **kind, **roll, **new}
    if not cluster.has_kraft:
        upgrade = RolledUpgrade([brokers | begins], [])
        if target is not None:
            line = ".".join(map(str, Release.parse(target).line))
            upgrade.faults.append({"name": PROTOCOL, **kind, **roll, "to_protocol": line})
            upgrade.steps.append(_once_rolled(ROLL, most_us, do="begin_fault", fault=PROTOCOL))
        return upgrade
    same = {name: roll[name] for name in ("stopped_for", "poll") if name in roll}
    controllers: dict[str, Any] = {"name": CONTROLLERS, "brokers": ["controllers"]}
    controllers |= kind | begins | same | new
    upgrade = RolledUpgrade([brokers, controllers], [])
    upgrade.steps.append(_once_rolled(CONTROLLERS, most_us, do="begin_fault", fault=ROLL))
    if target is not None:
        version = str(Release.parse(target).metadata_version())
        finalize = {"do": "update_features", "metadata_version": version}
        upgrade.steps.append(_once_rolled(ROLL, most_us, **finalize))
    return upgrade


def _once_rolled(roll: str, most_us: int, **step: Any) -> dict[str, Any]:
    within: Mapping[str, Any] = {"when": {"rolled": roll}, "within": format_duration(most_us)}
    return {**step, **within}
