"""An imported cluster in health, under standard faults: what a change of its mode or release does.

Each case is a run of its own. The cluster begins with all brokers up, every partition led by the
first of its replicas, and no reassignment. So a dump from a bad day gives the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tidegauge.replication.release_versions import KRAFT_MODE, Mode
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.text.errors import counted

#: When the fault of each case begins, in seconds: topics are created, and clients run.
_BEGIN_S = 60
#: With ZooKeeper a large cluster needs longer for the creation of its topics.
_CREATED_PER_S = 400
#: From the end of the last fault to the end of the run: sessions, elections, catching up.
_AFTER_S = 120
#: The most brokers that are restarted one after the other.
_RESTARTED = 3


class FaultCase(NamedTuple):
    """A standard fault of a cluster."""

    #: For the folder of its runs.
    name: str
    title: str
    #: As in a scenario; with KRaft the controllers are nodes of their own.
    with_zookeeper: Mapping[str, Any]
    with_kraft: Mapping[str, Any]
    duration_s: int

    def fault(self, mode: Mode) -> dict[str, Any]:
        """The fault in a mode, as in a scenario."""
        return dict(self.with_kraft if mode == KRAFT_MODE else self.with_zookeeper)


def in_health(data: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping of an imported scenario, without the state of the dump and without any fault.

    The last broker starts first: with ZooKeeper it is the controller.
    """
    brokers = data["cluster"]["brokers"]
    starts = {broker: "0s" if broker == brokers[-1] else "300ms" for broker in brokers}
    topics = [
        {name: part for name, part in topic.items() if name != "state"} for topic in data["topics"]
    ]
    plain = {name: part for name, part in data.items() if name not in ("steps", "faults")}
    return plain | {"cluster": {**data["cluster"], "start": starts}, "topics": topics}


def fault_cases(scenario: Scenario) -> Iterator[FaultCase]:
    """The standard faults of a cluster in health, one after the other.

    Args:
        scenario: of :func:`in_health`, in its own mode.
    """
    brokers = scenario.broker_ids()
    partitions = sum(topic.partition_count for topic in scenario.topics)
    begin_s = _BEGIN_S + partitions // _CREATED_PER_S
    controller = brokers[-1]
    yield _case(
        "crash",
        f"Broker {brokers[0]} is killed, and returns after 60 s",
        begin_s,
        60,
        {
            "kind": "crash",
            "brokers": [brokers[0]],
        },
    )
    rolled = _rolled(scenario)
    yield _case(
        "roll",
        f"{counted(len(rolled), 'broker')} are restarted cleanly, one after the other",
        begin_s,
        60 * len(rolled),
        {
            "kind": "rolling_restart",
            "brokers": rolled,
            "stopped_for": "5s",
            "poll": "1s",
            "timeout": f"{60 * len(rolled)}s",
        },
    )
    lost = _case(
        "controller",
        f"The active controller's node is killed for 60 s: broker {controller} with ZooKeeper, "
        "controller:0 with KRaft",
        begin_s,
        60,
        {"kind": "crash", "brokers": [controller]},
    )
    yield lost._replace(with_kraft={**lost.with_kraft, "brokers": ["controller:0"]})
    racks = scenario.cluster.racks
    if len(racks) > 1:
        rack = next(name for name, those in racks.items() if controller not in those)
        yield _case(
            "rack",
            f"Rack {rack} loses power for 60 s",
            begin_s,
            60,
            {
                "kind": "power_loss",
                "brokers": [f"rack:{rack}"],
            },
        )


def _rolled(scenario: Scenario) -> list[int]:
    """The brokers of a rack, or the first ones."""
    rack = next(iter(scenario.cluster.racks.values()))
    return list(rack)[:_RESTARTED]


def _case(name: str, title: str, begin_s: int, lasts_s: int, fault: Mapping[str, Any]) -> FaultCase:
    times = {"at": f"{begin_s}s"}
    if fault["kind"] != "rolling_restart":
        times["for"] = f"{lasts_s}s"
    whole = {"name": name, **fault, **times}
    return FaultCase(name, title, whole, whole, begin_s + lasts_s + _AFTER_S)
