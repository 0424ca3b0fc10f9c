"""The service for clients: offered and acknowledged records, stalls, latencies and errors."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidegauge.analysis.tables.clients import CLIENTS, REFUSALS
from tidegauge.report.answers import grid
from tidegauge.report.charts import BAD, GOOD, QUIET, WARNING, WORSE
from tidegauge.report.one_run import OneRun
from tidegauge.report.panels import (
    Mark,
    Panel,
    Point,
    Series,
    collected,
    folded_panels,
    levels,
    measured,
    panel_chart,
)
from tidegauge.report.quantities import duration_text
from tidegauge.report.section import Commands, Folded, Grid, Heading, Piece, Section, Words
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.scenario.text.errors import counted

# ruff: noqa: S608 - queries are put together from texts of these rooms

#: Counts of each topic, after its name.
_OF_TOPICS = CLIENTS.columns[2:]
#: The number of topics, producers and errors that are listed, the worst first.
_MOST_ROWS = 10

_SERVICE = Panel(
    "Records of producers",
    "records per second",
    (
        Mark("offered", "offered: due by the rates of the producers", QUIET, "area"),
        Mark("acknowledged", "acknowledged by leaders", GOOD, "rate"),
    ),
    scaled_by="offered",
)

_STALLED = Panel(
    "Stalled partitions",
    "partitions",
    (
        Mark("stalled", "for producers: a batch has waited for over 1 s", BAD, "level"),
        Mark("reads_stalled", "for consumers: a fetch has", WARNING, "level"),
    ),
)

#: Those of a picture of the run.
PICTURED = (_SERVICE, _STALLED)
PANELS = (
    _STALLED,
    Panel(
        "Requests with an error",
        "requests",
        (
            Mark("writes_refused", "writes refused", WARNING, "bar"),
            Mark("fetches_refused", "fetches of consumers refused", WORSE, "bar"),
        ),
    ),
    Panel(
        "Given up by producers",
        "records",
        (
            Mark(
                "records_failed",
                "records whose time or retries were over, or without memory",
                BAD,
                "bar",
            ),
        ),
    ),
)


def section(run: OneRun) -> Section:
    """The section."""
    topics = run.tables.rows(
        f"""
        select topic, {", ".join(f"sum({each.name}) as {each.name}" for each in _OF_TOPICS[1:])}
        from clients group by topic
        order by records_failed desc, writes_refused desc, fetches_refused desc, topic
        """
    )
    pieces = [Words("No client wrote or read in this run.")]
    if run.is_of_logs:
        pieces = [Words("Logs have no requests of clients.")]
    return Section("clients", "What clients saw", [*_service(run, topics)] if topics else pieces)


def _service(run: OneRun, topics: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
    groups = run.tables.rows(
        "select * from client_groups"
        " order by records_unsent desc, stalled_us desc, records_failed desc, client_group"
    )
    found = series(run)
    yield _in_short(run, topics, groups)
    chart = panel_chart(run, _SERVICE, found)
    if chart is not None:
        yield chart
    yield Words(
        "Shaded: a fault is active. A producer retries a refused write until delivery.timeout.ms "
        "is over, then it gives the batch up.",
        "note",
    )
    yield from _groups(run, groups)
    yield from folded_panels(run, PANELS, found)
    yield from _topics(topics)
    yield from _refusals(run)
    tables = ("client_groups", "clients", "refusals")
    yield Commands([run.command("analyze", "RUN", "--table", name) for name in tables])


def series(run: OneRun) -> Series:
    """The series of its panels."""
    found = collected(run, _queries(run))
    return found | _by_bucket(run, found.get("acknowledged", []))


def _queries(run: OneRun) -> Iterator[str]:
    yield levels(
        "select condition as series, begin_us, end_us from unavailable"
        " where condition in ('stalled', 'reads_stalled')",
        run.bucket_us,
        run.duration_us,
    )
    yield measured(
        # Members of consumer groups commit their offsets besides.
        "(select begin_us as time_us, records from acknowledgements"
        " where partition in (select partition from partition_figures where is_written))",
        _throughput_us(run),
        {"acknowledged": "sum(records)"},
    )
    yield measured(
        "clients",
        run.bar_us,
        {name: f"sum({name})" for name in ("writes_refused", "fetches_refused", "records_failed")},
    )


def _throughput_us(run: OneRun) -> int:
    """Buckets of throughput: whole spans of acknowledgements, which are as long as samples."""
    span_us = max(run.sample_us, 1_000_000)
    return -(-run.bar_us // span_us) * span_us


def _by_bucket(run: OneRun, acknowledged: Sequence[Point]) -> dict[str, list[Point]]:
    """Records offered and acknowledged per second, with a 0 where there were none."""
    bucket_us, end_us = _throughput_us(run), run.duration_us
    producers = scenario_from_mapping(run.scenario, run.run.name).workload.producers
    records = {point.at_us: point.value for point in acknowledged}
    found: dict[str, list[Point]] = {"offered": [], "acknowledged": []}
    for at_us in range(0, end_us, bucket_us):
        until_us = min(at_us + bucket_us, end_us)
        seconds = (until_us - at_us) / 1e6
        offered = 0.0
        for each in producers:
            stop_us = end_us if each.stop_us is None else each.stop_us
            active_us = min(until_us, stop_us) - max(at_us, each.start_us)
            offered += max(0, active_us) / 1e6 * each.batches_per_second * each.records_per_batch
        found["offered"].append(Point(at_us, offered / seconds))
        found["acknowledged"].append(Point(at_us, records.get(at_us, 0.0) / seconds))
    for series in found.values():
        series.append(Point(end_us, series[-1].value))
    return found


def _in_short(
    run: OneRun, topics: Sequence[Mapping[str, Any]], groups: Sequence[Mapping[str, Any]]
) -> Words:
    refused = sum(each["writes_refused"] for each in topics)
    failed = sum(each["records_failed"] for each in topics)
    batches = sum(each["batches_failed"] for each in topics)
    unsent = sum(each["records_unsent"] or 0 for each in groups)
    parts = [
        f"{counted(refused, 'write')} refused" if refused else "no write refused",
        f"{counted(failed, 'record')} given up in {counted(batches, 'batch')}"
        if failed
        else "no record given up",
        f"{counted(unsent, 'record')} unsent" if unsent else "no record unsent",
    ]
    slowest_ms = max((each["max"] for each in _produce_ms(run).values()), default=0)
    if slowest_ms:
        parts.append(f"the slowest batch waited for {duration_text(slowest_ms * 1000)}")
    text = "; ".join(parts)
    return Words(f"{text[0].upper()}{text[1:]}.", "bad" if failed or unsent else "")


def _groups(run: OneRun, groups: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
    """The records of each group of producers by outcome, and how long its batches took."""
    producers = [each for each in groups if each["records_offered"]]
    outcomes = {
        "offered": "Offered",
        "acknowledged": "Acknowledged",
        "failed": "Given up",
        "unsent": "Unsent",
        "in_flight": "In flight at the end",
    }
    waits = {"p50": "Median wait", "p99": "P99", "max": "Longest wait"}
    meaning = "until a batch had an outcome, retries included"
    produce_ms = _produce_ms(run)
    if producers:
        yield Grid(
            "Records of producers, by group, and the time until batches had an outcome",
            [
                Heading("Producer"),
                *(Heading(title, is_number=True) for title in outcomes.values()),
                *(Heading(title, meaning, is_number=True) for title in waits.values()),
                Heading("send() blocked", "for buffer.memory, of all its clients", True),
                Heading("Longest stall", "of one partition, without a break", True),
            ],
            [
                (
                    each["client_group"],
                    *(f"{each[f'records_{name}']:,}" for name in outcomes),
                    *(_waited(produce_ms.get(each["client_group"], {}), name) for name in waits),
                    duration_text(each["blocked_us"]) if each["blocked_us"] else "never",
                    duration_text(each["longest_stall_us"]) if each["longest_stall_us"] else "none",
                )
                for each in producers[:_MOST_ROWS]
            ],
        )
        yield from _more(producers)


def _produce_ms(run: OneRun) -> Mapping[str, Mapping[str, float]]:
    return {} if run.summary is None else run.summary.get("produce_ms", {})


def _waited(figures: Mapping[str, float], name: str) -> str:
    """A figure of the times of batches; of a run that has not ended there is none."""
    return duration_text(figures[name] * 1000) if figures.get(name) else "-"


def _topics(topics: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
    worst = topics[0]
    answer = (
        f"{counted(len(topics), 'topic')}; {worst['topic']} had {worst['writes_refused']:,} writes "
        f"and {worst['fetches_refused']:,} fetches refused, {worst['records_failed']:,} records "
        "given up."
    )
    table = grid("Successes and errors by topic", _OF_TOPICS, topics[:_MOST_ROWS])
    yield Folded("Topic by topic:", answer, [table, *_more(topics)])


def _refusals(run: OneRun) -> Iterator[Piece]:
    errors = run.tables.rows("select * from refusals order by requests desc, topic, request, error")
    if errors:
        first = errors[0]
        answer = (
            f"{first['error']}, {counted(first['requests'], 'request')} ({first['request']}) about "
            f"{first['topic']}."
        )
        table = grid("Errors of requests", REFUSALS.columns[1:], errors[:_MOST_ROWS])
        yield Folded("The most frequent error:", answer, [table, *_more(errors)])


def _more(rows: Sequence[object]) -> Iterator[Piece]:
    if len(rows) > _MOST_ROWS:
        yield Words(f"The worst {_MOST_ROWS} of {len(rows):,}.", "note")
