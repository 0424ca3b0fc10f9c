"""The table of figures: the numbers of a run that its outputs share, each defined once.

``traces/summary_figures.py`` describes the figures of the summary. Those of a result table are
columns: their SQL is that of ``run_figures`` and ``control_plane_figures``. Here are the labels
under which tables for people show them, the values of a run, and what decides the figures that
``tidegauge compare`` shows: it follows from the rules of both modes and the ranges of their clocks.
Published figures are of unknown conditions, and no target.

**To add a figure**: a column of one of these tables, a label if it is shown, and of a figure of the
summary a form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.tables.control_plane import CONTROL_PLANE_FIGURES
from tidegauge.analysis.tables.run_figures import RUN_FIGURES
from tidegauge.runs.run import Run
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.summary_figures import FIGURES as OF_SUMMARY
from tidegauge.traces.summary_figures import FORMS, Figure

#: Columns of the tables that are no figures.
_ABOUT_THE_RUN = frozenset({"run", "mode", "partitions", "first_fault_us"})

#: From so many seconds or objects on a value has no decimals, or one.
_MUCH, _SOME = 1_000, 100

#: As tables for people call a figure.
_LABELS = {
    "partition_seconds_stalled": "Partitions stalled for producers, in all",
    "partitions_stalled": "Partitions stalled for producers",
    "longest_stall_seconds": "Longest stall of a partition",
    "partition_seconds_reads_stalled": "Partitions stalled for consumers, in all",
    "partition_seconds_offline": "Partitions offline, in all",
    "partition_seconds_not_accepting": "Partitions without a leader that accepts writes, in all",
    "partition_seconds_under_min_isr": "Partitions under min.insync.replicas, in all",
    "leaderless_partitions": "Partitions that lost their leader",
    "leaderless_first_us": "Leaderless time, first partition",
    "leaderless_median_us": "Leaderless time, median partition",
    "leaderless_last_us": "Leaderless time, last partition",
    "unwritable_us": "Partition-seconds that refuse acks=all writes",
    "absent_leader_us": "Partitions with a leader that is not registered, in all",
    "controller_less_us": "Time without an active controller",
    "controller_reload_longest_us": "Reload of an elected controller, longest",
    "active_controllers_most": "Active controllers at once, most",
    "two_controllers_us": "Time with two active controllers",
    "failovers": "Controllers elected",
    "quorum_epochs": "Epochs of the quorum begun",
    "starts": "Brokers started",
    "clean_stops": "Brokers stopped cleanly",
    "registrations": "Brokers registered",
    "registrations_refused": "Registrations refused",
    "sessions_expired": "Sessions of brokers expired",
    "live_brokers_expired": "Sessions expired of brokers that ran",
    "detection_longest_us": "Loss of a broker until it is noticed, longest",
    "exit_longest_us": "SIGTERM until the process is gone, longest",
    "restart_longest_us": "SIGTERM until active again, longest",
    "return_longest_us": "Process start until back in all ISRs, longest",
    "out_of_isr_us": "Replica-seconds outside of the ISR",
    "isr_changes": "Changes of ISRs",
    "isr_shrinks": "ISRs shrunk by leaders",
    "isr_expands": "ISRs expanded by leaders",
    "isr_removals": "Replicas taken out of ISRs by controllers",
    "leader_elections": "Leaders elected",
    "unclean_elections": "Leaders elected from outside of the ISR",
    "leader_epochs": "Leader epochs begun",
    "follower_starts": "Starts of replication by followers",
    "state_writes": "Partition states written",
    "state_commits": "Commits that wrote them",
    "control_requests": "Requests between brokers and control plane",
    "heartbeats": "Signs of life of brokers",
    "metadata_fetches": "Fetches of the metadata log by brokers",
    "records_acknowledged": "Records acknowledged",
    "records_acknowledged_lost": "Acknowledged records lost",
    "records_failed": "Records that producers gave up",
    "records_unsent": "Records that never left their applications",
    "blocked_us": "send() blocked, of all producers",
}

#: All figures that result tables or the summary have under one name.
FIGURES: Mapping[str, Figure] = {
    name: figure._replace(label=_LABELS.get(name, ""))
    for name, figure in {
        **{
            column.name: Figure(column.name, column.unit, column.meaning)
            for column in CONTROL_PLANE_FIGURES.columns
            if column.name not in _ABOUT_THE_RUN
        },
        **OF_SUMMARY,
    }.items()
}


def figure_named(name: str) -> Figure:
    """The figure of a name; that of ``produce_ms.shop.p99`` is one of the form ``...GROUP...``.

    Raises:
        KeyError: there is no such figure.
    """
    if name in FIGURES:
        return FIGURES[name]
    for form in FORMS:
        pattern = re.sub(r"[A-Z]{2,}", "(.+)", re.escape(form.name))
        if pattern != re.escape(form.name) and re.fullmatch(pattern, name):
            return form._replace(name=name)
    raise KeyError(name)


#: The row of each run, with all figures that tables have.
FIGURES_OF_RUNS = f"""
    select * from {RUN_FIGURES.name} join {CONTROL_PLANE_FIGURES.name} using (run) order by run
"""  # noqa: S608 - names of our own tables


def figures_of(run: Run) -> dict[str, float | None]:
    """The figures of a run that tables have, by their names; None: its rows, or logs, do not tell.

    Raises:
        RunError, ScenarioError, TraceError, OSError: as :meth:`RunTables.make`.
    """
    (row,) = run.tables.rows(FIGURES_OF_RUNS)
    return {name: row[name] for name in row if name not in _ABOUT_THE_RUN}


def summary_figures(run: RunFolder, tables: RunTables) -> Iterator[tuple[str, float]]:
    """All numbers of a run's summary, and of each fault how long it was on."""
    yield from numbers_of(run.summary or {})
    seconds = dict.fromkeys((fault.name for fault in run.directory.faults), 0.0)
    for row in tables.rows(
        "select fault_name, sum(end_us - begin_us) / 1e6 as seconds from faults"
        " group by fault_name order by fault_name"
    ):
        seconds[row["fault_name"]] = float(row["seconds"])
    for fault, lasted_s in seconds.items():
        yield f"{fault}.seconds", lasted_s


def numbers_of(part: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a summary, or of a part of it: ``produce_ms.shop.p99``."""
    for name, value in part.items():
        if isinstance(value, Mapping):
            yield from numbers_of(value, f"{path}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{path}{name}", value


def value_text(value: float, unit: str) -> str:
    """A value for people: times in seconds, and of large values no decimals, of others up to three.

    Args:
        value: the value, or a mean of several.
        unit: of its figure; microseconds become seconds.
    """
    if unit == "us":
        return value_text(value / 1e6, "s")
    decimals = 3 if unit == "s" else 1
    if value >= _MUCH:
        decimals = 0
    elif value >= _SOME:
        decimals = 1
    text = f"{value:,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{text} s" if unit == "s" else text


class Explanation(NamedTuple):
    """What decides a figure."""

    #: With ZooKeeper, and with KRaft; empty: nothing of its own.
    zookeeper: str = ""
    kraft: str = ""
    #: Where KRaft is not better; empty: no such case is known.
    exception: str = ""
    #: Published figures of the same kind, of unknown conditions; empty: none.
    published: str = ""
    #: What decides it in either mode.
    either: str = ""


#: The figures of a comparison of variants, in the order in which they are shown; less is better.
EXPLANATIONS: Mapping[str, Explanation] = {
    "partition_seconds_stalled": Explanation(
        "The session of a lost broker (18 s by default), or replica.lag.time.max.ms.",
        "The session of a lost broker (9 s by default), or replica.lag.time.max.ms.",
        either="How long batches wait: for a new leader, for a follower that is lost to leave the"
        " ISR, for one that is slow to catch up.",
    ),
    "longest_stall_seconds": Explanation(
        either="What decides all of them together.",
    ),
    "partition_seconds_reads_stalled": Explanation(
        either="Time without a leader that responds.",
    ),
    "leaderless_partitions": Explanation(
        either="The leaders that the faults hit, and those that a controlled shutdown or a"
        " preferred election moves.",
    ),
    "leaderless_first_us": Explanation(
        "The session (18 s by default), until a tick of ZooKeeper; then the first write. A leader"
        " that is moved in time costs one write and one request: milliseconds.",
        "The session (9 s by default), until the controller's next check; then one batch. A leader"
        " that is moved in time costs about 0.1 s, until the next one has read of it.",
        "A leader that is moved in time, by a controlled shutdown or a preferred election: the"
        " requests of ZooKeeper mode are faster than the metadata log.",
    ),
    "leaderless_median_us": Explanation(
        "Beyond that, one write and its requests for each partition before it.",
        "No more than that: all partitions of a broker are in one batch.",
        either="What decides the first partition.",
    ),
    "leaderless_last_us": Explanation(
        "The session, and one write and its requests for each partition: size multiplies that.",
        "The session alone: all partitions of a broker are in one batch, whatever their number.",
        "The active controller dies together with a leader: the next controller gives every broker"
        " a whole session from its election on, so the two times add up, where ZooKeeper lets both"
        " sessions run at once. An unclean election that is enabled while a partition is offline"
        " comes at once with ZooKeeper; with KRaft only a registration or an unfencing brings it,"
        " or a task every 300 s (from 3.9).",
    ),
    "unwritable_us": Explanation(
        "If all of an ISR died, only the last one of it may lead again.",
        "With ELRs (4.1) another replica may lead again, if it stopped cleanly.",
        "ISRs fall below min.insync.replicas sooner, as the session is shorter.",
        either="Leaderless time, and how long ISRs are below min.insync.replicas. While a dead"
        " follower is still in the ISR, writes with acks=all are stalled instead of being refused.",
    ),
    "controller_less_us": Explanation(
        "The session of its broker (18 s by default); a graceful stop ends it at once.",
        "The fetch timeout of the voters (2 s by default) and an election, with nothing to read"
        " again after it. A graceful stop hands over within a second. A split vote costs one more"
        " round.",
        published="Recovery from a lost controller at 2 million partitions: 503 s with ZooKeeper,"
        " 37 s with a KRaft before its first release (Confluent, 2021; the numbers stand in an"
        " image, unverified). Reload of 100,000 partitions: 28 s before, 14 s from 1.1.0 on"
        " (Confluent, 2018). About 37 s to load a million partitions, and 40 s until brokers had"
        " applied them (Tencent, from a secondary source).",
    ),
    "controller_reload_longest_us": Explanation(
        "The number of partitions: it reads all their states, and sends them to all brokers.",
    ),
    "active_controllers_most": Explanation(
        "A controller that is paused or cut off stays active until it hears of its successor; the"
        " controller epoch refuses what it writes.",
        "From 3.7 on a leader of the quorum that no majority fetches from resigns after 1.5 fetch"
        " timeouts; before that it stays until it hears of its successor. It commits nothing.",
    ),
    "exit_longest_us": Explanation(
        "One write and its requests for each partition that the broker leads.",
        "The heartbeats of all brokers: it may go once each of them has read the metadata log up to"
        " its request. Their interval is 2 s by default, and the number of partitions has no part.",
        "A broker that leads little is gone sooner with ZooKeeper: KRaft waits for heartbeats even"
        " if there is nothing to move.",
        "Controlled shutdown at 2 million partitions: 135 s with ZooKeeper, 32 s with KRaft before"
        " its first release (Confluent, 2021; the numbers stand in an image, unverified). Of 10,000"
        " partitions per broker: 6.5 min before, 3 s from 1.1.0 on (Confluent, 2018).",
    ),
    "return_longest_us": Explanation(
        "After a clean stop it registers at once.",
        "From 4.0 on after a clean stop, too, it is registered once its old session is over.",
        "A quick restart: until the session is over (9 s after the last heartbeat by default) the"
        " registration is refused, from 4.0 on after a clean stop too, while ZooKeeper registers"
        " the broker at once. After a crash the logs are recovered in both modes, before the broker"
        " is unfenced: that decides, and not the mode.",
        either="The loading of logs, what the broker has to fetch, and after a kill the end of its"
        " old session.",
    ),
    "out_of_isr_us": Explanation(
        "A killed broker leaves the ISRs later, as its session is longer.",
        "A killed broker leaves the ISRs earlier, and need not be back any earlier.",
        "A lost broker leaves the ISRs earlier, which counts here; writes with acks=all wait for"
        " less time. After a quick restart the broker is out until its old session is over.",
        either="How soon a lost broker leaves the ISRs, and how soon it is back.",
    ),
    "isr_changes": Explanation(
        "Leaders shrink and expand; the controller removes a broker partition by partition.",
        "Leaders shrink and expand; fencing, or a request to stop, removes a broker from all ISRs"
        " at once.",
    ),
    "leader_elections": Explanation(
        "Preferred leaders come back only where more than 10 % of a broker's are elsewhere.",
        "Every preferred leader that can lead comes back, 1,000 in a run of the task.",
        "After a restart all leaderships move back; ZooKeeper leaves a small imbalance as it is.",
        either="Leaders that were lost, or moved by a controlled shutdown, and preferred leaders"
        " that come back.",
    ),
    "leader_epochs": Explanation(
        "Each election, each removal of a dead replica, each controlled shutdown of a follower.",
        "Elections alone from metadata.version 3.6 on; before that each shrunk ISR as well.",
    ),
    "follower_starts": Explanation(
        "The removal of a dead follower begins a leader epoch, too.",
        "A lost follower begins no epoch (metadata.version 3.6 and later), so that the others go"
        " on.",
        either="Each leader epoch restarts the fetching of all other followers, and each start of"
        " a broker that of its own replicas.",
    ),
    "state_writes": Explanation(
        "Each is a write to ZooKeeper.",
        "Each is a record of the metadata log.",
        either="One for each partition and change, so the modes are much alike.",
    ),
    "state_commits": Explanation(
        "As many as there are states: each is a write of its own.",
        "One for each batch: all partitions of a lost broker are in one.",
    ),
    "control_requests": Explanation(
        "LeaderAndIsr to each host of a changed partition, and UpdateMetadata to every broker; all"
        " of them to a broker that starts.",
        "Registrations and AlterPartition: states travel in the metadata log, not in requests.",
    ),
    "heartbeats": Explanation(
        "A ping after a third of the session without another request (6 s by default).",
        "A heartbeat every 2 s by default, and every one at once while a broker starts or stops.",
        "KRaft sends more of them.",
    ),
    "metadata_fetches": Explanation(
        kraft="Each commit ends every broker's waiting fetch; an idle controller commits every"
        " 500 ms.",
    ),
    "records_acknowledged_lost": Explanation(
        "A leader that is cut off from ZooKeeper alone leads on for itself until it hears of its"
        " successor.",
        "A leader that is cut off from the controllers alone does so, too. With ELRs (4.1) a"
        " replica outside of the ISR may lead without a loss, if it stopped cleanly.",
        either="acks=1 at a leader that is cut off, unclean elections, loss of power.",
    ),
    "records_failed": Explanation(
        either="Time without a leader, or below min.insync.replicas, beyond delivery.timeout.ms.",
    ),
    "records_unsent": Explanation(
        either="A stall that fills buffer.memory: send() blocks for max.block.ms, and what was due"
        " meanwhile is not sent.",
    ),
    "blocked_us": Explanation(
        either="A stall that fills buffer.memory, by the rate and size of records.",
    ),
}
