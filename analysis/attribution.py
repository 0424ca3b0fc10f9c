"""Charges of consequences to the faults that had caused the state they replace, or bring back.

The chain of triggers (``causes.py``) has the message that led to a row. That is not why: a replica
returns to an ISR as a fetch arrives, because a crash had taken it out. So each kind of row has its
own question, :data:`QUESTIONS`, about the cluster at that time (``cluster_course.py``): the fault
that silenced this broker, that had taken this replica out, that removed the old leader. Several
faults share a common consequence.

An effect without a fault has a reason instead: start-up, a preferred election, a step. Leadership
that returns to the preferred leader is not a consequence of the fault that had moved it: Kafka or
an operator has decided to do so, at a time of their own.

The result is a table of each row's cause and its faults. A run with one fault alone is the test
(``tests/analysis/test_attribution.py``).
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tidegauge.analysis.causes import DETAILS, Causes, Links, causes_of, links_of
from tidegauge.analysis.cluster_course import (
    BUSY_CONTROLLER,
    LOAD,
    PREFERRED_ELECTION,
    START_UP,
    STEP,
    UNKNOWN,
    Charge,
    ClusterCourse,
    Row,
)
from tidegauge.analysis.fault_reach import FaultReach, Faults, Roles, roles_of
from tidegauge.analysis.requests import FoundRun
from tidegauge.simulation.trace_rows.codes import BROKER_ACTIVE, STATE_DELETED
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.directory import Directory
from tidegauge.traces.run_files import read_manifest

#: Asks why a row was written; None: it does not stand for that. The state of the course changes.
Question = Callable[[ClusterCourse, Row], Charge | None]

_BUSY = Charge(reason=BUSY_CONTROLLER)


class Charged(NamedTuple):
    """A consequence, and the faults that it is charged to."""

    #: The place of its row among those of the run.
    row: int
    effect: str
    partition: int | None
    charge: Charge


def charges_of(links: Links, causes: Causes, roles: Roles) -> list[Charged]:
    """The charges of all rows of the kinds in :data:`QUESTIONS`, in the order of time."""
    course = ClusterCourse(links, roles)
    found: list[Charged] = []
    for place, row in _rows(links, causes, course):
        if row.kind in _NOTES:
            _NOTES[row.kind](course, row)
            continue
        for effect, question in QUESTIONS[row.kind].items():
            charge = question(course, row)
            if charge is not None:
                if roles.is_of_logs and not charge.faults:
                    charge = Charge(reason=UNKNOWN)
                found.append(Charged(place, effect, row.own.get("partition"), charge))
    return found


def _rows(links: Links, causes: Causes, course: ClusterCourse) -> Iterator[tuple[int, Row]]:
    """The rows that are asked about or noted, in their total order, each with its place."""
    chains = dict(zip(causes.rows.tolist(), _chains(causes, course), strict=True))
    kinds, places, columns = [], [], []
    for kind in (*_NOTES, *QUESTIONS):
        table = links.details[kind]
        names = DETAILS[kind]
        places.append(table["place"])
        values = zip(*(table[name].tolist() for name in names), strict=True)
        columns += [dict(zip(names, own, strict=True)) for own in values]
        kinds += [kind] * len(table["place"])
    joined = np.concatenate(places)
    order = np.lexsort((links.sequence[joined], links.process[joined], links.time_us[joined]))
    times_us, processes = links.time_us[joined].tolist(), links.process[joined].tolist()
    rows = joined.tolist()
    for nth in order.tolist():
        chain = chains.get(rows[nth], Charge())
        yield rows[nth], Row(kinds[nth], times_us[nth], processes[nth], columns[nth], chain)


def _chains(causes: Causes, course: ClusterCourse) -> Iterator[Charge]:
    """The end of the chain of each row: a fault, a step, or nothing of these."""
    for row, has_fault, is_step in zip(
        causes.end.tolist(), causes.has_fault.tolist(), causes.has_step.tolist(), strict=True
    ):
        if has_fault:
            yield Charge(frozenset({course.reach.fault_at[row]}))
        else:
            yield Charge(reason=STEP if is_step else "")


def _known(*charges: Charge) -> Charge:
    """The first charge with faults; else only the cluster's own load is left."""
    return next(filter(None, charges), Charge(reason=LOAD))


def _why_a_broker_is_fenced(course: ClusterCourse, row: Row) -> Charge | None:
    """Of a fenced broker: the fault that silenced it."""
    broker = row.own["broker"]
    if row.own["state"] == int(BROKER_ACTIVE) or course.is_absent(broker):
        return None
    charge = _known(course.gone(broker, row), row.chain, course.failed_over(row), _BUSY)
    return course.fence(broker, charge)


def _why_a_broker_registers(course: ClusterCourse, row: Row) -> Charge | None:
    """For a broker that was absent, and returns or is active: the fault of its absence."""
    broker = row.own["broker"]
    if not course.is_absent(broker):
        return None
    charge = _known(course.gone(broker, row))
    if row.own["state"] == int(BROKER_ACTIVE):
        course.unfence(broker)
    return charge


def _why_there_is_no_controller(course: ClusterCourse, row: Row) -> Charge | None:
    """For the loss of the active controller: the fault that stops it, or silences it."""
    return course.lose_controller(row) if row.own["broker"] < 0 else None


def _why_a_controller_is_active(course: ClusterCourse, row: Row) -> Charge | None:
    """A controller: the loss of the one before."""
    return course.take_controller(row) if row.own["broker"] >= 0 else None


def _why_a_controller_takes_over(course: ClusterCourse, row: Row) -> Charge:
    """For the work of a controller that is elected (ZooKeeper): the charge of its election."""
    del row
    return course.term_by


def _why_a_leader_is_elected(course: ClusterCourse, row: Row) -> Charge:
    """A leader: the loss of the one before, or the preferred election itself."""
    partition, own = course.partition(row), row.own
    isr, old_leader = partition.members(own["isr"]), own["old_leader"]
    if old_leader < 0:
        charge = partition.leaderless_by or row.chain or Charge(reason=START_UP)
    elif old_leader not in isr:
        charge = _known(course.gone(old_leader, row), row.chain, course.failed_over(row), _BUSY)
    elif own["leader"] == partition.replicas[0]:
        charge = Charge(reason=PREFERRED_ELECTION)
    else:
        charge = _known(row.chain)
    left = {
        member: charge if member == old_leader else course.gone(member, row) or charge
        for member in partition.isr - isr
    }
    partition.shrink(isr, left)
    partition.elect(row, charge)
    return charge


def _why_an_election_removes(course: ClusterCourse, row: Row) -> Charge | None:
    """For replicas that an election takes out of the ISR: the faults that silenced them."""
    partition = course.partition(row)
    gone = partition.isr - partition.members(row.own["isr"])
    if not gone:
        return None
    lost = Charge.all_of(course.gone(each, row) for each in gone)
    return _known(lost, row.chain, course.failed_over(row), _BUSY)


def _why_the_controller_removes(course: ClusterCourse, row: Row) -> Charge:
    """For a dead replica: the fault that had silenced its broker."""
    partition, replica = course.partition(row), row.own["replica"]
    charge = _known(
        *(partition.left_by.get(replica, Charge()), course.gone(replica, row), row.chain),
        *(partition.reassigned_by, course.failed_over(row), _BUSY),
    )
    partition.shrink(partition.members(row.own["isr"]), {replica: charge})
    partition.decided_by.setdefault(row.own["leader_epoch"], charge)
    return charge


def _why_a_leader_shrinks(course: ClusterCourse, row: Row) -> Charge:
    """For followers that are not caught up: the fault of them, their links or their leader."""
    partition, leader = course.partition(row), row.process
    isr = partition.members(row.own["isr"])
    times_us = (row.time_us - row.own["lag_ms"] * 1000, row.time_us)
    left = {}
    for member in partition.members(row.own["old_isr"]) - isr:
        # Else its leader did not serve it; or the write of an ISR had locked the partition.
        left[member] = _known(
            *(course.silent(member, *times_us, (leader,)), course.silent(leader, *times_us, ())),
            *(course.slow(member, *times_us), course.slow(leader, *times_us)),
            *(course.uncontrolled(*times_us), row.chain),
        )
    partition.shrink(isr, left)
    return Charge.all_of(left.values())


def _why_a_leader_expands(course: ClusterCourse, row: Row) -> Charge:
    """Replicas that return: the faults for which they had left."""
    partition = course.partition(row)
    isr = partition.members(row.own["isr"])
    had_left_by = partition.expand(isr, isr - partition.members(row.own["old_isr"]))
    return had_left_by or partition.reassigned_by or Charge(reason=START_UP)


def _why_a_broker_leads(course: ClusterCourse, row: Row) -> Charge:
    """A leader that takes over: why it was elected, or why its broker has started again."""
    partition, epoch = course.partition(row), row.own["leader_epoch"]
    term = (row.process, epoch)
    if term in partition.led_in:
        return _known(course.gone(row.process, row), partition.led_by)
    partition.led_in.add(term)
    return partition.decided_by.get(epoch) or partition.missing() or partition.led_by


def _why_records_are_lost(course: ClusterCourse, row: Row) -> Charge:
    """Records that a new leader lacks: all that made this replica lead, and with this log."""
    partition = course.partition(row)
    if log_lost_by := partition.log_lost_by.get(row.process):
        return partition.led_by | log_lost_by | partition.missing()
    return partition.led_by | partition.passed_over(row.process)


def _why_a_follower_truncates(course: ClusterCourse, row: Row) -> Charge:
    """A log that differs from the leader's: why another leads, and why this replica was away."""
    partition = course.partition(row)
    was_away_by = partition.left_by.get(row.process, Charge())
    whole = partition.led_by | was_away_by
    return whole if whole.faults else course.gone(row.process, row) or whole


def _why_a_log_is_lost(course: ClusterCourse, row: Row) -> Charge:
    """The end of a log: the loss of power."""
    charge = _known(course.without_power(row), row.chain)
    course.partition(row).log_lost_by[row.process] = charge
    return charge


def _why_clients_stall(course: ClusterCourse, row: Row) -> Charge:
    """For a batch without an outcome: the fault at the leader or a member of its ISR."""
    partition, client = course.partition(row), row.process
    if partition.leader < 0:
        return _known(course.stalled(client, partition.leaderless_by))
    times_us = (row.time_us - row.own["waited_us"], row.time_us)
    leader, followers = partition.leader, partition.isr - {partition.leader}
    charge = course.silent(leader, *times_us, (client,)) | Charge.all_of(
        course.silent(each, *times_us, (leader,)) for each in followers
    )
    if partition.led_since_us >= times_us[0]:
        charge |= partition.led_by
    if len(partition.isr) < partition.min_isr:
        charge |= partition.missing()
    slow = Charge.all_of(course.slow(each, *times_us) for each in partition.isr)
    return _known(course.stalled(client, charge or slow or course.uncontrolled(*times_us)))


#: The question that finds the cause of each kind of row, for each effect that it stands for.
QUESTIONS: Mapping[str, Mapping[str, Question]] = MappingProxyType(
    {
        "broker_state": {
            "fence": _why_a_broker_is_fenced,
            "registration": _why_a_broker_registers,
        },
        "controller_active": {
            "controller loss": _why_there_is_no_controller,
            "controller": _why_a_controller_is_active,
        },
        "controller_elected": {"controller start": _why_a_controller_takes_over},
        "leader_elected": {
            "removal": _why_an_election_removes,
            "election": _why_a_leader_is_elected,
        },
        "removed_from_isr": {"removal": _why_the_controller_removes},
        "isr_shrunk": {"shrink": _why_a_leader_shrinks},
        "isr_expanded": {"expand": _why_a_leader_expands},
        "became_leader": {"takeover": _why_a_broker_leads, "loss": _why_records_are_lost},
        "truncated": {"truncation": _why_a_follower_truncates},
        "log_lost": {"log loss": _why_a_log_is_lost},
        "produce_stalled": {"stalled": _why_clients_stall},
        "consume_stalled": {"reads_stalled": _why_clients_stall},
    }
)


def _note_state(course: ClusterCourse, row: Row) -> None:
    """The state of a partition, as it is created and as it loses its leader."""
    partition, own = course.partition(row), row.own
    if own["change"] == int(STATE_DELETED):
        course.forget(own["partition"])
    elif own["leader"] < 0 <= partition.leader:
        lost = course.gone(partition.leader, row)
        others = (course.gone(each, row) for each in partition.isr - {partition.leader})
        charges = (lost, partition.missing(), *others)
        partition.leaderless_by = _known(Charge.all_of(charges), row.chain)
        partition.leader = -1
    elif partition.leader < 0 and not partition.leaderless_by:
        partition.isr, partition.leader = partition.members(own["isr"]), own["leader"]


def _note_epoch(course: ClusterCourse, row: Row) -> None:
    """A leader that is to take over another assignment."""
    course.partition(row).decided_by[row.own["leader_epoch"]] = Charge(reason=STEP)


#: Rows that are charged to nothing, and change the state.
_NOTES: Mapping[str, Callable[[ClusterCourse, Row], None]] = MappingProxyType(
    {
        "partition_state": _note_state,
        "partition_replicas": lambda course, row: course.partition(row).assign(row),
        "leader_epoch_raised": _note_epoch,
        "session_expired": ClusterCourse.falls_silent,
    }
)


def arrow_of_causes(run: FoundRun) -> Any:
    """The origins of rows of a run: an Arrow table, by the handles of the rows.

    ===================  ==========================================================================
    ``time_us``          its time, and the partition that it is about; null: none
    ``partition``
    ``effect``           its part: ``election``, ``expand``, ... (``attribution.py``); that of a
                         ``became_leader`` is a ``takeover``, and the ``loss`` of what it lacks
    ``trigger_process``  the nearest row of another process that led to it: its process,
    ``trigger_us``       its time,
    ``trigger_kind``     and its kind; null where there is none
    ``faults``           the numbers of all faults that have a part in it
    ``fault``            the one of them; null: there is none, or several share it
    ``fault_name``       its name; the names of all if several share it
    ``fault_us``         when a chain of causes enters it: it began there, or ended; null: no chain
    ``reason``           why it is there, where no fault has a part in it
    ===================  ==========================================================================

    Raises:
        TraceError, OSError: as :func:`links_of`.
        RunError: the manifest cannot be read.
    """
    # The causes of a single row are followed without it.
    import pyarrow as pa  # type: ignore[import-untyped] # noqa: PLC0415 - it comes without types

    manifest = read_manifest(run.folder)
    links, roles = links_of(run), roles_of(manifest)
    causes = causes_of(links)
    found = charges_of(links, causes, roles)
    rows = np.array([each.row for each in found], np.int64)
    at = np.searchsorted(causes.rows, rows)
    trigger, no_trigger = causes.trigger[at], ~causes.has_trigger[at]
    faults = [each.charge.faults for each in found]
    names = [name for name, *_ in Directory(manifest).faults]
    by_number = np.full(max(ROW_KINDS) + 1, "", object)
    by_number[[*ROW_KINDS]] = [kind.name for kind in ROW_KINDS.values()]
    entered = _entered(links, causes, at.tolist(), found, FaultReach(links, roles))
    columns = {
        "run": pa.array([run.name] * len(rows), pa.string()),
        "process": pa.array(links.process[rows]),
        "sequence": pa.array(links.sequence[rows]),
        "time_us": pa.array(links.time_us[rows]),
        "partition": pa.array([each.partition for each in found], pa.int64()),
        "effect": pa.array([each.effect for each in found], pa.string()),
        "trigger_process": pa.array(links.process[trigger], mask=no_trigger),
        "trigger_us": pa.array(links.time_us[trigger], mask=no_trigger),
        "trigger_kind": pa.array(by_number[links.kind[trigger]], pa.string(), mask=no_trigger),
        "faults": pa.array([sorted(each) for each in faults], pa.list_(pa.int64())),
        "fault": pa.array([_only(each) for each in faults], pa.int64()),
        "fault_name": pa.array([_name(each, names) for each in faults], pa.string()),
        "fault_us": pa.array(entered, pa.int64()),
        "reason": pa.array([each.charge.reason or None for each in found], pa.string()),
    }
    return pa.Table.from_pydict(columns)


def _only(faults: Faults) -> int | None:
    return next(iter(faults)) if len(faults) == 1 else None


def _name(faults: Faults, names: list[str]) -> str | None:
    return " + ".join(names[fault] for fault in sorted(faults)) or None


def _entered(
    links: Links, causes: Causes, at: list[int], found: list[Charged], reach: FaultReach
) -> list[int | None]:
    """The time at which the chain of each row enters a fault that it is charged to."""
    ends, times_us = causes.end.tolist(), links.time_us[causes.end].tolist()
    return [
        times_us[nth] if reach.fault_at.get(ends[nth]) in each.charge.faults else None
        for nth, each in zip(at, found, strict=True)
    ]
