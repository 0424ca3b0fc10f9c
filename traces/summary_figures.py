"""Name, unit and meaning of each figure of a run: numbers of ``summary.json``, durations of faults.

This module defines the figures. ``tidegauge sweep --figures`` lists them, ``--figure`` selects
them, and the documentation of the result table of figures is made from them. ``checks/figures.py``
(from canonical rows) and ``engine/summary.py`` count them.

A figure in a part of the summary has dots in its name: ``controller_queue_ms.p99``. A name in
capitals is a placeholder for a name of the scenario: in ``produce_ms.GROUP.p99`` a group of
producers.

Figures cover the run itself, from ``figures_from_seconds`` to ``virtual_seconds``: start-up does
not count, and the liveness phase has its own part. Only losses are judged at the end of that phase.
"""

from __future__ import annotations

from typing import NamedTuple

#: The direction in which a figure gets worse.
MOST = "most"
LEAST = "least"


class Figure(NamedTuple):
    """A figure, or all figures of one form."""

    name: str
    #: ``s``, ``ms`` or ``us``, of virtual time unless the meaning says otherwise; the counted
    #: objects, as a plural; empty for a figure without a unit.
    unit: str
    meaning: str
    #: The summary has only figures of this form that are not 0.
    left_out_at_zero: bool = False
    #: Of runs the worst is that with the most of it, or with the least.
    worst_is: str = MOST
    #: As tables for people call it (``tidegauge/runs/figures.py``); empty: its name does.
    label: str = ""


def _percentiles(name: str, meaning: str) -> tuple[Figure, ...]:
    words = {"p50": "P50", "p99": "P99", "max": "longest"}
    return tuple(Figure(f"{name}.{word}", "ms", f"{of} {meaning}") for word, of in words.items())


_OF_RECORDS = (
    Figure(
        "records_offered",
        "records",
        "that applications had for producers: acknowledged, failed, unsent and in flight",
        worst_is=LEAST,
    ),
    Figure("records_sent", "records", "in batches that producers made", worst_is=LEAST),
    Figure("records_acknowledged", "records", "acknowledged to producers", worst_is=LEAST),
    Figure(
        "records_acknowledged_lost",
        "records",
        "acknowledged with any acks, and not in the leader's log in the end",
    ),
    Figure(
        "records_acknowledged_lost_permitted",
        "records",
        "lost as acks, an unclean election or a loss of power permits",
    ),
    Figure(
        "records_acknowledged_unavailable",
        "records",
        "acknowledged, of partitions that have no leader in the end",
    ),
    Figure("records_lost_by_topic.TOPIC", "records", "acknowledged and lost, of this topic"),
    Figure(
        "records_lost_by_partition.PARTITION",
        "records",
        "acknowledged and lost, of this partition",
        left_out_at_zero=True,
    ),
    Figure(
        "records_failed",
        "records",
        "that producers gave up, after delivery.timeout.ms, max.block.ms or an error",
    ),
    Figure(
        "records_unsent",
        "records",
        "that were due while applications waited for buffer.memory, and never left them",
    ),
    Figure("records_unsent_by_group.GROUP", "records", "unsent, of this group of producers"),
    Figure(
        "records_in_flight",
        "records",
        "sent or waiting as the run ends, without an outcome; all of acks=0",
    ),
    Figure(
        "blocked_seconds.GROUP",
        "s",
        "that the applications of this group of producers waited for buffer.memory, all together",
    ),
    Figure("records_duplicated", "records", "that a retry of their producer appended again"),
    Figure(
        "records_deduplicated",
        "records",
        "of idempotent producers, that a retry brought again and a leader did not append again",
    ),
    Figure("records_consumed", "records", "that consumers read", worst_is=LEAST),
    *_percentiles(
        "produce_ms.GROUP",
        "time until a batch that was offered had an outcome, retries included; of an unsent one "
        "until its application could go on, without an outcome until the run ends; P50 and P99 "
        "are exact to an eighth",
    ),
)


def _stalls(reads: str, meaning: str) -> tuple[Figure, ...]:
    return (
        Figure(f"partitions_{reads}stalled", "partitions", f"for which, at any time, {meaning}"),
        Figure(f"partitions_{reads}stalled_most", "partitions", "... most at the same time"),
        Figure(f"partition_seconds_{reads}stalled", "s", meaning),
        Figure(f"longest_{reads}stall_seconds", "s", "... longest without a break, of a partition"),
    )


_OF_PARTITIONS = (
    *_stalls("", "a producer has had a batch, sent or waiting, for 1 s without an outcome"),
    *_stalls(
        "reads_",
        "a consumer has had no response for 1 s longer than fetch.max.wait.ms, and not because "
        "it processed records",
    ),
    Figure(
        "partition_seconds_offline",
        "s",
        "ZooKeeper or the quorum names no leader, or one whose broker is not registered (KRaft: "
        "fenced)",
    ),
    Figure(
        "partition_seconds_not_accepting",
        "s",
        "no broker that runs leads in the epoch that ZooKeeper or the quorum names",
    ),
    Figure(
        "partition_seconds_under_min_isr",
        "s",
        "there is a leader, and the ISR is below the effective min.insync.replicas",
    ),
    Figure(
        "partition_seconds_at_min_isr",
        "s",
        "there is a leader, and the ISR has exactly the effective min.insync.replicas",
    ),
    Figure(
        "partition_seconds_isr_of_one",
        "s",
        "the ISR has one member, of partitions with more than one replica",
    ),
    Figure(
        "isr_of_one_episodes",
        "episodes",
        "ISRs that came to have one member, of partitions with more than one replica",
    ),
    Figure(
        "most_leaders.partitions",
        "partitions",
        "most that one broker was leader of at any time, by ZooKeeper",
    ),
    Figure(
        "most_leaders.broker", "broker id", "first broker that was leader of the most partitions"
    ),
)
#: Where brokers stand in several racks.
OF_RACKS = (
    Figure(
        "partition_seconds_isr_in_one_rack",
        "s",
        "the whole ISR is in one rack; in a cluster of several racks",
    ),
    Figure(
        "isr_in_one_rack_most",
        "partitions",
        "most at any time whose whole ISR was in one rack",
    ),
)

_OF_CONTROL = (
    Figure("isr_shrinks", "ISRs", "that leaders shrank, as JMX counts them"),
    Figure("isr_expands", "ISRs", "that leaders expanded, as JMX counts them"),
    Figure("isr_removals", "replicas", "that controllers took out of ISRs"),
    Figure("isr_notifications", "znodes", "isr_change_notifications that brokers wrote"),
    Figure("failed_isr_updates", "writes", "of ISRs that were refused, as JMX counts them"),
    Figure("leader_elections", "elections", "in which a partition got another leader"),
    Figure("unclean_elections", "elections", "of a leader from outside of the ISR"),
    Figure("failovers", "elections", "of a controller"),
    Figure("starts", "brokers", "that started, counting every start"),
    *_percentiles("controller_queue_ms", "time that events waited in controllers' queues"),
    Figure(
        "controller_busy_seconds",
        "s",
        "time that controllers worked on events, of those that they finished",
    ),
)
_OF_MOVES = (
    Figure(
        "reassignments.STEP.seconds",
        "s",
        "from this step's request until its last partition is moved or replaced, or the run ends",
    ),
    Figure("reassignments.STEP.partitions", "partitions", "that this step moved, finished or not"),
    Figure(
        "reassignments.STEP.unfinished",
        "partitions",
        "that this step had not finished moving when the run ended",
    ),
    Figure(
        "reassignments.STEP.replaced",
        "partitions",
        "that a later step moved elsewhere, or cancelled, before this one had finished",
    ),
    Figure(
        "reassignment_bytes",
        "bytes",
        "that new replicas fetched until they were in the ISR, by all steps (from 2.5 on)",
    ),
)
_OF_FAULTS = Figure("FAULT.seconds", "s", "how long this fault was on, to the end of the run")

_OF_CHECKS = (
    Figure("checks.CHECK.broken", "partitions", "in which this check was broken"),
    Figure(
        "checks.CHECK.permitted",
        "partitions",
        "in which this check was broken as a setting permits",
    ),
    Figure(
        "checks.CHECK.first_event.time_us", "us", "time of the first event that broke this check"
    ),
    Figure(
        "checks.CHECK.first_event.process", "", "process of the first event that broke this check"
    ),
    Figure(
        "checks.CHECK.first_event.sequence", "", "number of that event's row within its process"
    ),
    Figure(
        "checks.CHECK.first_event.partition",
        "",
        "partition of the first event that broke this check",
    ),
    Figure("steps_taken", "steps", "of the scenario"),
    Figure("steps_timed_out", "steps", "whose condition did not hold in time"),
)
#: Where the scenario has a liveness phase.
OF_LIVENESS = (
    Figure(
        "liveness.virtual_seconds",
        "s",
        ("until all ISRs were full and all logs equal, or the phase was ended without that"),
    ),
    Figure("liveness.bound_seconds", "s", "limit of the phase's duration"),
)

_OF_THE_SIMULATION = (
    Figure("seed", "", "of the run's random draws"),
    Figure(
        "figures_from_seconds",
        "s",
        "when figures begin: every partition has a leader, or the first fault begins",
    ),
    Figure("virtual_seconds", "s", "how long the run was, without the liveness phase"),
    Figure("wall_seconds", "s", "real time that the run took"),
    Figure("loop_seconds", "s", "real time of the event loop"),
    Figure(
        "loop_seconds_by_process_kind.KIND",
        "s",
        "real time of the event loop in processes of this kind",
    ),
    Figure("loop_samples", "samples", "from which the loop's time by process kind is known"),
    Figure("events", "events", "that were handled"),
    Figure("events_per_second", "events", "in a second of real time", worst_is=LEAST),
    Figure("times_real_time", "", "virtual time by real time of the event loop", worst_is=LEAST),
    Figure("windows", "windows", "of virtual time in which groups of processes ran"),
    Figure("windows_per_virtual_second", "windows", "in a second of virtual time"),
    Figure("events_per_window", "events", "in a window"),
    Figure(
        "cost_model.COST.times",
        "times",
        "this parameter of the cost model was asked for",
        left_out_at_zero=True,
    ),
    Figure(
        "cost_model.COST.seconds",
        "s",
        "this parameter of the cost model came to in all",
        left_out_at_zero=True,
    ),
)

#: All forms, the most important ones first.
FORMS = (
    *_OF_RECORDS,
    *_OF_PARTITIONS,
    *OF_RACKS,
    *_OF_CONTROL,
    *_OF_MOVES,
    _OF_FAULTS,
    *_OF_CHECKS,
    *OF_LIVENESS,
    *_OF_THE_SIMULATION,
)
#: The figures without a placeholder in their names.
FIGURES = {form.name: form for form in FORMS if form.name == form.name.lower()}

#: Kinds of processes among which the time of the event loop is shared out, and the rest of it.
PROCESS_KINDS = ("broker", "controller", "zookeeper", "client", "driver")
#: The same of a cluster with KRaft.
KRAFT_PROCESS_KINDS = ("broker", "client", "quorum controller", "driver")


def is_left_out_at_zero(name: str) -> bool:
    """Whether a figure is 0 if it is missing in a summary."""
    prefixes = (form.name.partition(".")[0] + "." for form in FORMS if form.left_out_at_zero)
    return name.startswith(tuple(prefixes))


def worst_is(name: str) -> str:
    """The direction in which a figure gets worse; figures without a form get worse upwards."""
    return FIGURES[name].worst_is if name in FIGURES else MOST
