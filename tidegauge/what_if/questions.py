"""The table of questions, and the faults of each.

A fault that ``tidegauge upgrade`` or an incident (``scenarios/incidents``) has, too, is the same
one here.
"""

from collections.abc import Sequence

from tidegauge.real_cluster.describe.rolled_upgrade import rolled_upgrade
from tidegauge.replication.release_versions import Release
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.simulation.quantities import format_duration
from tidegauge.what_if.question import Case, Given, Question
from tidegauge.what_if.voter_plans import added_voter, removed_leader, replaced_disk, replaced_voter

_SECOND_US = 1_000_000
#: The duration of an outage: longer than delivery.timeout.ms of producers, two minutes by default.
_OUTAGE_US = 180 * _SECOND_US
#: A broker that is restarted is down for this time; for an upgrade its software is exchanged.
_RESTART_US = 10 * _SECOND_US
_UPGRADE_US = 60 * _SECOND_US
#: The time for one batch of a roll to stop cleanly, and to be back in all ISRs.
_BACK_IN_ISR_US = 60 * _SECOND_US
#: The usual time for that.
_USUAL_RETURN_US = 3 * _SECOND_US
#: Replicas have this time to move.
_MOVE_US = 600 * _SECOND_US
_DISK_DELAY_US = 1_200_000
#: The fields of a roll that an upgrade has of its own.
_OF_UPGRADES = {"name", "kind", "at", "brokers", "timeout"}


def _az_loss(cluster: Scenario, given: Given, begin_us: int) -> Case:
    racks = cluster.cluster.racks
    if not racks:
        raise ValueError("the cluster has no racks (cluster.racks; broker.rack of its brokers)")
    rack = given.rack or next(iter(racks))
    return _outage("power_loss", [f"rack:{rack}"], given, begin_us)


def _broker_loss(cluster: Scenario, given: Given, begin_us: int) -> Case:
    return _outage("crash", given.brokers or cluster.broker_ids()[:1], given, begin_us)


def _controller_loss(cluster: Scenario, given: Given, begin_us: int) -> Case:
    """The node of the active one: in health it is the last broker, or leads the quorum."""
    active = "controller:0" if cluster.has_kraft else cluster.broker_ids()[-1]
    return _outage("crash", [active], given, begin_us)


def _quorum_loss(cluster: Scenario, given: Given, begin_us: int) -> Case:
    if not cluster.has_kraft:
        return _outage("zookeeper_outage", (), given, begin_us)
    voters = cluster.controllers.first_voters
    names = [f"controller:{number}" for number in voters[: len(voters) // 2 + 1]]
    return _outage("crash", names, given, begin_us)


def _slow_disk(cluster: Scenario, given: Given, begin_us: int) -> Case:
    case = _outage("slow_disk", given.brokers or cluster.broker_ids()[:1], given, begin_us)
    delay = format_duration(given.delay_us or _DISK_DELAY_US)
    return case._replace(faults=[{**fault, "delay": delay} for fault in case.faults])


def _outage(kind: str, hit: Sequence[int | str], given: Given, begin_us: int) -> Case:
    """A fault of brokers, or of ZooKeeper, that ends by itself."""
    lasts_us = given.lasts_us or _OUTAGE_US
    times = {"at": format_duration(begin_us), "for": format_duration(lasts_us)}
    brokers = {"brokers": [*hit]} if hit else {}
    return Case(lasts_us, [{"name": kind.replace("_", "-"), "kind": kind, **times, **brokers}])


def _rolling_restart(cluster: Scenario, given: Given, begin_us: int) -> Case:
    if given.brokers and given.rack:
        raise ValueError("it takes brokers or a rack, not both")
    hit = [f"rack:{given.rack}"] if given.rack else given.brokers
    return _roll(cluster, given, begin_us, hit, given.lasts_us or _RESTART_US)


def _az_loss_in_roll(cluster: Scenario, given: Given, begin_us: int) -> Case:
    """The rack is lost while a batch of another one is down, about half of the brokers through."""
    loss = _az_loss(cluster, given, begin_us)
    roll = _roll(cluster, given._replace(rack=None), begin_us, [], _RESTART_US)
    (lost,) = loss.faults
    (rack,) = (name.partition(":")[2] for name in lost["brokers"])
    brokers, in_rack = cluster.broker_ids(), {*cluster.cluster.racks[rack]}
    batches = [brokers[at : at + given.batch] for at in range(0, len(brokers), given.batch)]
    half = len(batches) // 2
    order = [*range(half, len(batches)), *reversed(range(half))]
    through = next((at for at in order if in_rack.isdisjoint(batches[at])), half)
    roll_us = given.roll_us or len(batches) * (_RESTART_US + _USUAL_RETURN_US)
    at_us = begin_us + roll_us * (2 * through + 1) // (2 * len(batches))
    return Case(
        roll.lasts_us + loss.lasts_us,
        [*roll.faults, {**lost, "at": format_duration(at_us // 1000 * 1000)}],
    )


def _upgrade(cluster: Scenario, given: Given, begin_us: int) -> Case:
    """With KRaft controllers come first, and metadata.version last, if there is a new release."""
    if given.release is not None and Release.parse(given.release) < Release.parse(cluster.release):
        raise ValueError(f"{given.release} is older than the cluster's release {cluster.release}")
    stopped_us = given.lasts_us or _UPGRADE_US
    case = _roll(cluster, given, begin_us, [], stopped_us)
    (roll,) = case.faults
    lasts_us = case.lasts_us
    if cluster.has_kraft:
        lasts_us += cluster.controllers.count * (stopped_us + _BACK_IN_ISR_US // 2)
    elif given.release is not None:
        lasts_us *= 2
    own = {name: part for name, part in roll.items() if name not in _OF_UPGRADES}
    upgrade = rolled_upgrade(cluster, begin_us, 2 * lasts_us, given.release, **own)
    return Case(lasts_us, upgrade.faults, upgrade.steps)


def _roll(
    cluster: Scenario, given: Given, begin_us: int, hit: Sequence[int | str], stopped_us: int
) -> Case:
    """Brokers that are restarted in batches, each when the one before is in all ISRs."""
    rack = cluster.cluster.racks.get(given.rack or "", ())
    count = len(given.brokers or rack or cluster.broker_ids())
    lasts_us = -(-count // given.batch) * (stopped_us + _BACK_IN_ISR_US)
    fault = {
        "name": "roll",
        "kind": "rolling_restart",
        "at": format_duration(begin_us),
        "brokers": [*hit],
        "batch": given.batch,
        "stopped_for": format_duration(stopped_us),
        "poll": "1s",
        # The roll goes on to the end of the run.
        "timeout": format_duration(2 * lasts_us),
        "leadership_back": "at_end",
    }
    return Case(lasts_us, [fault])


def _reassign(cluster: Scenario, given: Given, begin_us: int) -> Case:
    if not given.topics or not given.brokers:
        raise ValueError("it needs a topic, and the brokers that get its replicas")
    step = {
        "do": "reassign",
        "at": format_duration(begin_us),
        "topics": [*given.topics],
        "brokers": [*given.brokers],
    }
    throttle = {} if given.throttle is None else {"throttle": given.throttle}
    return Case(given.lasts_us or _move_us(cluster, given), steps=[step | throttle])


def _move_us(cluster: Scenario, given: Given) -> int:
    """The time that replicas have: more than that of all bytes to the brokers at the throttle."""
    if not given.throttle:
        return _MOVE_US
    moved = 0
    for topic in map(cluster.topic, given.topics):
        replicas = topic.partition_count * cluster.replication_factor(topic)
        sizes = topic.size if isinstance(topic.size, dict) else {0: topic.size}
        known = [int(size) for size in sizes.values() if size is not None]
        moved += replicas * max(known, default=given.replica_bytes or 0)
    return _MOVE_US + 2 * _SECOND_US * moved // (given.throttle * len(given.brokers))


_LOSSES_OF_RACKS = (
    *("rack loss", "zone loss", "power loss", "az outage", "rack outage", "zone outage"),
    *("lose az", "lose rack", "lose zone", "az loses power", "rack loses power"),
)
_ROLLS = ("rolling restart", "rolling bounce", "roll")

#: All questions, in the order in which they are listed.
QUESTIONS = (
    Question(
        "AZ loss",
        "a rack loses power",
        "AZ loss of rack b for 10m",
        _LOSSES_OF_RACKS,
        ("rack", "lasts_us"),
        _az_loss,
    ),
    Question(
        "broker loss",
        "brokers are killed",
        "broker loss of brokers 2,5 for 5m",
        ("broker crash", "broker dies", "kill broker", "lose broker", "crash"),
        ("brokers", "lasts_us"),
        _broker_loss,
    ),
    Question(
        "controller loss",
        "the node of the active controller is killed",
        "controller loss for 1m",
        ("controller crash", "controller dies", "kill controller", "lose controller"),
        ("lasts_us",),
        _controller_loss,
    ),
    Question(
        "quorum loss",
        "a majority of the controllers is killed, or ZooKeeper does not respond",
        "quorum loss for 10m",
        ("quorum lost", "lose quorum", "zookeeper loss", "zookeeper outage"),
        ("lasts_us",),
        _quorum_loss,
    ),
    Question(
        "rolling restart",
        "brokers are restarted cleanly, one batch after the other",
        "rolling restart of rack a, 2 at a time",
        _ROLLS[1:],
        ("brokers", "rack", "batch", "lasts_us"),
        _rolling_restart,
    ),
    Question(
        "AZ loss during rolling restart",
        "a rack loses power when half of the brokers are restarted, and the next one is down",
        "rolling restart with AZ loss of rack b",
        [f"{roll} {loss}" for roll in _ROLLS for loss in ("az loss", *_LOSSES_OF_RACKS)],
        ("rack", "batch", "lasts_us"),
        _az_loss_in_roll,
        during="rolling restart",
    ),
    Question(
        "upgrade",
        "all controllers, then all brokers are restarted for new software, each down for 60 s; "
        "to another release: with it, and the version that all nodes follow is raised at the end",
        "upgrade, 2 at a time",
        ("rolling upgrade",),
        ("release", "batch", "lasts_us"),
        _upgrade,
    ),
    Question(
        "reassign",
        "all replicas of topics move to these brokers",
        "reassign topic orders to brokers 1,2,3",
        ("reassignment", "move topic", "move replicas"),
        ("topics", "brokers", "throttle", "replica_bytes", "lasts_us"),
        _reassign,
    ),
    Question(
        "slow disk",
        "each write of brokers takes longer",
        "slow disk on broker 2 delay 300ms for 5m",
        ("disk slow", "slow disks"),
        ("brokers", "delay_us", "lasts_us"),
        _slow_disk,
    ),
    Question(
        "replace controller",
        "a voter of the quorum dies: the commands that replace it, in all orders",
        "replace controller",
        ("replace dead controller", "replace voter", "dead voter"),
        (),
        None,
        plans=replaced_voter,
    ),
    Question(
        "replace controller disk",
        "a controller comes back with a new disk: is it replaced, and in which order",
        "replace controller disk",
        ("controller lost disk", "controller disk lost", "new controller disk"),
        (),
        None,
        plans=replaced_disk,
    ),
    Question(
        "remove active controller",
        "the active controller is to go: removed while it runs, or stopped",
        "remove active controller",
        ("remove quorum leader", "remove active voter", "active controller removed"),
        (),
        None,
        plans=removed_leader,
    ),
    Question(
        "add controller",
        "new voters: in health, with a slow disk, or dead",
        "add controller by 500ms",
        ("add voter", "scale controllers", "new controller", "lagging voter"),
        ("delay_us",),
        None,
        plans=added_voter,
    ),
)
