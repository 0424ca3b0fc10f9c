"""The service for clients: throughput, latency and failures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidegauge.report.charts import BAD, GOOD, QUIET, WARNING, WORSE
from tidegauge.report.one_run import OneRun
from tidegauge.report.panels import Mark, Panel, Point, collected, measured, panel_charts
from tidegauge.report.quantities import duration_text
from tidegauge.report.section import Grid, Heading, Piece, Section, Words
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import time_text

#: The number of topics, producers and errors that are listed, the worst first.
_MOST_ROWS = 10

PANELS = (
    Panel(
        "Throughput",
        "records per second",
        (
            Mark("written", "written by leaders", QUIET, "line"),
            Mark("committed", "committed: acknowledged with acks=all, readable", GOOD, "line"),
        ),
    ),
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
        """
        select topic, sum(records_written) as written,
            sum(records_committed) as committed,
            sum(writes_refused) as writes_refused,
            sum(fetches_refused) as fetches_refused,
            sum(records_failed) as failed,
            sum(batches_failed) as batches_failed,
            sum(batches_duplicated) as duplicated
        from clients group by topic
        order by failed desc, writes_refused desc, fetches_refused desc, topic
        """
    )
    if not topics:
        return Section(
            "clients",
            "What clients saw",
            "This section has the throughput, latency and errors of clients.",
            [
                Words(
                    "Logs have no requests of clients."
                    if run.is_of_logs
                    else "No client wrote or read in this run."
                )
            ],
        )
    groups = run.tables.rows(
        "select * from client_groups"
        " order by records_unsent desc, stalled_us desc, records_failed desc, client_group"
    )
    found = collected(run, _queries(run))
    for name in ("written", "committed"):
        found[name] = _without_gaps(found.get(name, []), _throughput_us(run), run.duration_us)
    return Section(
        "clients",
        "What clients saw",
        "Throughput is that of samples of the brokers. A producer retries a refused write until "
        "delivery.timeout.ms is over, then it gives the batch up.",
        [
            _in_short(run, topics, groups),
            *panel_charts(run, PANELS, found),
            *_groups(groups),
            *_latencies(run),
            _topics(topics),
            *_more(len(topics), "topic"),
            *_refusals(run),
        ],
        [
            run.command("analyze", "RUN", "--table", "client_groups"),
            run.command("analyze", "RUN", "--table", "clients"),
            run.command("analyze", "RUN", "--table", "refusals"),
        ],
    )


def _queries(run: OneRun) -> Iterator[str]:
    yield measured(
        "clients",
        _throughput_us(run),
        {
            name: f"sum(records_{name}) / {_throughput_us(run) / 1e6}"
            for name in ("written", "committed")
        },
    )
    yield measured(
        "clients",
        run.bar_us,
        {name: f"sum({name})" for name in ("writes_refused", "fetches_refused", "records_failed")},
    )


def _throughput_us(run: OneRun) -> int:
    """Buckets of throughput: whole seconds with a sample in each."""
    return max(run.sample_us, run.bar_us, 1_000_000)


def _without_gaps(points: Sequence[Point], bucket_us: int, end_us: int) -> list[Point]:
    """With a 0 where nothing was written: a line would hide it."""
    values = {point.at_us: point.value for point in points}
    return [Point(at_us, values.get(at_us, 0.0)) for at_us in range(0, end_us, bucket_us)]


def _in_short(
    run: OneRun, topics: Sequence[Mapping[str, Any]], groups: Sequence[Mapping[str, Any]]
) -> Words:
    refused = sum(each["writes_refused"] for each in topics)
    failed = sum(each["failed"] for each in topics)
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


def _groups(groups: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
    """The records of each group of producers by outcome: offered is the sum of the others."""
    producers = [each for each in groups if each["records_offered"]]
    columns = ("offered", "acknowledged", "failed", "unsent", "in_flight")
    titles = ("Offered", "Acknowledged", "Given up", "Unsent", "In flight at the end")
    if producers:
        yield Grid(
            "Records of producers, by group",
            [
                Heading("Producer"),
                *(Heading(title, is_number=True) for title in titles),
                Heading("send() blocked", "for buffer.memory, of all its clients", True),
                Heading("Longest stall", "of one partition, without a break", True),
            ],
            [
                (
                    each["client_group"],
                    *(f"{each[f'records_{name}']:,}" for name in columns),
                    duration_text(each["blocked_us"]) if each["blocked_us"] else "never",
                    duration_text(each["longest_stall_us"]) if each["longest_stall_us"] else "none",
                )
                for each in producers[:_MOST_ROWS]
            ],
        )
        yield from _more(len(producers), "producer")


def _produce_ms(run: OneRun) -> Mapping[str, Mapping[str, float]]:
    return {} if run.summary is None else run.summary.get("produce_ms", {})


def _latencies(run: OneRun) -> Iterator[Piece]:
    """The latencies of producers, those with the longest waits first."""
    waited = sorted(_produce_ms(run).items(), key=lambda each: -each[1]["max"])
    if waited:
        yield Grid(
            "Time until a batch had an outcome, by producer",
            [
                Heading("Producer"),
                *(
                    Heading(title, "until a batch had an outcome, retries included", True)
                    for title in ("Median", "P99", "Longest")
                ),
            ],
            [
                (name, *(_waited(each[figure]) for figure in ("p50", "p99", "max")))
                for name, each in waited[:_MOST_ROWS]
            ],
        )
        yield from _more(len(waited), "producer")


def _waited(ms: float) -> str:
    return duration_text(ms * 1000) if ms else "none offered"


def _topics(topics: Sequence[Mapping[str, Any]]) -> Grid:
    columns = {
        "failed": "Records given up",
        "writes_refused": "Writes refused",
        "fetches_refused": "Fetches refused",
        "duplicated": "Batches written twice",
        "written": "Records written",
        "committed": "Records committed",
    }
    return Grid(
        "Clients' successes and errors, by topic",
        [Heading("Topic"), *(Heading(title, is_number=True) for title in columns.values())],
        [(each["topic"], *(f"{each[n]:,}" for n in columns)) for each in topics[:_MOST_ROWS]],
    )


def _refusals(run: OneRun) -> Iterator[Piece]:
    errors = run.tables.rows("select * from refusals order by requests desc, topic, request, error")
    if errors:
        yield Grid(
            "Errors of requests, the most frequent first",
            [
                Heading("Error"),
                Heading("Request"),
                Heading("Topic"),
                Heading("Requests", is_number=True),
                Heading("Partitions", is_number=True),
                Heading("First", is_number=True),
                Heading("Last", is_number=True),
            ],
            [
                (
                    each["error"],
                    each["request"],
                    each["topic"],
                    f"{each['requests']:,}",
                    f"{each['partitions']:,}",
                    time_text(each["first_us"]),
                    time_text(each["last_us"]),
                )
                for each in errors[:_MOST_ROWS]
            ],
        )
        yield from _more(len(errors), "error")


def _more(rows: int, what: str) -> Iterator[Piece]:
    if rows > _MOST_ROWS:
        yield Words(f"The first {_MOST_ROWS} of {counted(rows, what)}: the worst.", "note")
