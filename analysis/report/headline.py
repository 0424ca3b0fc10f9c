"""The run and its result, in a few plain sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.analysis.report.collected import Answers
from tidegauge.analysis.report.one_run import OneRun
from tidegauge.analysis.report.quantities import duration_text, number_text
from tidegauge.analysis.report.section import Piece, Section, Tile, Tiles, Words
from tidegauge.scenario.text.counted import counted

#: The reasons that permit a loss, by their names in the table of lost records.
_EXPLAINED = {
    "unclean election": "a leader was elected from outside the ISR "
    "(unclean.leader.election.enable)",
    "loss of power": "power was lost before they were on disk (log.flush.interval.messages)",
}

#: Shorter times are ignored: at the start of a cluster, its first leaders take some milliseconds.
_A_SECOND = 1


def asks(run: OneRun) -> dict[str, DataFrame]:
    """Figures, losses with their causes, and the longest time without a leader."""
    tables = run.tables
    refused = tables["unavailable"].where("condition in ('offline', 'not_accepting')")
    lost = tables["lost"].groupBy("acks", "permitted_by")
    return {
        "figures": tables["run_figures"],
        "lost": lost.agg(f.sum("records").alias("records")).orderBy(f.desc("records")),
        "longest": refused.groupBy("topic_partition", "condition")
        .agg(f.max("lasted_us").alias("lasted_us"))
        .orderBy(f.desc("lasted_us"))
        .limit(1),
    }


def tells(run: OneRun, answers: Answers) -> Section:
    """The verdict, and figures as tiles."""
    (figures,) = answers["figures"].to_pylist()
    pieces: list[Piece] = []
    if run.summary is None:
        pieces.append(
            Words("The run is not complete: this report covers it up to its last row.", "note")
        )
    pieces.append(_verdict(figures, answers["lost"].to_pylist()))
    if figures["records_acknowledged_unavailable"]:
        unavailable = counted(figures["records_acknowledged_unavailable"], "acknowledged record")
        pieces.append(
            Words(
                f"{unavailable} cannot be read: their partitions have no leader in the end.", "bad"
            )
        )
    pieces += _checks(run)
    pieces.append(Tiles(_tiles(figures, answers["longest"].to_pylist())))
    return Section("result", "In short", what_was_run(run), pieces, [run.command("show", "RUN")])


def what_was_run(run: OneRun) -> str:
    """The scenario, and the cluster."""
    scenario = run.scenario
    racks = len(scenario["cluster"].get("racks") or ())
    in_racks = f" in {counted(racks, 'rack')}" if racks > 1 else ""
    return (
        f"Scenario {scenario['name']}: {counted(len(run.manifest['brokers']), 'broker')} of Kafka "
        f"{scenario['release']}{in_racks}, {counted(len(run.manifest['partitions']), 'partition')}"
        f", {duration_text(run.duration_us)} of virtual time, seed {run.manifest['seed']}. This "
        "is a simulation, not a real cluster."
    )


def _verdict(figures: Mapping[str, Any], lost: Sequence[Mapping[str, Any]]) -> Words:
    records = figures["records_acknowledged_lost"]
    acknowledged = f"{counted(figures['records_acknowledged'], 'record')} acknowledged"
    if not records:
        return Words(f"No acknowledged record was lost: {acknowledged}.", "good")
    text = f"{counted(records, 'acknowledged record')} lost, of {acknowledged}"
    if len(lost) == 1:
        return Words(f"{text}: all of them {_because(lost[0])}.", "bad")
    parts = "; ".join(f"{each['records']:,} {_because(each)}" for each in lost)
    return Words(f"{text}: {parts}.", "bad")


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


def _tiles(figures: Mapping[str, Any], longest: Sequence[Mapping[str, Any]]) -> list[Tile]:
    def seconds(condition: str, of: str) -> Tile:
        value = figures[f"partition_seconds_{condition}"]
        return Tile(number_text(value), f"partition-seconds {of}", is_bad=value >= _A_SECOND)

    unclean = figures["unclean_elections"]
    tiles = [
        seconds("offline", "offline"),
        seconds("not_accepting", "without a leader that accepts writes"),
        seconds("under_min_isr", "under min ISR"),
        Tile(f"{figures['isr_shrinks']:,}", "ISRs shrunk by leaders"),
        Tile(f"{figures['isr_removals']:,}", "... replicas removed by the controller"),
        Tile(f"{figures['leader_elections']:,}", "leaders elected"),
        Tile(f"{unclean:,}", "... uncleanly", is_bad=unclean > 0),
    ]
    for each in longest:
        text = f"the longest that a partition had no leader: {each['topic_partition']}"
        lasted_us = each["lasted_us"]
        tiles.append(Tile(duration_text(lasted_us), text, is_bad=lasted_us >= _A_SECOND * 1e6))
    return tiles
