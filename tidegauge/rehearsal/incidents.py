"""Alert rules, tested on incidents: each is run in virtual time, scraped, and judged by promtool.

The scrapes are equal to those of a live run's endpoint, broker by broker, with the labels of its
discovery; a broker that is down does not respond. An incident is a scenario with a section
``alerts``; the shipped ones are in ``scenarios/incidents``.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tidegauge.engine.contract import HERE
from tidegauge.engine.pool import in_order, run_on_pool
from tidegauge.engine.simulate import Scrapes, simulate
from tidegauge.metrics.samples.exposition import Presentation, Scraper
from tidegauge.metrics.spellings.all_spellings import STRIMZI
from tidegauge.metrics.spellings.spelling import Spelling
from tidegauge.rehearsal.alerts import Alerts, RuleFile, alerts_without_metrics
from tidegauge.rehearsal.metric_names import Misspelt, exported_metrics
from tidegauge.rehearsal.promtool import Intervals, Promtool, PromtoolError, Recording, evaluate
from tidegauge.rehearsal.verdicts import IncidentPlan, Judged, judge
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.scenario import AlertExpectations
from tidegauge.scenario.reading import Scenario, ScenarioError, load_scenario
from tidegauge.scenario.shipped import INCIDENTS, find_scenario
from tidegauge.scenario.text.errors import did_you_mean, one_line


class Asked(NamedTuple):
    """An expectation of an alert, beside those of the incidents."""

    alert: str
    fires: bool
    #: The name of its scenario; None: each incident that is tried.
    incident: str | None
    #: As it was written.
    text: str


class Rehearsal(NamedTuple):
    """The rules, tools and intervals for all incidents."""

    files: Sequence[RuleFile]
    alerts: Alerts
    promtool: Promtool
    intervals: Intervals
    #: The folder for the series and promtool's tests, one in it for each incident; None: they are
    #: not kept.
    keep: Path | None
    #: The names of Kafka's metrics.
    spelling: Spelling = STRIMZI
    #: Expectations beside those of the incidents.
    asked: Sequence[Asked] = ()
    #: Metrics in rules that are nearly the name of another.
    misspelt: Sequence[Misspelt] = ()


class Rehearsed(NamedTuple):
    """The result of an incident."""

    #: As the command line names it.
    name: str
    #: None if it failed.
    incident: IncidentPlan | None
    judged: Sequence[Judged] = ()
    #: Alerts in its expectations that are in none of the files.
    unknown: Sequence[str] = ()
    #: The reason why it failed, in one line.
    error: str | None = None
    seconds: float = 0.0

    @property
    def is_judged(self) -> bool:
        """Whether an expectation was met or failed; or the incident itself has failed."""
        return self.error is not None or any(each.verdict.is_judged for each in self.judged)

    @property
    def is_as_expected(self) -> bool:
        """Whether it was tried, and every alert met the expectations."""
        return self.error is None and not any(each.verdict.is_failure for each in self.judged)


def load_incident(name: str) -> Scenario:
    """An incident: a shipped one, by its name, or the scenario in a file.

    Raises:
        ScenarioError: there is no such file or shipped incident, or it cannot be run.
    """
    # Alerts after the run do not count.
    return load_scenario(_file_of(name), {"liveness": False})


def _file_of(name: str) -> Path:
    names = incident_names()
    if name in names:
        return INCIDENTS / f"{name}.yaml"
    file = Path(name)
    if file.suffix in {".yaml", ".yml"} or file.exists() or "/" in name:
        return find_scenario(name)
    raise ScenarioError(
        f"{name}: no such file, and no shipped incident of that name; {did_you_mean(name, names)}"
    )


def incident_names() -> list[str]:
    """The names of the shipped incidents."""
    return sorted(file.stem for file in INCIDENTS.glob("*.yaml"))


def asked_of(rehearsal: Rehearsal, incident: str) -> dict[str, bool]:
    """Whether alerts are asked to fire in an incident; an expectation of it alone comes first."""
    concerns = [each for each in rehearsal.asked if each.incident in (None, incident)]
    concerns.sort(key=lambda each: each.incident is not None)
    return {each.alert: each.fires for each in concerns}


def dead_alerts(rehearsal: Rehearsal, ended: Sequence[Rehearsed]) -> list[str]:
    """The alerts that fired in no incident but can; none unless all shipped incidents ended."""
    if not set(incident_names()) <= {one.name for one in ended if one.error is None}:
        return []
    fired = {each.alert for one in ended for each in one.judged if each.firing}
    return [
        alert.name
        for alert in rehearsal.alerts.alerts
        if alert.is_simulated and alert.name not in fired
    ]


def rehearse(
    rehearsal: Rehearsal, names: Sequence[str], jobs: int, warn: Callable[[str], None]
) -> Iterator[Rehearsed]:
    """Try incidents; yield the result of each, in their order.

    Args:
        rehearsal: the rules, tools and intervals.
        names: names of incidents, or paths of scenarios.
        jobs: the number of parallel processes, one for each incident.
        warn: is told in a line why there are none, where Ray does not start.
    """
    if jobs == 1:
        yield from (rehearse_one(rehearsal, name) for name in names)
        return
    # Files are removed however the process ends.
    with TemporaryDirectory(prefix="tidegauge-alerts-") as folder:
        yield from _rehearse_on_pool(rehearsal, names, jobs, Path(folder), warn)


def _rehearse_on_pool(
    rehearsal: Rehearsal,
    names: Sequence[str],
    jobs: int,
    folder: Path,
    warn: Callable[[str], None],
) -> Iterator[Rehearsed]:
    # Other processes may have other working directories.
    keep = None if rehearsal.keep is None else rehearsal.keep.absolute()
    attempts = [
        _Attempt(rehearsal._replace(keep=keep), _file_of(name).absolute(), folder) for name in names
    ]
    left = set(names)
    try:
        with closing(run_on_pool(_try_incident, attempts, jobs, HERE, warn)) as calls:
            for ended in in_order(calls):
                name = names[ended.number]
                left.discard(name)
                result = ended.result or Rehearsed(name, None, error=ended.error)
                yield result._replace(name=name)
    finally:
        for name in left:
            _remove(_kept_folder(rehearsal, load_incident(name)))


class _Attempt(NamedTuple):
    """What an actor needs for an incident."""

    rehearsal: Rehearsal
    file: Path
    folder: Path


def _try_incident(attempt: _Attempt) -> Rehearsed:
    return rehearse_one(attempt.rehearsal, str(attempt.file), attempt.folder)


def rehearse_one(rehearsal: Rehearsal, name: str, folder: Path | None = None) -> Rehearsed:
    """Run an incident, and judge its alerts.

    Args:
        rehearsal: the rules, tools and intervals.
        name: of an incident, or the path of a scenario.
        folder: for the files of the run; None: the system's folder for such files.
    """
    started = time.perf_counter()
    try:
        ended = _rehearse(rehearsal, name, folder)
    except (ScenarioError, PromtoolError, OSError) as error:
        return Rehearsed(name, None, error=one_line(str(error)))
    return ended._replace(seconds=time.perf_counter() - started)


def _rehearse(rehearsal: Rehearsal, name: str, within: Path | None) -> Rehearsed:
    scenario = load_incident(name)
    kept = _kept_folder(rehearsal, scenario)
    incident = _plan_of(scenario, rehearsal)
    with TemporaryDirectory(prefix="tidegauge-alerts-", dir=within) as made, _whole_or_not(kept):
        folder = Path(made)
        recording = _recording_of(scenario, rehearsal, folder / "run")
        courses = evaluate(
            rehearsal.promtool,
            rehearsal.files,
            recording.series(),
            scenario.duration_us,
            rehearsal.intervals,
            kept or folder / "rules",
        )
    alerts = rehearsal.alerts.alerts
    known = {alert.name for alert in alerts}
    unknown = [named for named in incident.expected.named() if named not in known]
    return Rehearsed(name, incident, judge(incident, alerts, courses), unknown)


def _plan_of(scenario: Scenario, rehearsal: Rehearsal) -> IncidentPlan:
    exported = exported_metrics(rehearsal.spelling, scenario.mode, scenario.release)
    without_expectations = scenario.model_copy(update={"alerts": None})
    return IncidentPlan(
        scenario.name,
        scenario.duration_us,
        scenario.trouble_begins_us(),
        scenario.trouble_ends_us(),
        scenario.alerts or AlertExpectations(),
        asked_of(rehearsal, scenario.name),
        alerts_without_metrics(rehearsal.files, exported),
        scenario.mode,
        without_expectations.trouble_begins_us(),
        without_expectations.trouble_ends_us(),
    )


@contextmanager
def _whole_or_not(kept: Path | None) -> Iterator[None]:
    """Remove the kept files of an incident if it ends early."""
    try:
        yield
    except KeyboardInterrupt:
        _remove(kept)
        raise


def _kept_folder(rehearsal: Rehearsal, scenario: Scenario) -> Path | None:
    return None if rehearsal.keep is None else rehearsal.keep / scenario.name


def _remove(kept: Path | None) -> None:
    if kept is not None:
        shutil.rmtree(kept, ignore_errors=True)


def _recording_of(scenario: Scenario, rehearsal: Rehearsal, folder: Path) -> Recording:
    """The series of a run of this scenario, as Prometheus would scrape them for the rules."""
    presentation = Presentation(spelling=rehearsal.spelling)
    scraper = Scraper(ClusterPlan(scenario), presentation, rehearsal.alerts.metrics)
    recording = Recording()
    simulate(
        scenario,
        folder,
        scrapes=Scrapes(
            rehearsal.intervals.scrape_us, lambda snapshot: recording.take(scraper.scrape(snapshot))
        ),
    )
    return recording
