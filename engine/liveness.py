"""The liveness phase: after all faults have ended, the whole cluster has to recover.

At the end of a run producers stop, consumers stop committing, all faults end in every process,
brokers that are down start (and again, should they exit), and pending steps are never taken. The
phase lasts until the ISR of every partition is its assignment and all its logs are equal, or until
a limit of time (``bound_us``). After the limit each replica that has not recovered is reported
with the reason.

A quorum whose voters may change has to recover, too (KIP-853):

* a controller leads, and a majority of its voters follows it (EventuallyLeaderElected);
* it has committed records of its own epoch, so no value waits for ever (ValuesEventuallyAcked);
* the newest voters of its log are committed, and all of them have these, or another leader has
  taken them back (ReconfigurationNotStuck).

Its time does not belong to the run, and its rows not to the run's figures. The phase is observed
from outside, every second of virtual time. No process does anything for it, so the hash is that
of the same events, however the processes are grouped.

Permitted: after a loss of power that took records of the partition, if logs stay apart: a leader
that keeps leading in its epoch writes other records at their offsets. For a quorum, after a
majority of its voters has lost its disks, or where none can be elected (``quorum_progress``).

Example: ``tidegauge run 11-equal-length-divergence`` gives it up. In release 0.10.2 two
logs of one length differ, and no follower ever compares them (KIP-101, scenario 2).

Source: KIP-101, and ReplicaManager's ISR, which a follower that has caught up joins again; the
liveness properties of the TLA+ specification of KIP-853 (kraft_kip_853_properties.tla).
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import Record, Records, i64, new_records
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.engine.group_states import (
    ObservedController,
    ObservedPartition,
    ObservedReplica,
    States,
)
from tidegauge.engine.layout.cluster_tables import new_topology
from tidegauge.replication.replica_list import EMPTY, contains, first, rest, size
from tidegauge.replication.voter_set import directory_of, is_voter
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.costs import Latency
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.topology import Topology
from tidegauge.simulation.trace_rows.codes import LEADER

#: The interval between two checks of the cluster.
LOOK_PERIOD_US = 1_000_000

#: The number of problems that are reported.
_TOLD_PROBLEMS = 10

# UnrecoveredPart.what
_NO_LEADER = code(1)
_NOT_IN_ISR = code(2)
_OTHER_LOG = code(3)
_BEING_MOVED = code(4)
_QUORUM_IS_WELL = code(0)
_NO_QUORUM_LEADER = code(10)
_NOTHING_COMMITTED = code(11)
_VOTERS_NOT_COMMITTED = code(12)

#: The problems of a quorum in words.
_QUORUM_PROBLEMS = {
    int(_NO_QUORUM_LEADER): "no controller leads a majority of its voters",
    int(_NOTHING_COMMITTED): "its leader commits nothing",
    int(
        _VOTERS_NOT_COMMITTED
    ): "a change of its voters is neither committed by all, nor taken back",
}

#: The number of problems that are searched at first.
_NONE_YET = code(0)


class UnrecoveredPart(Record):
    """A partition or replica that has not recovered, or the quorum: it is in no partition."""

    what: i64
    partition: i64
    slot: i64


class Liveness(NamedTuple):
    """The result of the phase."""

    #: The whole cluster has recovered.
    reached: bool
    #: The time that it took, and the longest permitted time.
    seconds: float
    bound_seconds: float
    #: The first problems, in words.
    reasons: list[str]
    #: The partition of the first problem; -1: there is none, or it is the quorum's.
    partition: int


class Observed(Protocol):
    """A run that goes on, and its states: an engine, or a run without one."""

    def run_to(self, end_us: int) -> None:
        """Handle every event earlier than ``end_us``."""

    def states(self) -> States:
        """All replicas as their brokers have them, all partitions as the control plane has them."""


def wait_until_well(plan: ClusterPlan, run: Observed) -> Liveness:
    """Continue the run until the cluster has recovered, or until the limit of time.

    Args:
        plan: the scenario in numbers.
        run: the run at its end, after all faults.
    """
    begun_us = plan.scenario.duration_us
    topology = new_topology(plan)
    states = run.states()
    limit_us = bound_us(plan, states.replicas)
    elapsed_us = 0
    problems: list[UnrecoveredPart] = []
    while True:
        elapsed_us = min(elapsed_us + LOOK_PERIOD_US, limit_us)
        run.run_to(begun_us + elapsed_us)
        states = run.states()
        problems = problems_in(topology, states)
        if not problems or elapsed_us >= limit_us:
            break
    reasons = [_in_words(plan, each, states) for each in problems]
    first_one = int(problems[0].partition) if problems else -1
    return Liveness(not problems, elapsed_us / 1e6, limit_us / 1e6, reasons, first_one)


# The longest permitted time.


def bound_us(plan: ClusterPlan, replicas: NDArray[np.void]) -> int:
    """The longest permitted time until the cluster has recovered.

    Three times replica.lag.time.max.ms, and the time to fetch missing records. Before that, dead
    sessions have to expire, requests that were lost in a fault to time out, brokers to start, and
    the controller to process all partitions, twice. Each is the largest value in the cluster.
    """
    scenario = plan.scenario
    costs, network = scenario.costs_in_force, scenario.network
    settings = [scenario.settings_of(broker) for broker in plan.brokers]
    logs = int(np.bincount(plan.partitions.columns.hosts).max(initial=0))
    lag_us = 1000 * max(each["replica.lag.time.max.ms"] for each in settings)
    session_us = 1000 * max(map(plan.session_timeout_ms, plan.brokers))
    session_us += _quorum_us(plan) if plan.is_kraft else 2000 * scenario.zookeeper.tick_ms
    timeout_us = 1000 * max(
        max(each["replica.socket.timeout.ms"], each["controller.socket.timeout.ms"])
        for each in settings
    )
    missing_bytes = _missing_bytes(plan, replicas)
    start_us = (
        max(_most(costs.broker_stop), _most(costs.broker_stop_interrupting))
        + 2 * RESTART_US
        + 2 * (_most(costs.broker_start) + _most(costs.broker_ready))
        + 2 * logs * max(_most(costs.log_recovery), _most(costs.log_load))
        + (missing_bytes >> 20) * _most(costs.log_recovery_mebibyte)
    )
    partition_us = (
        _most(costs.controller_partition)
        + _most(costs.controller_failover_partition)
        + 2 * _most(costs.zookeeper_pipelined_write)
    )
    controller_us = (
        2 * (_most(costs.controller_election) + 4 * _most(costs.controller_event))
        + 4 * len(plan.partitions) * partition_us
        + 4 * logs * max(_most(costs.become_leader), _most(costs.become_follower))
    )
    round_us = (
        4 * _most(network.between_racks)
        + _most(costs.request)
        + logs * (_most(costs.request_partition) + _most(costs.append))
    )
    disks_us = _disks_us(plan, missing_bytes)
    response_bytes = min(each["replica.fetch.response.max.bytes"] for each in settings)
    catch_up_us = (missing_bytes // response_bytes + 2) * round_us
    network_us = 2 * _most(network.retransmission_after_cut)
    return (
        3 * lag_us
        + (catch_up_us + disks_us)
        + (session_us + timeout_us + start_us + controller_us + network_us)
    )


def _disks_us(plan: ClusterPlan, missing_bytes: int) -> int:
    """The time in which the slowest disks read and write missing bytes.

    A recovery reads them first, and then a leader reads them for each of its followers.
    """
    resources = plan.scenario.resources
    machines = [resources.of_broker(broker) for broker in plan.brokers]
    reads = min((each.disk_read for each in machines if each.disk_read > 0), default=0)
    writes = min((each.disk_write for each in machines if each.disk_write > 0), default=0)
    read_us = plan.width * missing_bytes * 1_000_000 // reads if reads > 0 else 0
    return read_us + (missing_bytes * 1_000_000 // writes if writes > 0 else 0)


def _quorum_us(plan: ClusterPlan) -> int:
    """The time for KRaft's own work: fencing, registrations, the metadata log, twice each.

    A broker that comes back before its session is over is refused until then, and asks again.
    """
    costs, partitions = plan.scenario.costs_in_force, len(plan.partitions)
    # A record is in the log of the leader, and then in those of followers.
    log_us = 2 * (_most(costs.metadata_append) + _most(costs.metadata_fsync))
    log_us += partitions * _most(costs.metadata_record)
    publication_us = (
        _most(costs.metadata_publication)
        + _most(costs.metadata_first_publication)
        + partitions * _most(costs.metadata_publication_partition)
    )
    heartbeat_us = 1000 * max(
        plan.scenario.settings_of(broker)["broker.heartbeat.interval.ms"] for broker in plan.brokers
    )
    session_us = 1000 * max(map(plan.session_timeout_ms, plan.brokers))
    registration_us = _most(costs.broker_registration) + 5 * heartbeat_us
    quorum = plan.scenario.controller_settings()
    fetch_timeout_ms = quorum["controller.quorum.fetch.timeout.ms"]
    # A voter waits, and then loses an election or two.
    election_timeout_ms = quorum["controller.quorum.election.timeout.ms"]
    election_us = 1000 * (fetch_timeout_ms + 6 * election_timeout_ms)
    return session_us + election_us + 4 * (log_us + publication_us) + 2 * registration_us


#: The time after which the supervisor restarts a broker that exits in this phase.
RESTART_US = 2_000_000


def _most(latency: Latency) -> int:
    return latency.quantiles_us()[-1]


def _missing_bytes(plan: ClusterPlan, replicas: NDArray[np.void]) -> int:
    """The most bytes that one broker's replicas may lack, compared with the longest logs."""
    planned = plan.partitions
    if not planned:
        return 0
    # A log that differs may have to be fetched from its beginning.
    longest = np.maximum.reduceat(replicas["log_end_offset"], planned.first_slots)
    missing = np.zeros(len(plan.brokers), np.int64)
    sizes = longest * planned.columns.record_bytes
    np.add.at(missing, planned.columns.hosts, sizes[planned.of_slots])
    return int(missing.max())


# Whether the cluster has recovered.


def problems_in(world: Topology, states: States) -> list[UnrecoveredPart]:
    """The first problems."""
    problems = new_records(UnrecoveredPart, _TOLD_PROBLEMS)
    found = find_problems(world.view, *states, problems)
    return [problems[place] for place in range(min(int(found), _TOLD_PROBLEMS))]


@rule
def find_problems(
    world: Topology,
    replicas: Records[ObservedReplica],
    partitions: Records[ObservedPartition],
    controllers: Records[ObservedController],
    problems: Records[UnrecoveredPart],
) -> int:
    """The number of problems; the first of them are entered."""
    found = _NONE_YET
    of_quorum = _quorum_problem(controllers)
    if of_quorum != _QUORUM_IS_WELL:
        found = _enter(problems, found, of_quorum, NONE, NONE)
    for partition, state in enumerate(partitions):
        if not state.exists:
            continue
        if state.moving:
            found = _enter(problems, found, _BEING_MOVED, partition, NONE)
        if state.leader < 0:
            found = _enter(problems, found, _NO_LEADER, partition, NONE)
            continue
        found = _find_in_partition(world, partition, state, replicas, problems, found)
    return found


@inner_rule
def _find_in_partition(
    world: Topology,
    partition: int,
    state: ObservedPartition,
    replicas: Records[ObservedReplica],
    problems: Records[UnrecoveredPart],
    found: int,
) -> int:
    first_slot = world.partitions[partition].first_slot
    leader = _row_of_leader(world, partition, state)
    members = state.replicas
    while members != EMPTY:
        slot = first(members)
        members = rest(members)
        replica = replicas[first_slot + slot]
        if not contains(state.isr, slot):
            found = _enter(problems, found, _NOT_IN_ISR, partition, slot)
        elif leader == NONE or replica.content != replicas[leader].content:
            found = _enter(problems, found, _OTHER_LOG, partition, slot)
    if size(state.isr) > size(state.replicas):
        found = _enter(problems, found, _BEING_MOVED, partition, NONE)
    return found


@inner_rule
def _row_of_leader(world: Topology, partition: int, state: ObservedPartition) -> int:
    facts = world.partitions[partition]
    for slot in range(facts.slot_count):
        if world.slots[facts.first_slot + slot].broker == state.leader:
            return facts.first_slot + slot
    return NONE


@inner_rule
def _enter(
    problems: Records[UnrecoveredPart], found: int, what: int, partition: int, slot: int
) -> int:
    if found < len(problems):
        problem = problems[found]
        problem.what = what
        problem.partition = partition
        problem.slot = slot
    return found + 1


# The reasons.


def _in_words(plan: ClusterPlan, problem: UnrecoveredPart, states: States) -> str:
    if problem.partition == NONE:
        return f"the quorum: {_QUORUM_PROBLEMS[int(problem.what)]}"
    replicas, partitions, _ = states
    planned = plan.partitions[problem.partition]
    name = f"partition {planned.name}"
    if problem.what == _NO_LEADER:
        return f"{name}: it has no leader"
    if problem.what == _BEING_MOVED:
        return f"{name}: its replicas are still being moved"
    first_slot = int(plan.partitions.first_slots[problem.partition])
    replica = replicas[first_slot + problem.slot]
    leader = int(partitions[problem.partition]["leader"])
    leader_end = int(replicas[first_slot + planned.slots.index(leader)]["log_end_offset"])
    broker = plan.brokers[planned.slots[problem.slot]]
    lacks = "is not in the ISR" if problem.what == _NOT_IN_ISR else "has another log"
    reason = "; ".join(_reasons(replica, leader_end, plan.brokers[leader]))
    return f"{name}: broker {broker} {lacks}: {reason}"


def _reasons(replica: np.void, leader_end: int, leader: int) -> Iterator[str]:
    """The reasons why a replica is behind, as far as its broker shows them."""
    end = int(replica["log_end_offset"])
    if not replica["alive"]:
        yield "it does not run"
    elif not replica["hosted"]:
        yield "it got no LeaderAndIsr for it"
    elif replica["failed"]:
        yield "its fetcher has given the partition up"
    elif replica["truncating"]:
        yield "its fetcher does not learn its truncation offset"
    if end == leader_end:
        yield f"its log ends at {end}, as that of its leader {leader}"
    else:
        yield f"its log ends at {end}, that of its leader {leader} at {leader_end}"


@inner_rule
def _quorum_problem(controllers: Records[ObservedController]) -> int:
    """What is wrong with a quorum: one of the above; without controllers that change nothing is."""
    if len(controllers) == 0 or controllers[0].directory == 0:
        return _QUORUM_IS_WELL
    leader = _functional_leader(controllers)
    if leader == NONE:
        return _NO_QUORUM_LEADER
    known = controllers[leader]
    if known.high_watermark <= known.epoch_start_offset:
        return _NOTHING_COMMITTED
    for number, controller in enumerate(controllers):
        is_told = controller.voters == known.voters and (
            controller.high_watermark > controller.voters_offset
        )
        if _is_present(controllers, known.voters, number) and not is_told:
            return _VOTERS_NOT_COMMITTED
    return _QUORUM_IS_WELL


@inner_rule
def _functional_leader(controllers: Records[ObservedController]) -> int:
    """The leader of the newest epoch, if a majority of its voters follows it; else NONE."""
    leader = NONE
    for number, controller in enumerate(controllers):
        leads = controller.runs and controller.state == LEADER
        if leads and (leader == NONE or controller.epoch > controllers[leader].epoch):
            leader = number
    if leader == NONE:
        return NONE
    known = controllers[leader]
    count = 0
    following = 0
    for number, controller in enumerate(controllers):
        count += 1 if directory_of(known.voters, number) != 0 else 0
        follows = controller.epoch == known.epoch and controller.leader == leader
        if controller.runs and follows and _is_present(controllers, known.voters, number):
            following += 1
    return leader if 2 * following > count else NONE


@inner_rule
def _is_present(controllers: Records[ObservedController], voters: int, number: int) -> bool:
    """Whether a controller is one of these voters, with its directory."""
    return is_voter(voters, number, controllers[number].directory)
