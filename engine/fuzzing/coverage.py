"""Coverage: the abstract states in which a partition is seen, or a quorum whose voters change.

A state abstracts from offsets, epochs and times: of each replica the role that its broker plays,
whether its broker runs, is in the ISR and among the eligible leaders of the control plane's state;
how its leader epoch compares with that of the control plane; of a leader the change of the ISR that
is in flight; and how its log compares with that of
the longest replica: its end, its last epoch, its high watermark.

Of a quorum: of each controller its state, whether it is a voter by its log, whether its newest
voters are committed and those of the longest log, and how its epoch and its log compare.

Source: the variables of the public TLA+ specifications of Kafka's replication (replicaState,
quorumState, replicaLog).
"""

from tidegauge.actors.state.brokers import runs_of
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.raft.voters import newest_voters
from tidegauge.controller.zookeeper.held_states import has_state, isr_of, leader_epoch_of
from tidegauge.engine.doors import World
from tidegauge.replication.replica_list import EMPTY, contains, size
from tidegauge.replication.voter_set import directory_of, is_voter
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.random_streams import mix
from tidegauge.simulation.topology import is_kraft

#: Bits of the number of an abstract state: the size of ``Drawn.seen``.
STATE_BITS = code(16)
_MASK = code((1 << 16) - 1)

#: Distances of epochs that count as different.
_FAR = code(2)


@inner_rule
def state_of_partition(world: World, partition: int) -> int:
    """The number of a partition's abstract state; equal states have equal numbers."""
    facts = world.partitions[partition]
    isr, eligible, epoch = EMPTY, EMPTY, NONE
    if is_kraft(world):
        known = world.committed_partitions[partition]
        isr, eligible, epoch = known.isr, known.elr, known.leader_epoch
    elif has_state(world, partition):
        isr, epoch = isr_of(world, partition), leader_epoch_of(world, partition)
    longest = facts.first_slot
    for row in range(facts.first_slot, facts.first_slot + facts.slot_count):
        if _is_longer(world, row, longest):
            longest = row
    number = 0
    for slot in range(facts.slot_count):
        row = facts.first_slot + slot
        seen = _role(world, row, slot)
        seen = mix(seen, 2 * contains(isr, slot) + contains(eligible, slot))
        seen = mix(seen, max(-_FAR, min(_FAR, world.replicas[row].leader_epoch - epoch)))
        seen = mix(seen, _known_isr(world, row, slot, isr))
        # A sum: no rule tells replicas apart by their places.
        number += mix(seen, _log(world, row, longest)) & _MASK
    return number & _MASK


@inner_rule
def _role(world: World, row: int, slot: int) -> int:
    """Whether a replica's broker runs, and leads the partition or follows."""
    process = world.processes[world.slots[row].broker]
    if not process.alive or not world.hosted[row].exists:
        return 0
    replica = world.replicas[row]
    role = 1
    if replica.leader == slot:
        role = 2
    elif replica.leader != NONE:
        role = 3
    return 2 * role + (process.paused > 0)


@inner_rule
def _known_isr(world: World, row: int, slot: int, isr: int) -> int:
    """Whether a leader knows the ISR of the control plane, and which change of it is in flight."""
    replica = world.replicas[row]
    if replica.leader != slot:
        return 0
    pending = 1 + (size(replica.proposed_isr) > size(replica.isr))
    if replica.proposed_isr == EMPTY:
        pending = 0
    return 1 + 2 * pending + (size(replica.isr) == size(isr))


@inner_rule
def _last_epoch(world: World, row: int) -> int:
    count = world.replicas[row].run_count
    return runs_of(world, row)[count - 1].epoch if count > 0 else NONE


@inner_rule
def _is_longer(world: World, row: int, other: int) -> bool:
    """Whether a log is ahead of another one: as logs of Raft are compared."""
    one, two = _last_epoch(world, row), _last_epoch(world, other)
    if one != two:
        return one > two
    return world.replicas[row].log_end_offset > world.replicas[other].log_end_offset


@inner_rule
def _log(world: World, row: int, longest: int) -> int:
    """How a log compares with the longest one: its end, its last epoch, its high watermark."""
    replica, other = world.replicas[row], world.replicas[longest]
    ends = 1 + (replica.log_end_offset > other.log_end_offset)
    ends -= replica.log_end_offset < other.log_end_offset
    same_epoch = _last_epoch(world, row) == _last_epoch(world, longest)
    number = 2 * ends + same_epoch
    number = 2 * number + (replica.high_watermark < replica.log_end_offset)
    return 2 * number + (replica.high_watermark > other.log_end_offset)


@inner_rule
def state_of_quorum(world: World) -> int:
    """The number of a quorum's abstract state."""
    longest = 0
    epoch = NONE
    for number in range(len(world.voters)):
        epoch = max(epoch, world.voters[number].epoch)
        if _ends_later(world, number, longest):
            longest = number
    newest = world.voters[longest]
    total = 0
    for number in range(len(world.voters)):
        voter = world.voters[number]
        seen = 2 * voter.state + voter.runs
        seen = mix(seen, 2 * is_voter(voter.voter_set, number, voter.directory))
        voters_offset = newest_voters(world, number, voter.log_end_offset).offset
        is_committed = voters_offset < voter.high_watermark
        seen = mix(seen, 2 * (voter.voter_set == newest.voter_set) + is_committed)
        seen = mix(seen, max(-_FAR, voter.epoch - epoch))
        seen = mix(seen, directory_of(newest.voter_set, number) != 0)
        ends = 1 - _ends_later(world, longest, number)
        # A sum: no rule tells controllers apart by their numbers.
        total += mix(seen, 2 * ends + (voter.leader == number)) & _MASK
    return mix(_QUORUM, total) & _MASK


#: Tells states of quorums from those of partitions.
_QUORUM = code(1)


@inner_rule
def _ends_later(world: World, one: int, other: int) -> bool:
    """Whether a metadata log is ahead of another one, as voters compare them."""
    mine, yours = _last_metadata_epoch(world, one), _last_metadata_epoch(world, other)
    if mine != yours:
        return mine > yours
    return world.voters[one].drained_offset > world.voters[other].drained_offset


@inner_rule
def _last_metadata_epoch(world: World, number: int) -> int:
    count = world.voters[number].epoch_count
    room = len(world.epoch_starts) // len(world.voters)
    return world.epoch_starts[number * room + count - 1].epoch if count > 0 else NONE
