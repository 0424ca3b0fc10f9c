"""Brokers' metadata of the cluster: one log of changes, and a position in it for each broker.

An UpdateMetadata has the same content for every broker. So a controller's message to all is written
down once, as a list of *changes*: of a partition's leader, of a broker being alive. The request
itself only has the position in the list up to which its receiver may read. A broker's knowledge of
a partition is the newest change of it up to that place, and a thousand brokers need no copy of a
million partitions each.

A place is (controller epoch, position). A broker with a message from another controller may lack
changes of the former one: the changes of the new epoch count up to its position in it, all others
up to where the broker was before (its *base*), until that controller has sent it the state of every
partition.

Groups of processes that run apart each have the log, and send its new entries to each other
(``engine/exchange/rings.py``). A change gets its place in the chain of its subject by its own
place, so the time at which a group gets it does not matter.

Source of the changes: ``ControllerBrokerRequestBatch``, ``MetadataCache`` @2.4.0.

Snapshots of the metadata log, as every node has them: when one is due, and its row.

Source: SnapshotGenerator.publishLogDelta@3.9.0 (KIP-630, KIP-876).
"""

from tidegauge.compiled.records import Record, i64
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.replication.kraft_releases import KRaftRules
from tidegauge.simulation.events import new_item
from tidegauge.simulation.kernel import NONE, Kernel, MetadataChange
from tidegauge.simulation.messages.client_requests import (
    MetadataMessage,
    MetadataResponse,
    PartitionLeader,
)
from tidegauge.simulation.random_streams import draw_below
from tidegauge.simulation.trace_rows.controller_rows import MetadataSnapshot

#: In KRaft mode all places have this epoch: a place is an offset of the metadata log, whichever
#: controller has written the record, since committed records stay.
ONE_LOG = code(0)

#: In KRaft mode the size of a record: that of a NoOpRecord in a batch of its own, as most are; of
#: all others it is an estimate. Source: DefaultRecordBatch@4.1.0.
METADATA_RECORD_BYTES = code(72)

# MetadataChange.leader of a broker; 0: it is not alive, or fenced.
ALIVE = code(1)
#: It is in controlled shutdown (KRaft).
SHUTTING_DOWN = code(2)


@inner_rule
def servers_to_ask(rules: KRaftRules, configured: int, voters: int) -> int:
    """The controllers that a node asks for the leader, as bits: up to 3.8 all voters.

    ``configured`` are those of controller.quorum.bootstrap.servers; 0: the setting names none.
    """
    if rules.bootstrap_servers_asked and configured != 0:
        return configured
    return (1 << voters) - 1


@inner_rule
def drawn_server(
    world: Kernel, servers: int, excluded: int, domain: int, owner: int, counter: int
) -> int:
    """A random controller of these, as bits, but not ``excluded``; NONE: there is no other one.

    Source: RequestManager.findReadyBootstrapServer@3.9.2.
    """
    if excluded != NONE:
        servers &= ~(1 << excluded)
    count = 0
    voter = 0
    while servers >> voter:
        count += (servers >> voter) & 1
        voter += 1
    if count == 0:
        return NONE
    place = draw_below(count, world.context[0].seed, domain, owner, counter)
    voter = -1
    while place >= 0:
        voter += 1
        place -= (servers >> voter) & 1
    return voter


class MetadataPosition(Record):
    """The position up to which a broker, or a client, has read: -1 if it has read nothing."""

    controller_epoch: i64 = -1
    position: i64 = -1
    #: Its position when it had the first message of this controller.
    base_epoch: i64 = -1
    base_position: i64 = -1


@inner_rule
def log_change(
    world: Kernel,
    subject: int,
    leader: int,
    leader_epoch: int,
    controller_epoch: int,
    position: int,
) -> None:
    """Write down a change that this group's controller sends to all brokers."""
    context = world.context[0]
    change = world.metadata_changes[context.metadata_changes]
    change.subject = subject
    change.leader = leader
    change.leader_epoch = leader_epoch
    change.controller_epoch = controller_epoch
    change.position = position
    change.group = world.context[0].group
    _chain(world)


@inner_rule
def _chain(world: Kernel) -> None:
    """Put the change behind the last one into the chain of its subject, newest first."""
    context = world.context[0]
    index = context.metadata_changes
    context.metadata_changes += 1
    change = world.metadata_changes[index]
    head = world.metadata_heads[_head_of(world, change.subject)]
    newer = NONE
    older = head.change
    while older != NONE and _is_after(
        world.metadata_changes[older], change.controller_epoch, change.position
    ):
        newer = older
        older = world.metadata_changes[older].previous
    change.previous = older
    if newer == NONE:
        head.change = index
    else:
        world.metadata_changes[newer].previous = index


@inner_rule
def _head_of(world: Kernel, subject: int) -> int:
    """Partitions come first, then brokers, the last of them first."""
    return subject if subject >= 0 else len(world.metadata_heads) + subject


@inner_rule
def _is_after(change: MetadataChange, epoch: int, position: int) -> bool:
    if change.controller_epoch != epoch:
        return change.controller_epoch > epoch
    return change.position > position


@inner_rule
def known_change(world: Kernel, known: MetadataPosition, subject: int) -> int:
    """The newest change of a subject that a broker has got; NONE if there is none."""
    index = world.metadata_heads[_head_of(world, subject)].change
    while index != NONE:
        change = world.metadata_changes[index]
        if _is_known(change, known):
            return index
        index = change.previous
    return NONE


@inner_rule
def _is_known(change: MetadataChange, known: MetadataPosition) -> bool:
    if change.controller_epoch == known.controller_epoch:
        return change.position <= known.position
    return not _is_after(change, known.base_epoch, known.base_position)


@inner_rule
def name_differences(
    world: Kernel, response: MetadataResponse, known: MetadataPosition, other: MetadataPosition
) -> None:
    """Name in a response the partitions whose ``known`` differs from ``other``.

    A response with all partitions of a large cluster was most of the loop's time while some had
    no leader; a subject whose changes are known to both or to neither is the same for both.

    A broker that has just started knows no broker. A client ignores its response, so it names
    nothing: with all partitions, those were half of the loop's time after an outage.
    """
    if known.controller_epoch == NONE:
        return
    for index in range(_seen_by_both(world, known, other), world.context[0].metadata_changes):
        change = world.metadata_changes[index]
        if change.subject >= 0 and _is_known(change, known) != _is_known(change, other):
            item = new_item(world, response, change.subject, PartitionLeader)
            newest = known_change(world, known, change.subject)
            if newest != NONE:
                item.leader = world.metadata_changes[newest].leader
                item.leader_epoch = world.metadata_changes[newest].leader_epoch


@inner_rule
def _seen_by_both(world: Kernel, known: MetadataPosition, other: MetadataPosition) -> int:
    """The number of changes, from the first, that both have got or both have not."""
    count = world.context[0].metadata_changes
    if (
        known.controller_epoch != other.controller_epoch
        or known.base_epoch != other.base_epoch
        or known.base_position != other.base_position
    ):
        return 0
    # The changes of one controller come in the order of their positions, also from another group.
    position = min(known.position, other.position)
    while count > 0:
        change = world.metadata_changes[count - 1]
        if change.controller_epoch == known.controller_epoch and change.position <= position:
            return count
        count -= 1
    return 0


@inner_rule
def broker_subject(broker: int) -> int:
    """The subject of changes about a broker being alive."""
    return -1 - broker


@inner_rule
def is_known_alive(world: Kernel, known: MetadataPosition, broker: int) -> bool:
    """Whether a broker is alive, by another one's metadata; -1 is not."""
    if broker < 0:
        return False
    index = known_change(world, known, broker_subject(broker))
    return index != NONE and world.metadata_changes[index].leader > 0


@inner_rule
def is_known_eligible(world: Kernel, known: MetadataPosition, broker: int, epoch: int) -> bool:
    """Whether a broker may be in an ISR: it is unfenced, stays, and has a broker epoch (-1: any).

    The change about a broker of a KRaft cluster has its epoch in ``leader_epoch``.
    """
    index = known_change(world, known, broker_subject(broker))
    if index == NONE or world.metadata_changes[index].leader != ALIVE:
        return False
    return epoch in (NONE, world.metadata_changes[index].leader_epoch)


@inner_rule
def move_on(known: MetadataPosition, controller_epoch: int, position: int, names_all: bool) -> None:
    """A broker has got all changes up to this place; ``names_all``: of every partition."""
    if names_all:
        known.base_epoch = NONE
        known.base_position = NONE
    elif controller_epoch != known.controller_epoch:
        known.base_epoch = known.controller_epoch
        known.base_position = known.position
    known.controller_epoch = controller_epoch
    known.position = position


@inner_rule
def write_position(message: MetadataMessage, known: MetadataPosition) -> None:
    """Write the sender's position into a message."""
    message.controller_epoch = known.controller_epoch
    message.offset = known.position
    message.base_epoch = known.base_epoch
    message.base_offset = known.base_position


@inner_rule
def read_position(message: MetadataMessage, known: MetadataPosition) -> None:
    """Read the sender's position from a message."""
    known.controller_epoch = message.controller_epoch
    known.position = message.offset
    known.base_epoch = message.base_epoch
    known.base_position = message.base_offset


def needed_from(known: MetadataPosition) -> tuple[int, int]:
    """The place at which a broker looks; of each subject it needs the newest change up to it."""
    if known.base_epoch != NONE:
        return int(known.base_epoch), int(known.base_position)
    return int(known.controller_epoch), int(known.position)


@inner_rule
def take_change(world: Kernel) -> None:
    """Take over a change of another group of processes, which lies behind the last one."""
    _chain(world)


@inner_rule
def _mark_dropped(world: Kernel, newest: int, epoch: int, position: int) -> None:
    """Mark the changes of a partition that no broker reads; its newest one is given."""
    index = newest
    if index != NONE and world.metadata_changes[index].subject < 0:
        return
    while index != NONE:
        change = world.metadata_changes[index]
        index = change.previous
        if not _is_after(change, epoch, position):
            change.previous = NONE
            break
    while index != NONE:
        dropped = world.metadata_changes[index]
        index = dropped.previous
        dropped.position = NONE


@rule
def compact_changes(world: Kernel, epoch: int, position: int) -> None:
    """Drop the changes without a reader whose place is (``epoch``, ``position``) or later.

    For each partition the newest one up to there stays, and all after it. All changes of brokers
    stay: there are few, and clients, and responses on their way to them, read older places. All of
    this group's have been sent to the others.
    """
    context = world.context[0]
    for subject in range(len(world.metadata_heads)):
        _mark_dropped(world, world.metadata_heads[subject].change, epoch, position)
    kept = 0
    for subject in range(len(world.metadata_heads)):
        world.metadata_heads[subject].change = NONE
    count = context.metadata_changes
    context.metadata_changes = 0
    for index in range(count):
        if world.metadata_changes[index].position != NONE:
            world.metadata_changes[kept] = world.metadata_changes[index]
            kept += 1
            _chain(world)
    context.first_unsent_change = kept


@inner_rule
def is_snapshot_due(records: int, age_us: int, max_bytes: int, interval_us: int) -> bool:
    """Whether the records, or the time, since the last snapshot require another.

    Args:
        records: those behind the last snapshot.
        age_us: the time since it.
        max_bytes: metadata.log.max.record.bytes.between.snapshots.
        interval_us: metadata.log.max.snapshot.interval.ms; 0: time does not count.
    """
    is_old = interval_us > 0 and age_us >= interval_us
    return records * METADATA_RECORD_BYTES >= max_bytes or is_old


@inner_rule
def write_snapshot_row(
    world: Kernel,
    node: int,
    step: int,
    end_offset: int,
    epoch: int,
    size_bytes: int,
    log_start_offset: int,
) -> None:
    """Write a row about a step of a node's snapshot; the row causes nothing."""
    context = world.context[0]
    cause_process = context.cause_process
    cause_sequence = context.cause_sequence
    MetadataSnapshot.write(
        world,
        broker=node,
        snapshot_step=step,
        end_offset=end_offset,
        quorum_epoch=epoch,
        snapshot_bytes=size_bytes,
        log_start_offset=log_start_offset,
    )
    context.cause_process = cause_process
    context.cause_sequence = cause_sequence
