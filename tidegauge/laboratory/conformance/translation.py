"""Translation of a recorded schedule into a scenario that can be run.

The same release, versions, settings, assignment and first controller; the same steps in the same
order, each when the one before is over, and after it the same quiet time. The recorded outcome is
not read here, only the times of the recording machine: until quiescence, until a broker's virtual
machine was up, the number of its starts, and how many requests a stream sent; and of KRaft clusters
the order in which brokers that die together are fenced, which administrative requests came to
nothing, and on which brokers the controller placed replicas, which it draws.

The costs of work are those of the recorded clusters. They were new: every virtual machine had just
started and was still interpreting its code, and several clusters shared two cores. The figures are
medians of the recordings of releases 2.4 to 2.6, without first requests, which take up to half a
second. The cost model's own defaults are those of one cluster alone on its machine.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tidegauge.laboratory.conformance import schedule_writer
from tidegauge.laboratory.conformance.control_plane_writers import ZooKeeperWriter
from tidegauge.laboratory.conformance.quorum_writer import QuorumWriter
from tidegauge.laboratory.conformance.recorded_schedule import RecordedSchedule
from tidegauge.replication.release_versions import KRAFT_MODE
from tidegauge.scenario.model.settings import CORDONED_LOG_DIRS, NAMES
from tidegauge.scenario.reading import Scenario, scenario_from_mapping

_STOP = {"min": "200ms", "p50": "900ms", "p90": "1600ms", "p99": "2200ms"}
_HOSTING = {"min": "2ms", "p50": "20ms", "p90": "150ms", "p99": "600ms"}

#: ``costs`` of a scenario with ZooKeeper.
_COSTS: dict[str, Any] = {
    # From a session's end to the first write: 7 to 130 ms; from a topic's creation: 20 to 200 ms.
    "controller_event": {"min": "7ms", "p50": "40ms", "p90": "80ms", "p99": "130ms"},
    # From a session's end to the next /controller: 3 to 110 ms.
    "controller_election": {"min": "2ms", "p50": "9ms", "p90": "40ms", "p99": "110ms"},
    # A produce request with acks=1 to a broker that has handled some already: 2 to 5 ms.
    "request": "2ms",
    "append": "1ms",
    # From a registration to the first ISR update that takes the broker back: 0.1 to 3 s.
    "broker_ready": {"min": "120ms", "p50": "500ms", "p90": "1500ms", "p99": "2500ms"},
    # From a topic's first LeaderAndIsr to its last leader: 20 ms to 2 s.
    "become_leader": _HOSTING,
    "become_follower": _HOSTING,
    # From one ISR that a leader writes to its next: 2 to 30 ms.
    "zookeeper_write": {"min": "2ms", "p50": "8ms", "p90": "20ms", "p99": "50ms"},
    # From SIGTERM to the exit: 2.8 to 3.9 s, with 3.9.0 0.8 to 3.5 s.
    "broker_stop": "2700ms",
    "broker_stop_interrupting": "1500ms",
}

#: ``costs`` of a scenario in KRaft mode. The recording's machine was shared by many clusters: of a
#: span its lower part counts.
_KRAFT_COSTS: dict[str, Any] = {
    # As above: the requests of clients are the same.
    **{name: _COSTS[name] for name in ("request", "append")},
    # As above, of a log on the same disk.
    "metadata_fsync": _COSTS["zookeeper_write"],
    # From an unfencing to the first ISR update that takes the broker back: 60 ms to 2.8 s, most
    # often 0.5 s, and a tenth below 0.2 s. A leader that was paused past its session (n1) leads on
    # for 0.2 to 0.5 s. Brokers that wait for the same leader come back in any order.
    "metadata_publication": {"min": "5ms", "p50": "100ms", "p90": "300ms", "p99": "600ms"},
    # From a registration to the unfencing: 0.15 to 5.5 s, half of them below 1.3 s.
    "metadata_first_publication": {"min": "50ms", "p50": "1100ms", "p90": "2900ms", "p99": "5s"},
    # A schedule has the time of a broker's registration, not of its start.
    "broker_registration": "50ms",
    # From the record of the fencing to the exit: 0.2 to 2.4 s.
    "broker_stop": _STOP,
    "broker_stop_interrupting": _STOP,
}


@dataclass
class Translation:
    """A scenario, and the place of each recorded step in it."""

    schedule: RecordedSchedule
    scenario: Scenario
    steps: list[schedule_writer.PlayedStep]
    #: Settings of the recording that the simulator does not have.
    not_modelled: list[str]
    #: The first unknown step: from it on no step is played.
    not_played: schedule_writer.NotPlayed | None = None


def translate(
    schedule: RecordedSchedule, *, seed: int = 1, costs: Mapping[str, Any] | None = None
) -> Translation:
    """Make the scenario of a schedule, up to the first step that the simulator does not know.

    Args:
        schedule: the recording.
        seed: of the run; where repeats differ, of the repeat.
        costs: as a scenario has them. Default: those of the recorded clusters.

    Raises:
        RecordingError: a step lacks something, or the first one cannot be played. ScenarioError:
        the schedule is not a valid scenario.
    """
    schedule = schedule.of_repeat(seed - 1)
    writer: schedule_writer.ScheduleWriter
    if schedule.mode == KRAFT_MODE:
        writer = of_quorum = QuorumWriter(schedule, seed)
        writer.write_all()
        own, not_modelled = _of_kraft(schedule, of_quorum)
    else:
        writer = zookeeper = ZooKeeperWriter(schedule, seed)
        writer.write_all()
        own, not_modelled = _of_zookeeper(schedule, zookeeper)
    story: dict[str, Any] = {
        "name": schedule.name,
        "description": schedule.about,
        "duration": f"{writer.duration_ms:.0f}ms",
        # The recorded behaviour ends here.
        "liveness": False,
        "seed": seed,
        "release": schedule.release,
        "trace": "transitions",
        "topics": writer.topics,
        "faults": writer.faults,
        "steps": writer.steps,
        **own,
        **({} if costs is None else {"costs": costs}),
    }
    scenario = scenario_from_mapping(story, schedule.name)
    return Translation(schedule, scenario, writer.played, not_modelled, writer.not_played)


def _of_zookeeper(
    schedule: RecordedSchedule, writer: ZooKeeperWriter
) -> tuple[dict[str, Any], list[str]]:
    """The parts of a scenario with ZooKeeper alone, and the settings that it does not have."""
    cluster, not_modelled = _cluster(schedule, writer, NAMES["brokers"])
    return {
        **({} if schedule.protocol is None else {"protocol": schedule.protocol}),
        "cluster": cluster | {"restart_after_exit": writer.restart_after_exit()},
        "zookeeper": {"tick_ms": schedule.zookeeper.get("tickTime", 1000), "servers": 1},
        "costs": _COSTS,
    }, not_modelled


def _of_kraft(schedule: RecordedSchedule, writer: QuorumWriter) -> tuple[dict[str, Any], list[str]]:
    """The parts of a scenario in KRaft mode alone, and the settings that it does not have."""
    names = [name for name in NAMES["brokers"] if name not in NAMES["controllers"]]
    names.append(CORDONED_LOG_DIRS)
    cluster, of_brokers = _cluster(schedule, writer, names)
    settings, of_controllers = _settings(schedule.controller_settings, NAMES["controllers"])
    # Both kinds of processes are given some settings that one kind alone reads.
    unknown = {*of_brokers, *of_controllers} - settings.keys() - cluster["settings"].keys()
    features = {
        "metadata_version": schedule.metadata_version,
        "eligible_leader_replicas": schedule.eligible_leader_replicas,
    }
    return {
        "mode": KRAFT_MODE,
        **{name: value for name, value in features.items() if value is not None},
        "controllers": writer.controllers() | {"settings": settings},
        "cluster": cluster,
        "costs": _KRAFT_COSTS,
    }, sorted(unknown)


def _cluster(
    schedule: RecordedSchedule, writer: schedule_writer.ScheduleWriter, names: Collection[str]
) -> tuple[dict[str, Any], list[str]]:
    """The brokers, and the names of their settings that the simulator does not have."""
    settings, not_modelled = _settings(schedule.settings, names)
    return {
        "brokers": schedule.brokers,
        **({"log_directories": schedule.log_directories} if schedule.log_directories > 1 else {}),
        "start": {broker: writer.start(broker) for broker in schedule.brokers},
        "settings": settings,
        "broker_settings": {
            broker: _settings(own, names)[0] for broker, own in schedule.per_broker.items()
        },
    }, not_modelled


def _settings(recorded: dict[str, Any], names: Collection[str]) -> tuple[dict[str, int], list[str]]:
    """The settings that the simulator has, and the names of the others."""
    known = {
        name: schedule_writer.setting_value(value)
        for name, value in recorded.items()
        if name in names
    }
    return known, sorted(recorded.keys() - known.keys())
