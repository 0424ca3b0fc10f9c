"""Values that need several snapshots: speed, how long records have waited, how idle threads are."""

from tidegauge.metrics.samples.health import Health, SnapshotContext, speed_between, window_between
from tidegauge.metrics.samples.idle_ratios import IdleRatios
from tidegauge.metrics.samples.layout import Layout
from tidegauge.metrics.samples.offset_times import OffsetTimes
from tidegauge.metrics.samples.record_times import RecordTimes
from tidegauge.metrics.snapshots.snapshot import Snapshot


class SuccessiveSnapshots:
    """Creates the context of each snapshot, one after the other."""

    def __init__(self, layout: Layout) -> None:
        self._offset_times = OffsetTimes(layout)
        self._record_times = RecordTimes()
        self._idle_ratios = IdleRatios()
        self._before: Health | None = None

    def context(self, snapshot: Snapshot, health: Health | None = None) -> SnapshotContext:
        """The context of a snapshot that is later than those before."""
        self._offset_times.add(snapshot)
        context = SnapshotContext(
            health,
            consumer_lag_ms=self._offset_times.lag_ms(snapshot),
            applied=self._record_times.applied(snapshot),
            idle_ratio=self._idle_ratios.of(snapshot),
        )
        before, self._before = self._before, health
        if before is None or health is None:
            return context
        return context._replace(
            speed=speed_between(before, health), window_us=window_between(before, health)
        )
