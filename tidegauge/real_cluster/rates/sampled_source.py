"""Series that are in memory, and the aggregations over them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from math import fsum, isfinite
from typing import NamedTuple

from tidegauge.real_cluster.describe.input_file import InputError, Notices
from tidegauge.real_cluster.rates import rate_source


class SampledSeries(NamedTuple):
    """A series: its labels, and its samples as pairs of time in seconds and value."""

    labels: Mapping[str, str]
    samples: list[tuple[float, float]]


#: Between its scrapes and those of others a target misses no more than this many intervals.
_MOST_MISSED = 1.5
#: From the first of them to the last.
_TOGETHER: dict[rate_source.Together, Callable[[list[float]], float]] = {
    rate_source.Together.SUM: fsum,
    rate_source.Together.MAX: max,
    rate_source.Together.MEAN: lambda values: fsum(values) / len(values),
}


class SampledSource:
    """A source (``rate_source.py``) of series that files have."""

    def __init__(
        self,
        place: str,
        series: Mapping[str, Iterable[SampledSeries]],
        names: Collection[str],
        window_s: float | None,
        end_s: float | None,
    ) -> None:
        """Use the samples of a window; None: all of them, up to the last.

        Raises:
            InputError: no sample is in the window.
        """
        self.place = place
        self.notices = Notices()
        self._names = names
        of_name = {
            name: [SampledSeries(each.labels, sorted(set(each.samples))) for each in found]
            for name, found in series.items()
        }
        times = [sample[0] for found in of_name.values() for each in found for sample in each[1]]
        if not times:
            raise InputError(f"{place}: has no sample of a known metric of Kafka")
        end = max(times) if end_s is None else end_s
        self.window = rate_source.Window(min(times) if window_s is None else end - window_s, end)
        self._series = {name: _within(found, self.window) for name, found in of_name.items()}
        if not any(self._series.values()):
            raise InputError(
                f"{place}: has no sample in {self.window}; its samples are from "
                f"{rate_source.moment_text(min(times))} to {rate_source.moment_text(max(times))}"
            )

    def names(self, also: Collection[str] = ()) -> Collection[str]:
        """The names of all series that are Kafka's."""
        del also
        return self._names

    def settle(self, selected: rate_source.Selected) -> None:
        """Shorten the window to the part in which these series have samples."""
        times = [sample[0] for each in self._selected(selected) for sample in each.samples]
        if not times:
            raise InputError(f"{self.place}: has no sample of {selected.name} in {self.window}")
        self.window = rate_source.Window(min(times), max(times))

    def read(
        self,
        selected: rate_source.Selected,
        over: rate_source.Over,
        by: Sequence[str],
        together: rate_source.Together,
    ) -> rate_source.Values:
        """An aggregation of the series."""
        found = self._selected(selected)
        spans = _spans(found)
        groups: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for each, span_s in zip(found, spans, strict=True):
            value = _value([value for _, value in each.samples], over, span_s)
            if value is not None and isfinite(value):
                groups[tuple(each.labels.get(label, "") for label in by)].append(value)
        return {labels: _TOGETHER[together](values) for labels, values in groups.items()}

    def _selected(self, selected: rate_source.Selected) -> list[SampledSeries]:
        return [
            each
            for each in self._series.get(selected.name, ())
            if all(each.labels.get(label, "") == value for label, value in selected.labels.items())
            and all(each.labels.get(label) for label in selected.required)
        ]


def _within(series: Iterable[SampledSeries], window: rate_source.Window) -> list[SampledSeries]:
    found = []
    for each in series:
        samples = [
            sample
            for sample in each.samples
            if window.begin_s <= sample[0] <= window.end_s and isfinite(sample[1])
        ]
        if samples:
            found.append(SampledSeries(each.labels, samples))
    return found


def _spans(series: Sequence[SampledSeries]) -> list[float]:
    """The seconds over which each series has grown.

    Targets are scraped at times of their own, so a series begins and ends at its own samples. One
    that has been there for a part of the time only (its broker was down) has not grown in the rest
    of it, which counts.
    """
    if not series:
        return []
    begin = min(each.samples[0][0] for each in series)
    end = max(each.samples[-1][0] for each in series)
    return [_span(each.samples[0][0], each.samples[-1][0], begin, end, each) for each in series]


def _span(first: float, last: float, begin: float, end: float, series: SampledSeries) -> float:
    missed = _MOST_MISSED * (last - first) / max(len(series.samples) - 1, 1)
    since = first if first - begin <= missed else begin
    until = last if end - last <= missed else end
    return until - since


def _value(values: list[float], over: rate_source.Over, span_s: float) -> float | None:
    match over:
        case rate_source.Over.COUNT:
            return float(len(values))
        case rate_source.Over.LAST:
            return values[-1]
        case rate_source.Over.MEAN:
            return fsum(values) / len(values)
    if len(values) == 1 or span_s <= 0:
        return None
    if over is rate_source.Over.GROWTH:
        return max(values[-1] - values[0], 0) / span_s
    steps = pairwise(values)
    return fsum(after - before if after >= before else after for before, after in steps) / span_s
