"""The lag of high watermarks over time.

Records between a leader's high watermark and the end of its log are not replicated by all of the
ISR: consumers do not see them, and with ``acks=1`` they are lost if the leader dies now. Times are
grouped so that an answer has about a hundred rows for each run.
"""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import RUN, Column

#: At most so many spans of time for a run, all of whole seconds.
SPANS = 120

_SQL = f"""
    with spans as (
        select run, cast(1000000 * ceil(ends_us / {SPANS} / 1e6) as bigint) as span_us from runs
    ),
    samples as (
        select h.*, time_us - time_us % span_us as begin_us, span_us
        from hw_lag as h join spans on spans.run = h.run
    )
    select run, begin_us, begin_us + span_us as end_us, count(*) as samples,
        percentile_disc(0.5) within group (order by lag) as p50,
        percentile_disc(0.95) within group (order by lag) as p95,
        percentile_disc(0.99) within group (order by lag) as p99,
        max(lag) as largest,
        max_by(topic_partition, row(lag, partition, topic_partition)) as largest_of
    from samples group by run, begin_us, span_us
    order by run, largest desc, p99 desc, begin_us, span_us
"""


HW_LAG_OVER_TIME = Question(
    "hw-lag",
    "How far were high watermarks behind the ends of logs, and when?",
    (
        RUN,
        Column("begin_us", "bigint", "us", "samples from here on"),
        Column("end_us", "bigint", "us", "... to just before"),
        Column("samples", "bigint", "", "number of samples of leaders, one for each partition"),
        Column("p50", "bigint", "records", "the median lag of the samples"),
        Column("p95", "bigint", "records", "... 95 of 100"),
        Column("p99", "bigint", "records", "... 99 of 100"),
        Column("largest", "bigint", "records", "... all"),
        Column("largest_of", "string", "", "the partition that lagged most"),
    ),
    lambda _: _SQL,
    "the largest lag first",
)
