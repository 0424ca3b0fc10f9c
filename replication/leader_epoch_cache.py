"""The leader-epoch cache: at which offset each leader's epoch began (KIP-101).

A list of entries (epoch, start offset) in order of both, mirrored in the file
``leader-epoch-checkpoint``. With it a leader answers where an epoch ended in its log: where the
next one starts, or at its log end for the latest. A follower asks for its own last epoch and gets
the offset up to which its log can agree with the leader's.

Four generations differ in the epochs that they accept and in their responses:

====================  ===================  ===============  ===================  ==========
..                    A: 0.11.0 - 1.1      B: 2.0.0         C: 2.0.1, 2.1 - 2.6  D: 2.7 on
====================  ===================  ===============  ===================  ==========
assign                ignored if the epoch does not grow    later entry wins: entries at or
..                    or the start goes down                above it are dropped
refuses               epoch < 0            epoch < 0        epoch < 0            also
..                                                                               start < 0
end offset answers    offset only          epoch, offset    epoch, offset        as C
epoch below first     undefined            undefined        (asked, first start) as C
====================  ===================  ===============  ===================  ==========

Entries lie in an array that the caller provides, with room for one more; the functions take the
number of used entries and return the new number. Source of all: ``LeaderEpochFileCache`` @0.11.0.0,
@2.0.0, @2.4.0, @2.8.0 and @3.8.0.
"""

from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import code, rule
from tidegauge.replication import release_rules
from tidegauge.replication.records import UNDEFINED, EpochEntry

NO_ENTRIES = code(0)


@rule
def is_valid_entry(rules: release_rules.ReleaseRules, epoch: int, start_offset: int) -> bool:
    """Whether ``assign`` takes this entry at all; Kafka throws an exception if not.

    Source: validateAndMaybeWarn@0.11.0.0, assign@2.4.0 and @2.8.0.
    """
    if epoch < 0:
        return False
    return rules.epoch_cache_generation != release_rules.EPOCH_CACHE_D or start_offset >= 0


@rule
def assign(
    rules: release_rules.ReleaseRules,
    entries: Records[EpochEntry],
    count: int,
    epoch: int,
    start_offset: int,
) -> int:
    """Enter that ``epoch`` starts at ``start_offset``; the new number of entries.

    Called with every batch that is appended, and from 2.0.1 on when a leader takes over.
    The entry must be valid (:func:`is_valid_entry`).

    Source: assign@0.11.0.0, @2.0.1 (KAFKA-7415) and @2.8.0.
    """
    latest = UNDEFINED
    latest_start_offset = UNDEFINED
    if count > 0:
        latest = entries[count - 1].epoch
        latest_start_offset = entries[count - 1].start_offset
    if rules.epoch_cache_generation in (release_rules.EPOCH_CACHE_A, release_rules.EPOCH_CACHE_B):
        if epoch <= latest or start_offset < latest_start_offset:
            return count
    else:
        if count > 0 and epoch == latest and start_offset >= latest_start_offset:
            return count
        while count > 0 and (
            entries[count - 1].epoch >= epoch or entries[count - 1].start_offset >= start_offset
        ):
            count -= 1
    entries[count].epoch = epoch
    entries[count].start_offset = start_offset
    return count + 1


@rule
def load(
    rules: release_rules.ReleaseRules,
    checkpoint: Records[EpochEntry],
    checkpoint_count: int,
    entries: Records[EpochEntry],
) -> int:
    """Fill the cache from the entries of its checkpoint file; the number of entries.

    Generation D enters them one by one, so entries out of order mend themselves; before,
    the file is believed as it is.

    Source: LeaderEpochFileCache constructor@0.11.0.0 and constructor@2.7.0.
    """
    count = NO_ENTRIES
    for index in range(checkpoint_count):
        entry = checkpoint[index]
        if rules.epoch_cache_generation == release_rules.EPOCH_CACHE_D:
            count = assign(rules, entries, count, entry.epoch, entry.start_offset)
        else:
            entries[count].epoch = entry.epoch
            entries[count].start_offset = entry.start_offset
            count += 1
    return count


@rule
def latest_epoch(entries: Records[EpochEntry], count: int) -> int:
    """The last epoch entered, -1 if there is none.

    Source: latestEpoch@0.11.0.0 and @2.8.0.
    """
    return entries[count - 1].epoch if count > 0 else UNDEFINED


@rule
def end_offset_for(
    rules: release_rules.ReleaseRules,
    entries: Records[EpochEntry],
    count: int,
    log_end_offset: int,
    requested_epoch: int,
) -> tuple[int, int]:
    """The end of ``requested_epoch``: (epoch, end offset), (-1, -1) if undefined.

    The epoch of the answer is the largest one known that is not above the requested one;
    generation A knows no such answer and leaves it -1. Early releases of it took a request
    for epoch -1, of a follower whose cache is empty, for one for the latest epoch of their
    own empty cache (KAFKA-6857).

    Source: endOffsetFor@0.11.0.0, @2.0.0 (KIP-279), @2.0.1 and @2.8.0.
    """
    only_offset = rules.epoch_cache_generation == release_rules.EPOCH_CACHE_A
    if requested_epoch == UNDEFINED and not (rules.undefined_epoch_is_latest and count == 0):
        return UNDEFINED, UNDEFINED
    if requested_epoch == latest_epoch(entries, count):
        return (UNDEFINED if only_offset else requested_epoch), log_end_offset
    higher = next_entry(entries, count, requested_epoch)
    if higher == count:
        return UNDEFINED, UNDEFINED
    if higher == 0:
        if rules.epoch_cache_generation in (
            release_rules.EPOCH_CACHE_C,
            release_rules.EPOCH_CACHE_D,
        ):
            return requested_epoch, entries[0].start_offset
        return UNDEFINED, UNDEFINED
    floor = entries[higher - 1].epoch
    return (UNDEFINED if only_offset else floor), entries[higher].start_offset


@rule
def truncate_from_end(entries: Records[EpochEntry], count: int, end_offset: int) -> int:
    """Forget the epochs that start at ``end_offset`` or above; the new number of entries.

    Source: clearAndFlushLatest@0.11.0.0, truncateFromEnd@2.4.0 and @2.8.0.
    """
    if end_offset < 0:
        return count
    while count > 0 and entries[count - 1].start_offset >= end_offset:
        count -= 1
    return count


@rule
def truncate_from_start(entries: Records[EpochEntry], count: int, start_offset: int) -> int:
    """Forget the offsets below ``start_offset``; the new number of entries.

    The epoch that reaches across ``start_offset`` is kept and starts there now.

    Source: clearAndFlushEarliest@0.11.0.0, truncateFromStart@2.4.0 and @2.8.0.
    """
    if count == 0 or entries[0].start_offset >= start_offset:
        return count
    kept = 0
    while kept + 1 < count and entries[kept + 1].start_offset <= start_offset:
        kept += 1
    for index in range(kept, count):
        entries[index - kept].epoch = entries[index].epoch
        entries[index - kept].start_offset = entries[index].start_offset
    entries[0].start_offset = start_offset
    return count - kept


@rule
def next_entry(entries: Records[EpochEntry], count: int, epoch: int) -> int:
    """Index of the first entry whose epoch is above ``epoch``; ``count`` if there is none.

    Source: nextEpoch@3.6.0, ``higherEntry`` inside endOffsetFor before.
    """
    index = count
    while index > 0 and entries[index - 1].epoch > epoch:
        index -= 1
    return index


@rule
def previous_entry(entries: Records[EpochEntry], count: int, epoch: int) -> int:
    """Index of the last entry whose epoch is below ``epoch``; -1 if there is none.

    Source: previousEpoch@2.7.0 (of the latest) and @3.6.0, previousEntry@3.7.0.
    """
    index = count - 1
    while index >= 0 and entries[index].epoch >= epoch:
        index -= 1
    return index


@rule
def entry_for_epoch(entries: Records[EpochEntry], count: int, epoch: int) -> int:
    """Index of the entry of exactly this epoch; -1 if there is none.

    Source: epochEntry@3.6.0.
    """
    index = next_entry(entries, count, epoch) - 1
    return index if index >= 0 and entries[index].epoch == epoch else UNDEFINED


@rule
def entry_for_offset(entries: Records[EpochEntry], count: int, offset: int) -> int:
    """Index of the entry whose epoch wrote ``offset``; -1 if it lies below all of them.

    Source: epochForOffset@3.6.0.
    """
    index = count - 1
    while index >= 0 and entries[index].start_offset > offset:
        index -= 1
    return index
