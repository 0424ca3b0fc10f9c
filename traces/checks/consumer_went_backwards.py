"""No consumer is sent back to an offset before records that it has read.

A consumer whose offset lies outside of the leader's log gets OFFSET_OUT_OF_RANGE and resets its
offset by auto.offset.reset: records that it has read are gone. A client that asks for the latest
offset (ListOffsets) of a leader whose high watermark lags behind that of its predecessor is sent
back, too: before 2.2 it is told an offset below records that could be read (KIP-207).

Permitted: after an unclean election in the partition, or a loss of power that took records
of one of its replicas before a flush. A topic that was deleted is another topic.

Example: ``tidegauge run 17-unclean-election --set 'workload.consumers=[{name: readers, topics:
[story]}]'`` gives it up. The consumer has read records that the elected leader never had.

Source: Fetcher.resetOffsetsAsync@2.4.0 of the clients, Partition.fetchOffsetForTimestamp@2.7.0;
Jepsen's nonmonotonic-poll.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.traces.checks.breaches import note_breach, what_permits
from tidegauge.traces.checks.histories import Histories, RowPlace

#: Its place among the checks.
NUMBER = code(7)


@inner_rule
def check_reset(history: Histories, offset: int, new_offset: int, place: RowPlace) -> None:
    """A consumer whose offset is out of range restarts at another one."""
    known = history.partitions[place.partition]
    # A record that was never exposed since the topic was created again is one of the topic before.
    is_of_former_topic = known.created_again and offset > known.exposed_end
    if new_offset < offset and not known.deleted and not is_of_former_topic:
        permitted_by = what_permits(history, place.partition)
        note_breach(history, NUMBER, place, permitted_by)


@inner_rule
def check_told_end(history: Histories, end_offset: int, place: RowPlace) -> None:
    """A client is told the latest offset of a partition."""
    known = history.partitions[place.partition]
    if 0 <= end_offset < known.exposed_end and not known.deleted:
        note_breach(history, NUMBER, place, what_permits(history, place.partition))
