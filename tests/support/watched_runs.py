"""The metrics of one simulated run as files, in every spelling at once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tidegauge.engine.simulate import Scrapes, simulate
from tidegauge.metrics.endpoint.openmetrics_file import Format, OpenMetricsFile, written_page
from tidegauge.metrics.samples.exposition import Exposition, Presentation
from tidegauge.metrics.samples.successive_snapshots import SnapshotContext, SuccessiveSnapshots
from tidegauge.metrics.samples.targets import EXPORTER
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.metrics.spellings.spelling import Spelling
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from watched_cluster import cluster

#: The real time at which the runs begin: a round moment.
BEGINS_S = 1_795_000_000.0
DURATION = "40s"
_PERIOD_US = 5_000_000
#: The virtual times of two scrapes by hand, in seconds.
SCRAPES_S = {"first": 10, "second": 35}


class _Pages:
    """The pages of all brokers and of the exporter at two times, a folder for each time."""

    def __init__(self, scenario: Scenario, folder: Path, spelling: Spelling) -> None:
        self._plan = ClusterPlan(scenario)
        self._folder = folder
        self._exposition = Exposition(self._plan, Presentation(spelling=spelling))
        self._history = SuccessiveSnapshots(self._exposition.layout)

    def take(self, snapshot: Snapshot) -> None:
        context = self._history.context(snapshot)
        for name, time_s in SCRAPES_S.items():
            if snapshot.time_us == time_s * 1_000_000:
                self._write(self._folder / name, snapshot, context)

    def _write(self, folder: Path, snapshot: Snapshot, context: SnapshotContext) -> None:
        folder.mkdir(parents=True)
        names = {place: f"broker-{broker}" for place, broker in enumerate(self._plan.brokers)}
        for target, name in {**names, EXPORTER: "exporter"}.items():
            series = self._exposition.series(snapshot, context, target)
            (folder / f"{name}.prom").write_bytes(written_page(series, Format.TEXT))


def record_metrics(folder: Path, spellings: Iterable[Spelling]) -> None:
    """Run the cluster, and write ``NAME.om`` and the pages in ``NAME/`` for each spelling."""
    takers = []
    files = []
    for spelling in spellings:
        name = Path(spelling.name).stem
        # The cluster's name is a label: of one Prometheus each spelling is another cluster.
        scenario = scenario_from_mapping(cluster(name, duration=DURATION), "watched.yaml")
        path = folder / f"{name}.om"
        file = OpenMetricsFile(
            ClusterPlan(scenario), path, Presentation(spelling=spelling), BEGINS_S
        )
        files.append(file)
        takers += [file.take, _Pages(scenario, folder / name, spelling).take]

    def take(snapshot: Snapshot) -> None:
        for taker in takers:
            taker(snapshot)

    scenario = scenario_from_mapping(cluster(duration=DURATION), "watched.yaml")
    simulate(scenario, folder / "run", scrapes=Scrapes(_PERIOD_US, take))
    for file in files:
        file.write()
