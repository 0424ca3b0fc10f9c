"""Groups of rows in a story: a fault in all processes that it hits, or many changes at once.

Rows are alike by the :class:`Likeness` of a story. When a broker dies, hundreds of partitions
change their leader within a few milliseconds. One line for each would hide all other events. So
rows about partitions that belong to one *family* and follow each other within a second are one
moment, if they are more than three: its line has their counts, and the first names. A row that is
not about a partition (a session, an event of the controller) stands alone, and ends all moments
before it.

In the story of a partition most rows stand alone. Only what clients repeat by the thousand shares a
line: requests and their refusals, acknowledgements of one leader, batches that producers give up.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from tidegauge.runs.causes import FAULTS, because
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import time_text

#: Rows of one family; at least one.
Moment: TypeAlias = list[TraceEvent]

#: The number of partitions, or reasons, that are named.
NAMED = 3

ROLES = frozenset({"became_leader", "became_follower"})
ISR_CHANGES = ("isr_update_sent", "isr_shrunk", "isr_expanded", "isr_update_failed")

#: Kinds of rows that share a line in the story of a partition, if these columns are equal.
_REPEATED = {
    "request_refused": ("process", "api_key", "error"),
    "acknowledged": ("process", "leader_epoch"),
    "batch_failed": (),
    "send_failed": (),
}


class Likeness(NamedTuple):
    """The rows that share a line of a story."""

    #: Equal for rows that are alike; None: the row stands alone, and ends all moments before it.
    key: Callable[[TraceEvent], object | None]
    #: Up to this number of rows each has its own line.
    few: int = 1
    #: A longer time without a row of its kind ends a moment.
    gap_us: int = 1 << 62


def _key_of_many(row: TraceEvent) -> object | None:
    return (row.process, _family(row.kind)) if "partition" in row.row.columns else None


def _key_in_partition(row: TraceEvent) -> object | None:
    columns = _REPEATED.get(row.kind)
    return None if columns is None else (row.kind, *(row.row[column] for column in columns))


#: Each row by itself.
ONE_BY_ONE = Likeness(lambda _row: None)
#: In the story of a broker, of clients or of the controllers.
OF_MANY = Likeness(_key_of_many, few=3, gap_us=1_000_000)
#: In the story of a partition.
IN_PARTITION = Likeness(_key_in_partition)


def moments(rows: Iterable[TraceEvent], likeness: Likeness) -> list[Moment]:
    """Group rows, in their total order, that share a line of a story; and all rows of a fault."""
    found: list[Moment] = []
    faults: dict[tuple[str, int, int], Moment] = {}
    #: The moments that may still grow, by the keys of their rows.
    growing: dict[object, Moment] = {}
    for row in rows:
        if row.kind in FAULTS:
            fault = (row.kind, row.row["fault"], row.time_us)
            if fault in faults:
                faults[fault].append(row)
                continue
            faults[fault] = [row]
            found.append(faults[fault])
            growing.clear()
            continue
        alike = likeness.key(row)
        if alike is None:
            growing.clear()
        moment = growing.get(alike)
        if moment is None or row.time_us - moment[-1].time_us > likeness.gap_us:
            moment = []
            found.append(moment)
            if alike is not None:
                growing[alike] = moment
        moment.append(row)
    return sorted(_few_apart(found, likeness.few), key=lambda moment: moment[0].row.place)


def _family(kind: str) -> str:
    if kind in ROLES:
        return "roles"
    return "ISR changes" if kind in ISR_CHANGES else kind


def _few_apart(found: Iterable[Moment], few: int) -> Iterable[Moment]:
    for moment in found:
        if len(moment) <= few and moment[0].kind not in FAULTS:
            yield from ([row] for row in moment)
        else:
            yield moment


def speaker(moment: Moment) -> str:
    """The process of a moment, or the first of several and the number of others."""
    first, others = moment[0].process, len({row.process for row in moment}) - 1
    return f"{first} (+{others})" if others else first


def moment_words(moment: Moment, *, with_partitions: bool = True) -> str:
    """A moment in words, with the partitions that it is about if they are wanted."""
    first = moment[0]
    if len(moment) == 1 or first.kind in FAULTS:
        is_about_one = with_partitions and first.row.columns.get("partition", -1) >= 0
        return f"{first.partition}: {first.words}" if is_about_one else first.words
    words = _TOGETHER.get(_family(first.kind), _others)(moment)
    begin, end = time_text(first.time_us), time_text(moment[-1].time_us)
    until = "" if begin == end else f" (until {end})"
    named = _partitions(moment) if with_partitions else ""
    return f"{words}: {named}{until}" if named else f"{words}{until}"


def reasons(moment: Moment, run: Run) -> list[str]:
    """The reasons of a moment that was caused by missing messages, with their counts if several.

    Raises:
        TraceError: a trace file is damaged.
    """
    if moment[0].kind in FAULTS:
        return []
    counts = Counter(filter(None, (because(row, run) for row in moment)))
    named = [
        reason if count == 1 else f"{reason} ({counted(count, 'time')})"
        for reason, count in counts.most_common(NAMED)
    ]
    left = sum(counts.values()) - sum(count for _, count in counts.most_common(NAMED))
    return [*named, f"other reasons ({left})"] if left else named


def _partitions(moment: Moment) -> str:
    """The first partitions of a moment and the number of others; empty if it is about none."""
    about = (row for row in moment if row.row.columns.get("partition", -1) >= 0)
    every = list(dict.fromkeys(str(row.partition) for row in about))
    named = ", ".join(every[:NAMED])
    return f"{named} and {len(every) - NAMED} more" if len(every) > NAMED else named


def _roles(moment: Moment) -> str:
    led = [row for row in moment if row.kind == "became_leader"]
    newly = sum(row.is_new_leader for row in led)
    followed = len(moment) - len(led)
    roles = [f"{counted(len(led), 'partition')} led ({newly} of them newly)"] if led else []
    if followed:
        roles.append(
            f"{followed} followed" if led else f"{counted(followed, 'partition')} followed"
        )
    return ", ".join(roles)


def _isr_changes(moment: Moment) -> str:
    words = {
        "isr_update_sent": "asked for",
        "isr_shrunk": "ISRs shrunk",
        "isr_expanded": "ISRs expanded",
        "isr_update_failed": "refused",
    }
    counts = Counter(row.kind for row in moment)
    errors = {row.words_of("error") for row in moment if row.kind == "isr_update_failed"}
    refusals = f" ({', '.join(sorted(errors))})" if errors else ""
    changes = [f"{counts[kind]} {words[kind]}" for kind in ISR_CHANGES if counts[kind]]
    return f"ISR changes: {', '.join(changes)}{refusals}"


def _given_up(moment: Moment) -> str:
    records = counted(sum(row.records for row in moment), "record")
    does = "producers give up" if moment[0].kind == "batch_failed" else "producers cannot send"
    why = f" ({_counted(moment, _error)})" if moment[0].kind == "batch_failed" else ""
    return f"{does} {counted(len(moment), 'batch')}, {records} in all{why}"


def _error(row: TraceEvent) -> str:
    return row.words_of("error")


def _acknowledgements(moment: Moment) -> str:
    """Offsets that a leader acknowledged in one epoch, by the acks of their producers."""
    if len({(row.partition, row.leader_epoch) for row in moment}) > 1:
        return _others(moment)
    records: Counter[str] = Counter()
    for event in moment:
        records[str(event.acks)] += event.end_offset - event.first_offset
    first = min(event.first_offset for event in moment)
    last = max(event.end_offset for event in moment) - 1
    counts = ", ".join(f"{count:,} with acks={acks}" for acks, count in sorted(records.items()))
    return f"acknowledged of epoch {moment[0].leader_epoch}: {counts}; offsets {first} to {last}"


def _refusals(moment: Moment) -> str:
    def sort(row: TraceEvent) -> str:
        return f"{row.words_of('api_key')} {row.words_of('error')}"

    return f"refuses {counted(len(moment), 'request')} ({_counted(moment, sort)})"


def _elections(moment: Moment) -> str:
    def sort(row: TraceEvent) -> str:
        old, new = (row.words_of(column) for column in ("old_leader", "leader"))
        return new if row.old_leader is None else f"{new} before {old}"

    unclean = sum(row.unclean for row in moment)
    warning = f", {unclean} UNCLEAN" if unclean else ""
    return f"{counted(len(moment), 'leader')} elected{warning} ({_counted(moment, sort)})"


def _removals(moment: Moment) -> str:
    gone = _counted(moment, lambda row: row.words_of("replica"))
    loses = "loses" if len(moment) == 1 else "lose"
    return f"{counted(len(moment), 'ISR')} {loses} a dead replica ({gone})"


def _shortened(moment: Moment) -> str:
    removed = sum(row.old_end_offset - row.end_offset for row in moment)
    does = "truncates" if moment[0].kind == "truncated" else "loses the ends of"
    return f"{does} {counted(len(moment), 'log')}, {counted(removed, 'record')} in all"


def _others(moment: Moment) -> str:
    return f"{moment[0].words}; {len(moment) - 1} more like it"


def _counted(moment: Moment, sort: Callable[[TraceEvent], str]) -> str:
    """The number of rows of each sort, the most frequent first."""
    counts = Counter(map(sort, moment)).most_common()
    named = [f"{count} {what}" for what, count in counts[:NAMED]]
    left = sum(count for _, count in counts[NAMED:])
    return ", ".join([*named, f"{left} others"] if left else named)


#: The words for the rows of a family; other families have the first row and a count.
_TOGETHER: dict[str, Callable[[Moment], str]] = {
    "roles": _roles,
    "ISR changes": _isr_changes,
    "request_refused": _refusals,
    "acknowledged": _acknowledgements,
    **dict.fromkeys(("batch_failed", "send_failed"), _given_up),
    "leader_elected": _elections,
    "removed_from_isr": _removals,
    **dict.fromkeys(("truncated", "log_lost"), _shortened),
}
