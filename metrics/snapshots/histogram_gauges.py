"""The quantiles of histograms of times (``simulation/histograms.py``)."""

from __future__ import annotations

from tidegauge.compiled.records import Record, Records, i64
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.histograms import Bucket, quantile_ms, total_weight

# In thousandths.
_P50 = code(500)
_P75 = code(750)
_P95 = code(950)
_P98 = code(980)
_P99 = code(990)
_P999 = code(999)


class HistogramGauges(Record):
    """The quantiles of one histogram: of a type at a broker those of its parts, one after another.

    The unit is whole milliseconds, as in Kafka.
    """

    p50_ms: i64
    p75_ms: i64
    p95_ms: i64
    p98_ms: i64
    p99_ms: i64
    p999_ms: i64


@inner_rule
def read_histogram(times: Records[Bucket], gauge: HistogramGauges) -> None:
    """Enter the quantiles of a histogram."""
    total = total_weight(times)
    gauge.p50_ms = quantile_ms(times, total, _P50)
    gauge.p75_ms = quantile_ms(times, total, _P75)
    gauge.p95_ms = quantile_ms(times, total, _P95)
    gauge.p98_ms = quantile_ms(times, total, _P98)
    gauge.p99_ms = quantile_ms(times, total, _P99)
    gauge.p999_ms = quantile_ms(times, total, _P999)
