"""The content of __consumer_offsets: one journal of all that groups have committed.

A log here has no payloads (``replication/log.py``): a record is a leader epoch and an offset, which
are unique within its partition. So an append of a coordinator is written down once, under that
name, and a new coordinator looks up the appends that its own log has. Truncated records, and those
never replicated, are thus not found.

A *key* is the subject of a record: the offset of one partition that one group reads, or the
membership of one consumer. Compaction keeps the newest record of a key, so others have no reader.

Groups of processes that run apart each have the journal, and send its new entries to each other
(``engine/exchange/rings.py``). An entry gets its place in the chain of its key by its name, so the
time at which a group of processes gets it does not matter. A broker whose log has a record was sent
it after it was written down, so the entry is there. Among two records of one name (a leader has
lost power and leads on in its epoch) the first counts.
"""

from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.leader_epoch_cache import entry_for_offset
from tidegauge.replication.records import EpochEntry, Partition
from tidegauge.simulation.kernel import NONE, Kernel, OffsetCommit


@inner_rule
def log_commit(world: Kernel, key: int, leader_epoch: int, offset: int, committed: int) -> None:
    """Write down the content of a record that a coordinator has appended.

    A record equal to the newest one of its key is left out: its owner has that one.
    """
    newest = world.commit_keys[key].newest
    if newest != NONE:
        known = world.offset_commits[newest]
        if known.leader_epoch == leader_epoch and known.committed == committed:
            return
    context = world.context[0]
    commit = world.offset_commits[context.offset_commits]
    commit.key = key
    commit.leader_epoch = leader_epoch
    commit.offset = offset
    commit.committed = committed
    commit.group = context.group
    _chain(world)


@inner_rule
def _chain(world: Kernel) -> None:
    """Put the last entry into the chain of its key: the newest first."""
    context = world.context[0]
    index = context.offset_commits
    context.offset_commits += 1
    commit = world.offset_commits[index]
    newer = NONE
    older = world.commit_keys[commit.key].newest
    while older != NONE and not _is_older(world.offset_commits[older], commit):
        newer = older
        older = world.offset_commits[older].previous
    commit.previous = older
    if newer == NONE:
        world.commit_keys[commit.key].newest = index
    else:
        world.offset_commits[newer].previous = index


@inner_rule
def _is_older(one: OffsetCommit, other: OffsetCommit) -> bool:
    if one.leader_epoch != other.leader_epoch:
        return one.leader_epoch < other.leader_epoch
    return one.offset < other.offset


@inner_rule
def newest_commit(world: Kernel, key: int, partition: Partition, runs: Records[EpochEntry]) -> int:
    """The content of the newest record of a key in a log; NONE if it has none."""
    index = world.commit_keys[key].newest
    while index != NONE:
        commit = world.offset_commits[index]
        if commit.offset < partition.log_end_offset:
            run = entry_for_offset(runs, partition.run_count, commit.offset)
            if run >= 0 and runs[run].epoch == commit.leader_epoch:
                return commit.committed
        index = commit.previous
    return NONE


@inner_rule
def take_commit(world: Kernel) -> None:
    """Take over an entry of another group of processes, which lies behind the last one."""
    _chain(world)
