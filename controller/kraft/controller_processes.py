"""A controller's process: its start, its end, and the state that survives.

==================  =====================================================================
what ends it        what is left
==================  =====================================================================
crash (SIGKILL)     its epoch and vote, and its log: the page cache is the machine's
loss of power       its epoch and vote, and what it had flushed of its log; peers get no notice
loss of its disk    nothing: it may vote again in an epoch, and for a log shorter than its own was
clean stop          all of that; it hands over first, if it leads the quorum
==================  =====================================================================

One that is upgraded starts with another release: its voter follows the rules of that at once, and
the active controller those of its own.

Its state in memory, its queue and the responses that wait for a commit are gone. A start replays
the log: that is a part of the time that it takes.

A disk that is lost is replaced by an empty one, formatted (kafka-storage format), in a static
quorum: the controller is the voter that it was. Records that it had acknowledged may be in fewer
logs than a majority then. If a voter without such a record is elected, its controller never becomes
active here, and processes that have read the record exit as they truncate it (KafkaMetadataLog
.truncateTo): a voter is started again by its supervisor, and truncates, as it no longer knows what
is committed.

Source: ControllerServer.startup and shutdown, KafkaRaftClient.shutdown@4.1.0.
"""

from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.controller.kraft.claims import forget_claim, restore_preexisting_states
from tidegauge.controller.kraft.periodic_tasks import sample_later
from tidegauge.controller.kraft.state import QUORUM, Quorum, forget_controller_stats
from tidegauge.controller.raft import processes
from tidegauge.controller.raft.state import name_of_voter, this_voter
from tidegauge.simulation import faults
from tidegauge.simulation.events import free_all, free_event
from tidegauge.simulation.messages.controller_timers import QuorumStart, VoterStopped
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.kinds import IS_REFUSED
from tidegauge.simulation.messages.timers import FaultBegin, FaultChange
from tidegauge.simulation.rows import BROKER_START_COST, cost_us
from tidegauge.simulation.slow_disks import end_restart_later, end_restarts_later
from tidegauge.simulation.topology import upgrade

DISK_LOSS = faults.FAULT_CODES.new("disk_loss", 12)


@rule
def take_quorum_fault(world: Quorum, event: FaultChange) -> None:
    """A fault has begun or ended at a controller: it may die, be asked to stop, or start again."""
    fault = world.faults[event.fault]
    if fault.stops and event.kind == FaultBegin.KIND:
        _take_down(world, event.destination, event.fault)
    elif fault.stops:
        _bring_back(world, event.destination, event.fault)


@inner_rule
def _take_down(world: Quorum, process: int, fault: int) -> None:
    kind = world.faults[fault].kind
    is_alive = world.processes[process].alive
    if kind == faults.RESTART and is_alive and this_voter(world).runs:
        processes.stop_voter(world)
        return
    if is_alive:
        _end(world, process, kind != faults.POWER_LOSS)
    elif kind == faults.RESTART:
        end_restart_later(world, process, fault)
    if kind == faults.POWER_LOSS:
        processes.lose_power_of_voter(world)
    elif kind == DISK_LOSS:
        processes.lose_disk_of_voter(world)


@inner_rule
def _bring_back(world: Quorum, process: int, fault: int) -> None:
    state = world.processes[process]
    if world.faults[fault].kind == faults.POWER_LOSS and state.without_power == 0:
        faults.reset_all(world, process)
    if not state.alive:
        upgrade(world, name_of_voter(world, process), world.faults[fault].upgrade)
    if state.held_down == 0 and not state.alive:
        _start(world, process)


@inner_rule
def _start(world: Quorum, process: int) -> None:
    """Begin the process: it listens once it has replayed its log."""
    faults.lives(world, process)
    QuorumStart.after(world, cost_us(world, process, BROKER_START_COST))


@QUORUM.handles(QuorumStart)
@inner_rule
def handle_quorum_start(world: Quorum, _: QuorumStart) -> bool:
    """The controller is up, and takes part in the quorum, which is older than the run."""
    if world.active_controller[0].committed_offset == 0:
        restore_preexisting_states(world)
    if world.context[0].time_us == 0:
        processes.found_quorum(world)
    else:
        processes.start_voter(world)
    sample_later(world)
    return False


@QUORUM.handles(VoterStopped)
@inner_rule
def handle_voter_stopped(world: Quorum, timer: VoterStopped) -> bool:
    """A stopping controller has handed over: its process ends."""
    process = timer.destination
    _end(world, process, True)
    if world.processes[process].held_down == 0:
        _start(world, process)
    return False


@inner_rule
def _end(world: Quorum, process: int, closes_connections: bool) -> None:
    """End the process: its memory is gone."""
    voter = this_voter(world)
    forget_claim(world)
    free_all(world, voter.queue)
    free_all(world, voter.deferred)
    voter.works = False
    voter.event_written = False
    forget_controller_stats(world)
    processes.end_voter(world)
    faults.dies(world, process)
    if closes_connections:
        faults.disconnect_all(world, process)
    end_restarts_later(world, process)


@inner_rule
def refuse_event(world: Quorum, event: Event) -> None:
    """The process does not listen yet: the connection is refused."""
    if IS_REFUSED[event.kind]:
        faults.refuse_connection(world, event)
    free_event(world, event)
