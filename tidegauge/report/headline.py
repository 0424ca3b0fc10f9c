"""A run in short: its verdict, its losses, stalls and moves of replicas, and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tidegauge.analysis.tables.dialect import united
from tidegauge.analysis.tables.unavailable import REFUSING
from tidegauge.report.quantities import duration_text, number_text
from tidegauge.report.section import Piece, Section, Tile, Tiles, Words
from tidegauge.scenario.text.errors import counted

if TYPE_CHECKING:
    from tidegauge.analysis.making.run_tables import RunTables
    from tidegauge.report.one_run import OneRun


class StalledPartitions(NamedTuple):
    """The partitions that producers write to, and those of them that were stalled."""

    written: int
    stalled: int
    #: The longest stall without a break of each partition: of these the shortest and the longest.
    shortest_us: int
    longest_us: int
    #: The partition of the longest one; None: there was no stall.
    longest: str | None
    #: All stalls of all partitions.
    partition_seconds: float

    @property
    def text(self) -> str:
        """It in words, such as ``60 of 60 partitions stalled for producers, for 35 to 65 s``."""
        of_all = counted(self.written, "partition")
        if not self.stalled:
            return f"0 of {of_all} stalled for producers"
        lasted = span_text(self.shortest_us, self.longest_us)
        return f"{self.stalled:,} of {of_all} stalled for producers, for {lasted}"


def span_text(least_us: int, most_us: int) -> str:
    """Two durations as one span, with the unit once: ``35.0 to 64.9 s``."""
    least, most = duration_text(least_us), duration_text(most_us)
    if least == most:
        return most
    value, unit = least.split(" ", 1)
    return f"{value if most.endswith(f' {unit}') else least} to {most}"


def stalled_partitions(tables: RunTables) -> StalledPartitions | None:
    """The account of a run; None: no producer writes, or its logs have no producers.

    Raises:
        KeyError, RunError, ScenarioError, OSError: as :meth:`RunTables.make`.
    """
    (found,) = tables.rows(
        """
        select count(*) filter (where is_written) as written,
            count(*) filter (where stalled_us > 0) as stalled,
            coalesce(min(longest_stall_us) filter (where stalled_us > 0), 0) as shortest_us,
            coalesce(max(longest_stall_us), 0) as longest_us,
            max_by(topic_partition, row(longest_stall_us, -partition, run))
                filter (where stalled_us > 0) as longest,
            coalesce(sum(stalled_us), 0) / 1e6 as partition_seconds
        from partition_figures
        """
    )
    return StalledPartitions(**found) if found["written"] else None


_MEGABYTE = 1_000_000


def reassignment_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """A line for each step that moved replicas, and one for the bytes; none if no step does."""
    moved = {name: each for name, each in _moves(summary).items() if each["partitions"]}
    for name, each in moved.items():
        text = f"step {_step_place(name) + 1} moved {counted(each['partitions'], 'partition')}"
        if each["unfinished"]:
            text += f", of which {each['unfinished']:,} are not finished as the run ends,"
        if each["replaced"]:
            text += f", of which a later step replaced {each['replaced']:,},"
        yield f"{text} in {duration_text(each['seconds'] * 1e6)}"
    if moved and summary.get("reassignment_bytes"):
        yield f"new replicas fetched {summary['reassignment_bytes'] / _MEGABYTE:,.1f} MB"


def moving_us(summary: Mapping[str, Any]) -> dict[int, int]:
    """The time for which each step moved replicas, by its place in the scenario."""
    return {
        _step_place(name): round(each["seconds"] * 1e6) for name, each in _moves(summary).items()
    }


def _step_place(name: str) -> int:
    """The place of a step, by its name in ``--set``."""
    return int(name.removeprefix("steps."))


def _moves(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """The figures of steps, by their names; a run that another program wrote can have none."""
    moves: Mapping[str, Any] = summary.get("reassignments", {})
    return moves


# ruff: noqa: S608 - queries are put together from texts of these rooms


#: The reasons that permit a loss, by their names in the table of lost records.
_EXPLAINED = {
    "unclean election": "a leader was elected from outside the ISR",
    "election of the last known leader": "the last known leader was elected after the whole ISR "
    "had lost its place (KIP-966)",
    "loss of power": "power was lost before they were on disk (log.flush.interval.messages)",
}

#: Shorter times are not marked as a problem.
_A_SECOND = 1


class WithoutWrites(NamedTuple):
    """The partitions that refused acks=all writes for a time."""

    #: Those that took them before or after.
    partitions: int
    #: ... and refused them for more than a second: not just as leaders changed.
    for_long: int
    longest_us: int
    #: The partition that refused them for longest without a break.
    longest: str
    #: Those that never took any, as their topic asks for more replicas than it has.
    always: int

    @property
    def is_bad(self) -> bool:
        """Whether some partition refused them for long."""
        return bool(self.for_long or self.always)


def section(run: OneRun) -> Section:
    """The verdict, and figures as tiles."""
    figures = run.figures
    lost = run.tables.rows(
        "select acks, permitted_by, sum(records) as records"
        " from lost group by acks, permitted_by order by records desc, acks, permitted_by"
    )
    idle = without_writes(run)
    stalled = stalled_partitions(run.tables)
    pieces: list[Piece] = [_verdict(run, stalled, idle, figures["records_acknowledged_lost"])]
    if stalled is not None:
        pieces.append(Words(f"{_capital(_refused(run, idle))}.", "bad" if idle.is_bad else ""))
    if run.summary is None:
        pieces.append(
            Words("The run is not complete: this report covers it up to its last row.", "note")
        )
    if run.is_of_logs:
        pieces.append(Words("Logs have no records: none is counted as lost.", "note"))
    else:
        pieces.append(_losses(figures, lost))
    if figures["records_acknowledged_unavailable"]:
        unavailable = counted(figures["records_acknowledged_unavailable"], "acknowledged record")
        pieces.append(
            Words(
                f"{unavailable} cannot be read: their partitions have no leader in the end.", "bad"
            )
        )
    if run.summary is not None and not run.is_of_logs:
        moved = "; ".join(reassignment_lines(run.summary))
        pieces += [Words(f"Reassignment: {moved}.")] if moved else []
    pieces += _checks(run)
    pieces.append(Tiles(_tiles(figures, stalled, idle)))
    if figures["figures_from_seconds"]:
        since = duration_text(figures["figures_from_seconds"] * 1e6)
        pieces.append(
            Words(f"Figures begin {since} after the start: start-up does not count.", "note")
        )
    commands = [run.command("show", "partitions", "RUN")]
    decided = run.manifest.get("left_to_chance")
    if decided:
        pieces.append(
            Words(f"This is one seed, and chance has decided: {'; '.join(decided)}.", "note")
        )
        commands += [each for each in [run.manifest["over_seeds"]] if each]
    return Section("result", "In short", what_was_run(run), pieces, commands)


def what_was_run(run: OneRun) -> str:
    """The scenario, and the cluster."""
    scenario = run.scenario
    racks = len(scenario["cluster"].get("racks") or ())
    in_racks = f" in {counted(racks, 'rack')}" if racks > 1 else ""
    return (
        f"Scenario {scenario['name']}: {counted(len(run.manifest['brokers']), 'broker')} of Kafka "
        f"{scenario['release']}{in_racks}, {counted(len(run.manifest['partitions']), 'partition')}"
        f", {_how_it_was_run(run)}"
    )


def _how_it_was_run(run: OneRun) -> str:
    length = duration_text(run.duration_us)
    if run.is_of_logs:
        first = run.manifest["logs"]["first_line"]
        return f"{length} from {first} on. This is a real cluster, as its logs tell of it."
    return (
        f"{length} of virtual time, seed {run.manifest['seed']}. This is a simulation, not a real "
        "cluster."
    )


def without_writes(run: OneRun) -> WithoutWrites:
    """The partitions without a leader that accepts writes, or under min ISR.

    A partition whose conditions follow each other without a break could take none all that time.
    """
    refused = united(
        f"(select * from unavailable where condition in {REFUSING})",
        ("partition", "topic_partition"),
    )
    (found,) = run.tables.rows(
        f"""
        with spans as (
            select partition, topic_partition, begin_us / 1e6 <= figures_from_seconds
                and end_us / 1e6 >= virtual_seconds as always, end_us - begin_us as lasted_us
            from ({refused}) as refused cross join run_figures
        )
        select count(distinct partition) filter (where not always) as partitions,
            count(distinct partition) filter (where not always and lasted_us > 1000000) as for_long,
            coalesce(max(lasted_us) filter (where not always), 0) as longest_us,
            max_by(topic_partition, row(lasted_us, -partition, topic_partition))
                filter (where not always) as longest,
            count(distinct partition) filter (where always) as always
        from spans
        """
    )
    return WithoutWrites(**found)


def _verdict(
    run: OneRun, stalled: StalledPartitions | None, idle: WithoutWrites, records_lost: int | None
) -> Words:
    """The result in one sentence: ``60 of 60 partitions stalled for producers, for ...``.

    Without a producer that counts its stalls, the brokers' refusals count.
    """
    outage = _refused(run, idle) if stalled is None else stalled.text
    losses = (
        f"{counted(records_lost, 'acknowledged record')} lost"
        if records_lost
        else "no acknowledged record lost"
    )
    if records_lost is None:
        losses = "lost records are unknown"
    is_bad = records_lost or (idle.is_bad if stalled is None else stalled.stalled)
    return Words(f"{_capital(outage)}; {losses}.", "verdict bad" if is_bad else "verdict good")


def _refused(run: OneRun, idle: WithoutWrites) -> str:
    """The refusals of writes by brokers: ``2 of 80 partitions refused acks=all writes ...``."""
    partitions = len(run.manifest["partitions"])
    all_of_them = counted(partitions, "partition")
    parts = []
    longest = duration_text(idle.longest_us)
    if idle.for_long:
        parts.append(
            f"{idle.for_long:,} of {all_of_them} refused acks=all writes for more than a second, "
            f"for up to {longest}"
        )
    elif idle.partitions:
        parts.append(
            f"{idle.partitions:,} of {all_of_them} refused acks=all writes for up to {longest}, "
            "as leaders changed"
        )
    elif not idle.always:
        parts.append(f"no partition of {partitions:,} refused acks=all writes at any time")
    if idle.always:
        more = "more " if parts else ""
        of = "" if parts else f" of {all_of_them}"
        parts.append(f"{idle.always:,}{of} {more}refused them all the time")
    return "; ".join(parts)


def _capital(sentence: str) -> str:
    return f"{sentence[0].upper()}{sentence[1:]}"


def _losses(figures: Mapping[str, Any], lost: Sequence[Mapping[str, Any]]) -> Words:
    records = figures["records_acknowledged_lost"]
    acknowledged = f"{counted(figures['records_acknowledged'], 'record')} acknowledged"
    if not records:
        return Words(f"No acknowledged record was lost: {acknowledged}.")
    text = f"{counted(records, 'acknowledged record')} lost, of {acknowledged}"
    if len(lost) == 1:
        return Words(f"{text}: all of them {_because(lost[0])}.")
    parts = "; ".join(f"{each['records']:,} {_because(each)}" for each in lost)
    return Words(f"{text}: {parts}.")


def _because(lost: Mapping[str, Any]) -> str:
    """The lost records, and the reasons for the loss."""
    if lost["acks"] != -1:
        return f"with acks={lost['acks']}, which are acknowledged before a follower has them"
    permitted_by = lost["permitted_by"]
    why = _EXPLAINED.get(permitted_by, "and no setting permits that: a promise of Kafka was broken")
    return f"with acks=all, since {why}" if permitted_by else f"with acks=all, {why}"


def _checks(run: OneRun) -> list[Piece]:
    checks = {} if run.summary is None else run.summary["checks"]
    unexpected = [name for name, each in checks.items() if not each["as_expected"]]
    if not unexpected:
        return []
    return [Words(f"Not as the scenario expects: {', '.join(unexpected)}.", "bad")]


def _tiles(
    figures: Mapping[str, Any], stalled: StalledPartitions | None, idle: WithoutWrites
) -> list[Tile]:
    def seconds(condition: str, of: str) -> Tile:
        value = figures[f"partition_seconds_{condition}"]
        return Tile(number_text(value), f"partition-seconds {of}", is_bad=value >= _A_SECOND)

    unclean = figures["unclean_elections"]
    tiles = []
    if stalled is not None:
        tiles.append(seconds("stalled", "stalled for producers: batches waited for over 1 s"))
        if stalled.stalled:
            text = f"the longest that a partition was stalled for producers: {stalled.longest}"
            tiles.append(Tile(duration_text(stalled.longest_us), text, is_bad=True))
        unsent = figures["records_unsent"]
        text = f"records unsent, of {figures['records_offered']:,} offered"
        tiles.append(Tile(f"{unsent:,}", text, is_bad=unsent > 0))
    if idle.partitions:
        text = f"the longest that a partition refused acks=all writes: {idle.longest}"
        is_bad = idle.longest_us >= _A_SECOND * 1e6
        tiles.append(Tile(duration_text(idle.longest_us), text, is_bad=is_bad))
    return [
        *tiles,
        seconds("not_accepting", "without a broker that accepts writes as leader"),
        seconds("offline", "offline: without a leader in the control plane"),
        seconds("under_min_isr", "under min ISR: acks=all is refused"),
        Tile(f"{figures['isr_shrinks']:,}", "ISRs shrunk by leaders"),
        Tile(f"{figures['isr_removals']:,}", "replicas removed from ISRs by the controller"),
        Tile(f"{figures['leader_elections']:,}", "leaders elected"),
        Tile(f"{unclean:,}", "leaders elected uncleanly", is_bad=unclean > 0),
    ]
