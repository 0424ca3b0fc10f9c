"""The scenario of a question: a cluster in health with its workload, and the question's fault."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tidegauge.real_cluster.describe.release_change import AFTER_S, fault_begins_s, in_health
from tidegauge.scenario.model.cluster import Topic
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.named_figures import moving_steps
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import format_duration
from tidegauge.what_if.question import Asked, QuestionError

#: Fields about the faults and steps of the file, which are left out with them.
_ABOUT_ITS_FAULTS = ("fault_rates", "checks", "alerts", "measure_from", "description")

#: Topics of Kafka itself begin like this.
_INTERNAL = "__"
#: The added producers: their number, and the rate of all of them for each partition of the topics.
_CLIENTS = 4
_LEAST_BATCHES, _MOST_BATCHES = 10, 1_000
_RECORDS, _RECORD_BYTES = 10, 200

#: The figures of an answer and their words, the most important ones first: records that clients
#: lost, time without an outcome, and the states of partitions that are the reason.
FIGURES: Mapping[str, str] = {
    "records_acknowledged_lost": "acknowledged records lost",
    "records_failed": "records that producers gave up",
    "records_unsent": "records that never left applications",
    "longest_stall_seconds": "longest stall of writes",
    "longest_reads_stall_seconds": "longest stall of reads",
    "partition_seconds_not_accepting": "no leader takes writes, partition-seconds",
    "partition_seconds_offline": "offline, partition-seconds",
    "partition_seconds_under_min_isr": "under min ISR, partition-seconds",
}

#: The name of the scenario without any fault.
WITHOUT_FAULT = "without-fault"


class AskedScenario(NamedTuple):
    """The scenario, and its differences from the file beside the fault."""

    #: As in a file.
    data: Mapping[str, Any]
    #: Parts of the file that are left out, and parts that are added, in words.
    notes: tuple[str, ...]

    def without_fault(self) -> dict[str, Any]:
        """The same without the fault: its figures are not due to it."""
        return {**self.data, "name": WITHOUT_FAULT, "faults": [], "steps": []}


def asked_scenario(data: Mapping[str, Any], cluster: Scenario, asked: Asked) -> AskedScenario:
    """The scenario in which a question is tried.

    Args:
        data: the file as written.
        cluster: the same, as read.
        asked: the question.

    Raises:
        QuestionError: the cluster does not have the hit parts, or no topics.
    """
    question = asked.question
    begin_s = fault_begins_s(cluster)
    try:
        case = question.case(cluster, asked.given, begin_s * 1_000_000)
    except ValueError as error:
        raise question.error(str(error)) from error
    healthy = in_health(data, cluster.broker_ids())
    plain = {name: part for name, part in healthy.items() if name not in _ABOUT_ITS_FAULTS}
    made = plain | {
        "name": f"{cluster.name}-{question.slug}",
        "duration": format_duration((begin_s + AFTER_S) * 1_000_000 + case.lasts_us),
        # The answer ends with the run.
        "liveness": False,
        "workload": _workload(data, cluster),
        "faults": list(case.faults),
        "steps": list(case.steps),
    }
    return AskedScenario(made, tuple(_notes(cluster, made["workload"])))


def duration_figure(scenario: Scenario) -> str | None:
    """The figure of an operation's duration; None: the question says how long its fault is on."""
    if moved := moving_steps(scenario):
        return f"reassignments.{next(iter(moved.values()))}.seconds"
    planned = (fault.name for fault in scenario.faults if fault.is_planned)
    return next((f"{name}.seconds" for name in planned), None)


def figures_of(scenario: Scenario) -> dict[str, str]:
    """All figures of the answer, with their words."""
    duration = duration_figure(scenario)
    return {**FIGURES} if duration is None else {**FIGURES, duration: "duration of the operation"}


def _workload(data: Mapping[str, Any], cluster: Scenario) -> dict[str, Any]:
    """The workload of the file, without ends before the fault; with producers if it has none."""
    own = data.get("workload") or {}
    producers = [
        {name: part for name, part in group.items() if name != "stop"}
        for group in own.get("producers") or ()
    ]
    return {**own, "producers": producers or [_ordinary_producers(cluster)]}


def _ordinary_producers(cluster: Scenario) -> dict[str, Any]:
    """Producers for all topics that accept acks=all in health."""
    topics = [topic for topic in cluster.topics if not topic.name.startswith(_INTERNAL)]
    topics = [topic for topic in topics if _accepts_acks_all(cluster, topic)] or topics
    if not topics:
        raise QuestionError(f"{cluster.name}: has no topics, so no client could see a fault")
    partitions = sum(topic.partition_count for topic in topics)
    return {
        "name": "ordinary",
        "clients": _CLIENTS,
        "topics": [topic.name for topic in topics],
        "batches_per_second": min(max(partitions, _LEAST_BATCHES), _MOST_BATCHES),
        "records_per_batch": _RECORDS,
        "record_bytes": _RECORD_BYTES,
        "settings": {"acks": "all"},
    }


def _accepts_acks_all(cluster: Scenario, topic: Topic) -> bool:
    settings = topic.effective(cluster.settings_of(cluster.broker_ids()[0]))
    return bool(settings["min.insync.replicas"] <= cluster.assignments(topic).counts.min())


def _notes(cluster: Scenario, workload: Mapping[str, Any]) -> list[str]:
    notes = []
    own = [*cluster.faults, *cluster.steps]
    if own:
        notes.append(f"The file's own faults and steps are left out ({len(own)}).")
    if not cluster.workload.producers:
        (added,) = workload["producers"]
        notes.append(
            f"The file has no producers; added: {added['batches_per_second']} batches a second of "
            f"{_RECORDS} records with acks=all, to {counted(len(added['topics']), 'topic')}."
        )
    return notes
