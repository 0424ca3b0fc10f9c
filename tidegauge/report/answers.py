"""The answers to all questions: a table each, and a picture where the answer is seen better in one.

:data:`PICTURES` has them: the parts of each failover, and the conditions of topics over time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.analysis.questions.all_questions import QUESTIONS
from tidegauge.analysis.questions.question import Question, QuestionError, worth_showing
from tidegauge.analysis.tables.result_table import Column
from tidegauge.report import charts, section
from tidegauge.report.one_run import OneRun
from tidegauge.report.quantities import column_title, duration_text, value_text
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


def failover_bars(found: Sequence[Mapping[str, Any]]) -> section.Chart:
    """Stacked bars, the longest failover on top."""
    title = "From the fault to the first use of the new leader"
    if len(found) > _MOST:
        title = f"{title}: the longest {_MOST} of {len(found):,} failovers"
    found = sorted(found, key=_whole_us, reverse=True)[:_MOST]
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": text,
            "y": [place + charts.LANE_LOWER for place in range(len(found))],
            "x": [round((each[step] or 0) / 1e6, 6) for each in found],
            "text": [duration_text(each[step] or 0) for each in found],
            "textposition": "none",
            "hovertemplate": f"{text}: %{{text}}<extra></extra>",
            "marker": {"color": colour},
            "width": charts.LANE_BAR,
        }
        for (step, text), colour in zip(_STEPS.items(), charts.COLOURS, strict=False)
    ]
    whole = charts.layout(
        charts.LANE * len(found) + 60,
        xaxis=charts.axis("seconds", rangemode="tozero"),
        margin={"l": 14, "r": 14, "t": 8, "b": 52},
        **charts.lanes([_name(each) for each in found]) | {"barmode": "stack"},
    )
    keys = [
        section.Key(text, colour)
        for text, colour in zip(_STEPS.values(), charts.COLOURS, strict=False)
    ]
    return section.Chart(title, data, whole, keys)


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
#: The width of a bar, in parts of a lane.
_BAR = 0.11

#: Explanation of the chart.
_OF_TOPICS = (
    "Partition-seconds: one partition for one second. Stalled: a batch of a producer, or a fetch "
    "of a consumer, has waited for over a second. Offline: the control plane names no leader, "
    "or one whose session is over. Not accepting: no broker actually leads. "
    "Under min ISR: acks=all is refused. At min ISR: it would be refused with one "
    "replica less."
)


def unavailable_topics(found: Sequence[Mapping[str, Any]]) -> section.Chart | None:
    """Bars for each topic, side by side; None if nothing was stalled or refused."""
    found = [each for each in found if each["condition"] in _CONDITIONS]
    every = list(dict.fromkeys(each["topic"] for each in found))
    if not every:
        return None
    topics = every[:_TOPICS]
    title = "Partition-seconds that each topic was unavailable"
    if len(every) > _TOPICS:
        title = f"{title}: the worst {_TOPICS} of {len(every):,} topics"
    data, keys = [], []
    for nth, (condition, (text, colour)) in enumerate(_CONDITIONS.items()):
        seconds = {e["topic"]: e["total_seconds"] for e in found if e["condition"] == condition}
        if seconds:
            most = max(seconds, key=lambda topic: seconds[topic])
            keys.append(section.Key(text, colour, f"at most {seconds[most]:,.1f}, {most}"))
            data.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": text,
                    "y": [
                        place + charts.LANE_LOWER + (nth - 2) * _BAR for place in range(len(topics))
                    ],
                    "x": [round(seconds.get(topic, 0), 3) for topic in topics],
                    "text": [section.plain(topic) for topic in topics],
                    "textposition": "none",
                    "hovertemplate": f"%{{text}}: {text} for %{{x:,.1f}} partition-seconds"
                    "<extra></extra>",
                    "marker": {"color": colour},
                    "width": _BAR,
                }
            )
    whole = charts.layout(
        charts.LANE * len(topics) + 60,
        xaxis=charts.axis("partition-seconds", rangemode="tozero"),
        margin={"l": 14, "r": 14, "t": 8, "b": 52},
        **charts.lanes(topics),
    )
    return section.Chart(title, data, whole, keys)


#: Number of rows of an answer in the report; the command shows all.
MOST_ROWS = 20
_IN_GENERAL = "The meanings of the columns are folded up below the table. Times are virtual time."
#: Questions about several runs, without an answer for a single one.
_OF_SEVERAL = frozenset({"sweep", "first-divergence"})
_NUMBERS = frozenset({"bigint", "double"})


class Picture(NamedTuple):
    """The picture of an answer."""

    #: Explanation of the chart.
    says: str
    #: Draws all rows of the answer, of which there is at least one; None: not worth a picture.
    draw: Callable[[Sequence[Mapping[str, Any]]], section.Chart | None]


PICTURES = {
    "failover-budget": Picture(_OF_FAILOVERS, failover_bars),
    "unavailability": Picture(_OF_TOPICS, unavailable_topics),
}


def answers(run: OneRun) -> Iterator[section.Section]:
    """A section for each question about a single run that this one can answer."""
    for name, question in QUESTIONS.items():
        if name in _OF_SEVERAL:
            continue
        try:
            rows = question.of(run.tables)
        except QuestionError:
            continue
        yield _section(question, rows, run.command("analyze", "RUN", "--question", name))


def _section(
    question: Question, rows: Sequence[Mapping[str, Any]], command: str
) -> section.Section:
    picture = PICTURES.get(question.name)
    says = _IN_GENERAL if picture is None else picture.says
    pieces: list[section.Piece] = []
    if not rows:
        pieces.append(section.Words("No rows: the run has recorded none of this."))
    else:
        columns = worth_showing(question.columns, rows)
        chart = None if picture is None else picture.draw(rows)
        if chart is not None:
            pieces.append(chart)
        pieces.append(grid(question.asks, columns, rows[:MOST_ROWS]))
        if len(rows) > MOST_ROWS:
            of_all = f"The first {MOST_ROWS} of {counted(len(rows), 'row')}"
            pieces.append(section.Words(f"{of_all}: {question.order}.", "note"))
        pieces.append(glossary(columns))
    return section.Section(question.name, question.asks, says, pieces, [command])


def grid(label: str, columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> section.Grid:
    """Rows of a table with documented columns, as texts."""
    return section.Grid(
        label,
        [
            section.Heading(column_title(c), c.meaning, is_number=c.type in _NUMBERS)
            for c in columns
        ],
        [[value_text(row[c.name], c.unit, c.name) for c in columns] for row in rows],
    )


def glossary(columns: Sequence[Column]) -> section.Glossary:
    """The meanings of the columns of :func:`grid`."""
    return section.Glossary([(column_title(each), each.meaning) for each in columns])
