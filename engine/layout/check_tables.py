"""The tables of checks and figures, laid out for a scenario, and how they grow."""

import numpy as np

from tidegauge.compiled.records import column, grown, new_records
from tidegauge.engine.layout.by_name import new_tables, set_columns
from tidegauge.replication.kraft_releases import kraft_rules_of
from tidegauge.replication.records import EpochEntry
from tidegauge.replication.voter_set import ANY_DIRECTORY, NO_VOTERS, pack
from tidegauge.scenario.cluster_directory import is_min_isr_capped
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.process_faults import DiskLossFault
from tidegauge.simulation.kernel import QUORUM_CONTROLLER
from tidegauge.traces.checks import CHECKS, histories
from tidegauge.traces.checks.figures import (
    Count,
    CountedBroker,
    CountedPartition,
    Duration,
    Figures,
    StoppedBy,
)
from tidegauge.traces.checks.lineage import run_reserve
from tidegauge.traces.quorum_checks.metadata_logs import needs_quorum_room
from tidegauge.traces.quorum_checks.quorum_progress import PROGRESS_US

#: More in-sync replicas than any setting asks for.
_NEVER_CAPPED = 2**62


def new_history(plan: ClusterPlan) -> histories.Histories:
    """A run of which no row is known yet."""
    planned = plan.partitions.columns
    history = new_tables(
        histories.Histories,
        facts=1,
        partitions=len(plan.partitions),
        places=len(plan.partitions),
        slots=len(planned.hosts),
        brokers=len(plan.brokers),
        runs=0,
        terms=0,
        acknowledged=0,
        snapshot=1,
        told=1,
        fenced=len(plan.brokers),
        place=1,
        quorum=1,
        quorum_epochs=0,
        metadata_logs=len(plan.controllers) + 1 if plan.is_kraft else 0,
        metadata_runs=0,
        controllers=len(plan.controllers) if plan.is_kraft else 0,
        faults=len(plan.faults),
        findings=len(CHECKS),
        breaches=len(CHECKS) * len(plan.partitions),
    )
    column(history.slots, "broker")[:] = planned.hosts
    column(history.brokers, "registered")[:] = plan.registered_before
    column(history.partitions, "unclean_enabled")[:] = planned.unclean_leader_election
    history.facts[0].has_quorum = plan.is_kraft
    if plan.is_kraft:
        history.quorum[0].first_controller = len(plan.brokers)
        settings = plan.scenario.controller_settings()
        idle_us = 1000 * settings["metadata.max.idle.interval.ms"]
        history.quorum[0].writes_no_ops = 0 < idle_us < PROGRESS_US // 2
        history.facts[0].has_elr = plan.scenario.has_eligible_leader_replicas()
        rules = [kraft_rules_of(each.release) for each in plan.software]
        history.facts[0].elects_fenced = any(
            each.fenced_last_known_leader_elected for each in rules
        )
        history.facts[0].registers_in_isrs = not all(each.registration_clears_isr for each in rules)
        history.quorum[0].has_pre_vote = any(each.pre_vote for each in rules)
        _set_first_voters(plan, history)
    column(history.faults, "is_over_at_once")[:] = [each.is_over_at_once for each in plan.faults]
    column(history.faults, "takes_disks")[:] = [
        isinstance(each, DiskLossFault) for each in plan.faults
    ]
    set_columns(
        history.places,
        topic=planned.topic_numbers,
        first_slot=plan.partitions.first_slots,
        slot_count=planned.slot_counts,
    )
    return history


def _set_first_voters(plan: ClusterPlan, history: histories.Histories) -> None:
    """The voters of the quorum as the run begins: all controllers, or the first voters."""
    history.quorum[0].voters_may_change = plan.scenario.voters_may_change()
    history.quorum[0].first_process = plan.process_ranges[QUORUM_CONTROLLER].start
    first = plan.scenario.controllers.voters
    numbers = range(len(plan.controllers))
    voters = pack([(each, 1) for each in first] or [(each, ANY_DIRECTORY) for each in numbers])
    history.quorum[0].committed_voters = voters
    for number, controller in enumerate(history.controllers):
        controller.voters = voters if not first or number in first else NO_VOTERS


def new_figures(plan: ClusterPlan) -> Figures:
    """Nothing is counted yet."""
    brokers = len(plan.brokers)
    faults = len(plan.faults)
    figures = Figures(
        count=new_records(Count, 1),
        brokers=new_records(CountedBroker, brokers),
        partitions=new_records(CountedPartition, len(plan.partitions)),
        stopped=new_records(StoppedBy, faults * brokers),
        queued=new_records(Duration, 0),
    )
    count = figures.count[0]
    count.ends_us = plan.scenario.duration_us
    if plan.scenario.measure_from_us is not None:
        count.measured_from_us = plan.scenario.measure_from_us
    to_come = plan.scenario.topics_to_come()
    count.first_partitions = sum(
        topic.partition_count for topic in plan.scenario.topics if topic.name not in to_come
    )
    count.faults = faults
    # The first processes are the brokers.
    column(figures.brokers, "rack")[:] = [each.rack for each in plan.processes[:brokers]]
    planned = plan.partitions.columns
    capped = np.array(is_min_isr_capped(plan), np.bool_)[plan.partitions.preferred_leaders]
    most = np.where(capped, planned.replica_counts, _NEVER_CAPPED)
    set_columns(
        figures.partitions,
        replicas=planned.replica_counts,
        replicas_at_creation=planned.replica_counts,
        most_insync_replicas=most,
        min_insync_replicas=np.minimum(planned.min_insync_replicas, most),
    )
    return figures


def enlarge(history: histories.Histories, figures: Figures) -> None:
    """Double each table in which little is left."""
    facts = history.facts[0]
    reserve = int(run_reserve(history.view))
    if len(history.runs) - facts.runs < reserve:
        history.runs = grown(history.runs, 2 * (int(facts.runs) + reserve))
    if len(history.terms) == facts.terms:
        history.terms = grown(history.terms, 2 * int(facts.terms) + 1024)
    if len(history.acknowledged) == facts.acknowledged:
        history.acknowledged = grown(history.acknowledged, 2 * int(facts.acknowledged) + 1024)
    if needs_quorum_room(history.view):
        double_quorum_room(history)
    events = int(figures.count[0].controller_events)
    if len(figures.queued) == events:
        figures.queued = grown(figures.queued, 2 * events + 1024)


def double_quorum_room(history: histories.Histories) -> None:
    """Double the tables of a quorum's epochs, and of the epochs in its controllers' logs."""
    quorum = history.quorum[0]
    room = max(len(history.quorum_epochs), int(quorum.epochs))
    history.quorum_epochs = grown(history.quorum_epochs, 2 * room + 64)
    logs = len(history.metadata_logs)
    room = len(history.metadata_runs) // logs
    larger = 2 * room + 64
    runs = new_records(EpochEntry, logs * larger)
    for log in range(logs):
        for number in range(int(history.metadata_logs[log].runs)):
            runs[log * larger + number] = history.metadata_runs[log * room + number]
    history.metadata_runs = runs
