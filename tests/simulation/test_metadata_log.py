"""What brokers know of the cluster: a position in one log instead of a copy each."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from small_clusters import cluster_of, topic_of
from tidegauge.compiled.records import Records, blank, new_records
from tidegauge.compiled.rules import rule
from tidegauge.engine.layout.cluster_tables import enlarge_metadata, new_kernel
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.events import free_event, items_of
from tidegauge.simulation.kernel import NONE, Kernel, MetadataChange
from tidegauge.simulation.messages.client_requests import MetadataResponse, PartitionLeader
from tidegauge.simulation.metadata_log import (
    MetadataPosition,
    compact_changes,
    known_change,
    log_change,
    move_on,
    name_differences,
    needed_from,
    take_change,
)

PARTITIONS = 3
#: (partition, leader) of each change that one controller tells.
TERMS = st.lists(
    st.lists(st.tuples(st.integers(0, PARTITIONS - 1), st.integers(0, 8)), max_size=12),
    min_size=1,
    max_size=3,
)


@rule
def log_one(kernel: Kernel, partition: int, leader: int, epoch: int, position: int) -> None:
    """A controller tells of one partition."""
    log_change(kernel, partition, leader, 0, epoch, position)


@rule
def leader_known(kernel: Kernel, known: MetadataPosition, partition: int) -> int:
    """The leader that a broker at this place knows; -1 for none."""
    index = known_change(kernel, known, partition)
    return kernel.metadata_changes[index].leader if index != NONE else NONE


@rule
def told(known: MetadataPosition, epoch: int, position: int, names_all: bool) -> None:
    """A broker hears of everything up to this place."""
    move_on(known, epoch, position, names_all)


@rule
def begun(known: MetadataPosition) -> None:
    """A broker begins."""
    blank(known, MetadataPosition)


def an_empty_log() -> Kernel:
    plan = ClusterPlan(cluster_of(topics=[topic_of([1, 2, 3])]))
    kernel = new_kernel(plan, range(len(plan.processes)), 16, 16)
    kernel.metadata_heads = new_records(type(kernel.metadata_heads[0]), PARTITIONS + 3)
    for head in range(len(kernel.metadata_heads)):
        kernel.metadata_heads[head].change = NONE
    enlarge_metadata(kernel, 64)
    return kernel


def written(terms: list[list[tuple[int, int]]]) -> Kernel:
    """The log after these terms of controllers."""
    kernel = an_empty_log()
    for epoch, changes in enumerate(terms, start=1):
        for position, (partition, leader) in enumerate(changes, start=1):
            log_one(kernel.view, partition, leader, epoch, position)
    return kernel


def a_reader() -> MetadataPosition:
    known = new_records(MetadataPosition, 1)[0]
    begun(known)
    return known


def all_known(kernel: Kernel, known: MetadataPosition) -> list[int]:
    return [leader_known(kernel.view, known, partition) for partition in range(PARTITIONS)]


@settings(deadline=None)
@given(terms=TERMS, data=st.data())
def test_a_position_shows_what_a_copy_would_hold(
    terms: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    """MetadataCache: the last update of a partition counts; a controller may be missed half."""
    kernel = written(terms)
    known = a_reader()
    copy = [-1] * PARTITIONS
    for epoch, changes in enumerate(terms, start=1):
        heard = data.draw(st.integers(0, len(changes)), label=f"heard of controller {epoch}")
        for partition, leader in changes[:heard]:
            copy[partition] = leader
        told(known, epoch, heard, epoch == 1)
        if epoch <= 2:
            # One base is kept: a controller that replaces the next one tells everything first.
            assert all_known(kernel, known) == copy


@settings(deadline=None)
@given(terms=TERMS, data=st.data())
def test_dropping_what_nobody_looks_at_changes_nothing(
    terms: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    kernel = written(terms)
    epoch = data.draw(st.integers(1, len(terms)))
    known = a_reader()
    told(known, epoch, data.draw(st.integers(0, len(terms[epoch - 1]))), True)
    before = all_known(kernel, known)
    compact_changes(kernel.view, *needed_from(known))
    assert all_known(kernel, known) == before
    told(known, epoch, len(terms[epoch - 1]), False)
    assert all_known(kernel, known) == all_known(written(terms), known)


@rule
def hear(kernel: Kernel, changes: Records[MetadataChange], number: int) -> None:
    """Take over one of the changes of another group."""
    kernel.metadata_changes[kernel.context[0].metadata_changes] = changes[number]
    take_change(kernel)


@settings(deadline=None)
@given(terms=TERMS)
def test_the_log_of_another_group_says_the_same_in_whatever_order_it_hears(
    terms: list[list[tuple[int, int]]],
) -> None:
    kernel = written(terms)
    count = sum(map(len, terms))
    other = an_empty_log()
    for number in (*range(count // 2, count), *range(count // 2)):
        hear(other.view, kernel.metadata_changes, number)
    for epoch, told_changes in enumerate(terms, start=1):
        for position in range(len(told_changes) + 1):
            known = a_reader()
            told(known, epoch, position, True)
            assert all_known(other, known) == all_known(kernel, known)


@rule
def take_response(
    kernel: Kernel,
    leaders: Records[PartitionLeader],
    known: MetadataPosition,
    own: MetadataPosition,
) -> None:
    """A client, whose leaders these are, takes over the response of a broker at this place."""
    response = MetadataResponse.to(kernel, 0)
    name_differences(kernel, response, known, own)
    for item in items_of(kernel, response, PartitionLeader):
        leaders[item.partition].leader = item.leader
    free_event(kernel, response)


@settings(deadline=None)
@given(terms=TERMS, data=st.data())
def test_a_response_names_all_that_its_client_lacks(
    terms: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    """KafkaApis.handleTopicMetadataRequest: afterwards the client knows what the broker knows.

    The broker may be behind the client, and either may have missed a part of a controller's term.
    """
    kernel = written(terms)
    broker, client = a_reader(), a_reader()
    for epoch, changes in enumerate(terms, start=1):
        for each in (broker, client):
            if each is client or epoch == 1 or data.draw(st.booleans(), label="hears of it"):
                heard = data.draw(st.integers(0, len(changes)), label=f"of controller {epoch}")
                told(each, epoch, heard, epoch == 1)
    leaders = new_records(PartitionLeader, PARTITIONS)
    for partition, leader in enumerate(all_known(kernel, client)):
        leaders[partition].leader = leader
    take_response(kernel.view, leaders, broker, client)
    assert [int(leader.leader) for leader in leaders] == all_known(kernel, broker)
