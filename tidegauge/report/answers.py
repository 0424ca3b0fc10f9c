"""The answers to questions, each folded behind one line: a table, and a picture where it helps.

:data:`ANSWERS` has the lines and the pictures: the parts of each failover, and the conditions of
topics over time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tidegauge.analysis.questions.all_questions import QUESTIONS
from tidegauge.analysis.questions.question import Question, QuestionError, worth_showing
from tidegauge.analysis.tables.result_table import Column
from tidegauge.replication.release_versions import ZOOKEEPER_MODE
from tidegauge.report import charts
from tidegauge.report.charts import Axis, Chart, Key, Span, Spans
from tidegauge.report.one_run import OneRun
from tidegauge.report.quantities import column_title, duration_text, plain_words, value_text
from tidegauge.report.section import Commands, Folded, Glossary, Grid, Heading, Piece, Words
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import short_time_text

#: The parts of the time, in their order: column, and name.
_STEPS = {
    "detection_us": "until the controller is notified",
    "no_replica_us": "no replica may lead",
    "notice_us": "until its event is in the queue",
    "queue_us": "until it is taken from the queue",
    "election_us": "until the new leader is written",
    "takeover_us": "until it has taken over",
    "first_use_us": "until it is used",
}
#: The number of bars that are drawn, those of the longest failovers.
_MOST = 12

#: Explanation of the chart.
_OF_FAILOVERS = (
    "A bar is one failover: the slowest of its partitions, from the fault until the first use "
    "of the new leader. Detection is mostly the expiry of a session. No replica may lead while "
    "no member of the ISR, and no eligible leader replica, is alive."
)


def failover_bars(found: Sequence[Mapping[str, Any]]) -> Chart:
    """A lane for each failover, the longest on top, and in it a bar for each part."""
    title = "From the fault to the first use of the new leader"
    if len(found) > _MOST:
        title = f"{title}: the longest {_MOST} of {len(found):,} failovers"
    found = sorted(found, key=_whole_us, reverse=True)[:_MOST]
    spans: dict[str, list[Span]] = {step: [] for step in _STEPS}
    for lane, each in enumerate(found):
        begin_us = 0
        for step, text in _STEPS.items():
            lasted_us = each[step] or 0
            says = f"{text}: {duration_text(lasted_us)}"
            begin, end = begin_us / 1e6, (begin_us + lasted_us) / 1e6
            if lasted_us:
                spans[step].append(Span(lane, begin, end, says))
            begin_us += lasted_us
    coloured = [*zip(_STEPS, charts.COLOURS, strict=False)]
    return Chart(
        title,
        charts.time_axis(_whole_us(found[0])),
        [Spans(spans[step], colour) for step, colour in coloured if spans[step]],
        [Key(_STEPS[step], colour) for step, colour in coloured if spans[step]],
        lanes=[_name(each) for each in found],
    )


def _whole_us(each: Mapping[str, Any]) -> int:
    return sum(each[step] or 0 for step in _STEPS)


def _name(each: Mapping[str, Any]) -> str:
    what = each["fault_name"] or each["event"]
    at = short_time_text(each["begin_us"])
    return f"{at} {what}, {counted(each['partitions'], 'partition')}"


#: At min ISR is not drawn: nothing is refused then.
_CONDITIONS = {
    "stalled": ("stalled for producers", charts.GOOD),
    "reads_stalled": ("stalled for consumers", charts.SKY),
    "offline": ("offline", charts.BAD),
    "not_accepting": ("not accepting", charts.WORSE),
    "under_min_isr": ("under min ISR", charts.WARNING),
}
#: The number of topics that are drawn, the worst affected ones.
_TOPICS = 15
#: Explanation of the chart.
_OF_TOPICS = (
    "Partition-seconds: one partition for one second. Stalled: a batch of a producer, or a fetch "
    "of a consumer, has waited for over a second. Offline: the control plane names no leader, "
    "or one whose session is over. Not accepting: no broker actually leads. "
    "Under min ISR: acks=all is refused. At min ISR: it would be refused with one "
    "replica less."
)


def unavailable_topics(found: Sequence[Mapping[str, Any]]) -> Chart | None:
    """Bars for each topic, side by side; None if nothing was stalled or refused."""
    found = [each for each in found if each["condition"] in _CONDITIONS]
    every = list(dict.fromkeys(each["topic"] for each in found))
    if not every:
        return None
    topics = every[:_TOPICS]
    title = "Time that each topic was unavailable (partition-seconds)"
    if len(every) > _TOPICS:
        title = f"{title}: the worst {_TOPICS} of {len(every):,} topics"
    marks, keys = [], []
    for nth, (condition, (text, colour)) in enumerate(_CONDITIONS.items()):
        seconds = {e["topic"]: e["total_seconds"] for e in found if e["condition"] == condition}
        if seconds:
            most = max(seconds, key=lambda topic: seconds[topic])
            keys.append(Key(text, colour, f"at most {seconds[most]:,.1f}, {most}"))
            spans = [
                Span(lane, 0, seconds[topic], f"{text}: {seconds[topic]:,.1f}")
                for lane, topic in enumerate(topics)
                if topic in seconds
            ]
            marks.append(Spans(spans, colour, height=4, lower=4 * (nth - 2)))
    most_seconds = max(each["total_seconds"] for each in found)
    return Chart(title, Axis(most_seconds), marks, keys, lanes=topics)


#: Number of rows of an answer in the report; the command shows all.
MOST_ROWS = 20
_NUMBERS = frozenset({"bigint", "double"})


class Answer(NamedTuple):
    """How the answer to a question is told."""

    #: All rows, of which there is at least one, in a line.
    says: Callable[[Sequence[Mapping[str, Any]]], str]
    #: Draws the rows; None: not worth a picture.
    draw: Callable[[Sequence[Mapping[str, Any]]], Chart | None] = lambda _: None
    #: Explains the picture.
    explains: str = ""


def _available(rows: Sequence[Mapping[str, Any]]) -> str:
    (row,) = rows
    text = f"a leader for {row['online_percent']:.4g} % of partition-seconds"
    if row["writable_percent"] is not None:
        text = f"writable for {row['writable_percent']:.4g} %, {text}"
    lost = row["records_acknowledged_lost"]
    return text if lost is None else f"{text}; {counted(lost, 'acknowledged record')} lost"


def _lost(rows: Sequence[Mapping[str, Any]]) -> str:
    worst = rows[0]
    return f"{counted(worst['records'], 'record')} of acks={worst['acks']}, first of all"


def _unavailable(rows: Sequence[Mapping[str, Any]]) -> str:
    worst = rows[0]
    return (
        f"{worst['topic']} was {plain_words(worst['condition'])}, one partition for up to "
        f"{duration_text(worst['longest_us'])}"
    )


def _longest_failover(rows: Sequence[Mapping[str, Any]]) -> str:
    longest = max(rows, key=_whole_us)
    parts = {name: longest[name] or 0 for name in _STEPS}
    used_us = parts.pop("first_use_us")
    step = max(parts, key=lambda name: parts[name])
    used = f"; it was first used {duration_text(used_us)} later" if used_us else ""
    return (
        f"the longest took {duration_text(sum(parts.values()))}, of which "
        f"{duration_text(parts[step])} {_STEPS[step]}{used}"
    )


def _flapping(rows: Sequence[Mapping[str, Any]]) -> str:
    worst = rows[0]
    why = f": {worst['likely_cause']}" if worst["likely_cause"] else ""
    return f"those of broker {worst['broker']} left {counted(worst['times_left'], 'time')}{why}"


def _batched(rows: Sequence[Mapping[str, Any]]) -> str:
    most = max(rows, key=lambda row: row["changes"] or 0)
    changes = counted(most["changes"] or 0, "change")
    return f"{changes} in {counted(most['notifications'] or 0, 'notification')} at most"


def _lagged(rows: Sequence[Mapping[str, Any]]) -> str:
    most = rows[0]
    at = short_time_text(most["begin_us"])
    return f"by at most {counted(most['largest'], 'record')}, {most['largest_of']}, from {at} on"


ANSWERS = {
    "availability": Answer(_available),
    "lost-records": Answer(_lost),
    "unavailability": Answer(_unavailable, unavailable_topics, _OF_TOPICS),
    "failover-budget": Answer(_longest_failover, failover_bars, _OF_FAILOVERS),
    "restart-headroom": Answer(lambda rows: f"{rows[0]['fault_name']}: {rows[0]['verdict']}"),
    "isr-flapping": Answer(_flapping),
    "notification-batching": Answer(_batched),
    "hw-lag": Answer(_lagged),
}


def answers(run: OneRun, names: Sequence[str]) -> Iterator[Folded]:
    """The answer to each of these questions that the run can answer, and has anything of."""
    for name in names:
        if name in _OF_ZOOKEEPER and run.scenario["mode"] != ZOOKEEPER_MODE:
            continue
        question = QUESTIONS[name]
        with suppress(QuestionError):
            rows = question.of(run.tables)
            command = run.command("analyze", "RUN", "--question", name)
            yield Folded(question.asks, *_told(question, rows, command))


#: Questions about what ZooKeeper alone has.
_OF_ZOOKEEPER = frozenset({"notification-batching"})


def _told(
    question: Question, rows: Sequence[Mapping[str, Any]], command: str
) -> tuple[str, list[Piece]]:
    """The line, and what is behind it."""
    if not rows:
        return "None: the run has recorded nothing of this.", [Commands([command])]
    answer = ANSWERS[question.name]
    columns = worth_showing(question.columns, rows)
    pieces: list[Piece] = []
    chart = answer.draw(rows)
    if chart is not None:
        pieces += [Words(answer.explains, "note"), chart]
    pieces.append(grid(question.asks, columns, rows[:MOST_ROWS]))
    if len(rows) > MOST_ROWS:
        of_all = f"The first {MOST_ROWS} of {counted(len(rows), 'row')}"
        pieces.append(Words(f"{of_all}: {question.order}.", "note"))
    return f"{answer.says(rows).rstrip('.')}.", [*pieces, glossary(columns), Commands([command])]


def grid(label: str, columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> Grid:
    """Rows of a table with documented columns, as texts."""
    return Grid(
        label,
        [Heading(column_title(c), c.meaning, is_number=c.type in _NUMBERS) for c in columns],
        [[value_text(row[c.name], c.unit, c.name) for c in columns] for row in rows],
    )


def glossary(columns: Sequence[Column]) -> Glossary:
    """The meanings of the columns of :func:`grid`."""
    return Glossary([(column_title(each), each.meaning) for each in columns])
