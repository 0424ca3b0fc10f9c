"""The scenario of a question: a cluster in health with its workload, and the question's fault."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.real_cluster.describe.release_change import (
    AFTER_S,
    fault_begins_s,
    in_health,
    never_accepting,
    without_topics,
)
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.settings import is_internal
from tidegauge.scenario.named_figures import moving_steps
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import format_duration, format_size
from tidegauge.what_if.question import Asked, Case, Given, Plan, QuestionError
from tidegauge.what_if.voter_plans import with_second_failure

#: Fields about the faults and steps of the file, which are left out with them.
_ABOUT_ITS_FAULTS = (
    *("fault_rates", "checks", "sometimes", "alerts"),
    *("measure_from", "description"),
)

#: The added producers: their number, and the rate of all of them for each partition of the topics.
#: There are as many added consumers.
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
    question, begin_us = asked.question, begins_us(cluster)
    assert question.case is not None
    try:
        case = question.case(cluster, asked.given, begin_us)
    except ValueError as error:
        raise question.error(str(error)) from error
    return _scenario_of(data, cluster, asked, case, begin_us + case.lasts_us + AFTER_S * 1_000_000)


class PlanScenarios(NamedTuple):
    """A plan, and the scenarios in which it is tried."""

    plan: Plan
    alone: AskedScenario
    #: With a second failure, whose time and voter each run sets.
    with_second: AskedScenario


def plan_scenarios(data: Mapping[str, Any], cluster: Scenario, asked: Asked) -> list[PlanScenarios]:
    """The scenarios of a question that compares plans, each with its plan.

    Args:
        data: the file as written.
        cluster: the same, as read.
        asked: the question.

    Raises:
        QuestionError: the cluster does not have what the plans need.
    """
    question, begin_us = asked.question, begins_us(cluster)
    assert question.plans is not None
    try:
        plans = question.plans(cluster, asked.given, begin_us)
    except ValueError as error:
        raise question.error(str(error)) from error
    return [
        PlanScenarios(
            plan,
            *(
                _scenario_of(data, cluster, asked, case, begin_us + case.lasts_us)
                for case in (plan.case, with_second_failure(plan.case, begin_us))
            ),
        )
        for plan in plans
    ]


def begins_us(cluster: Scenario) -> int:
    """The time of the first fault of a question, in microseconds."""
    return fault_begins_s(cluster) * 1_000_000


def _scenario_of(
    data: Mapping[str, Any], cluster: Scenario, asked: Asked, case: Case, end_us: int
) -> AskedScenario:
    refusing = never_accepting(cluster, asked.given.topics)
    healthy = without_topics(in_health(data, cluster.broker_ids()), refusing)
    plain = {name: part for name, part in healthy.items() if name not in _ABOUT_ITS_FAULTS}
    made = plain | {
        "name": f"{cluster.name}-{asked.question.slug}",
        "duration": format_duration(end_us),
        # The answer ends with the run.
        "liveness": False,
        "topics": _with_sizes(healthy["topics"], asked.given),
        "workload": _workload(healthy, cluster),
        "faults": list(case.faults),
        "steps": list(case.steps),
        **_controllers(healthy, case),
    }
    notes = [
        *_notes_of_sizes(made["topics"], asked.given),
        *_notes_of_voters(cluster, case),
        *refusing.values(),
    ]
    return AskedScenario(made, (*notes, *_notes(cluster, healthy["workload"], made["workload"])))


def _controllers(healthy: Mapping[str, Any], case: Case) -> dict[str, Any]:
    """The controllers of the file, with the fields of a case; nothing if it has none."""
    if not case.controllers:
        return {}
    own = healthy.get("controllers") or {}
    settings = {**own.get("settings", {}), **case.controllers.get("settings", {})}
    return {"controllers": {**own, **case.controllers, "settings": settings}}


def _notes_of_voters(cluster: Scenario, case: Case) -> Iterator[str]:
    """Static voters that a case takes for some that may change."""
    if case.controllers and not cluster.controllers.voters:
        yield "The file's voters are those of controller.quorum.voters; here they may change."


def _with_sizes(topics: Sequence[Mapping[str, Any]], given: Given) -> list[Mapping[str, Any]]:
    """The topics, the moving ones with the assumed size where they have none."""
    if given.replica_bytes is None:
        return [*topics]
    size = format_size(given.replica_bytes)
    return [{"size": size, **topic} if topic["name"] in given.topics else topic for topic in topics]


def _notes_of_sizes(topics: Sequence[Mapping[str, Any]], given: Given) -> Iterator[str]:
    """The moving topics whose logs have no size: they begin empty, and move at once."""
    unknown = [topic["name"] for topic in topics if "size" not in topic]
    if empty := [name for name in given.topics if name in unknown]:
        yield (
            f"Logs of {', '.join(empty)} are empty, as the file has no sizes: a real move "
            "takes longer. `tidegauge import --log-dirs` reads them; or assume some: with 2GB a "
            "replica."
        )


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
    """The workload of a file, without ends before the fault; with clients of a kind it lacks."""
    own = data.get("workload") or {}
    producers = [
        {name: part for name, part in group.items() if name != "stop"}
        for group in own.get("producers") or ()
    ]
    producers = producers or [_ordinary_producers(data, cluster)]
    written = dict.fromkeys(topic for group in producers for topic in group["topics"])
    readers = {"name": "ordinary-readers", "clients": _CLIENTS, "topics": [*written]}
    return {**own, "producers": producers, "consumers": own.get("consumers") or [readers]}


def _ordinary_producers(data: Mapping[str, Any], cluster: Scenario) -> dict[str, Any]:
    """Producers for all topics that are left."""
    left = {topic["name"] for topic in data["topics"] if not is_internal(topic["name"])}
    topics = [topic for topic in cluster.topics if topic.name in left]
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


def _notes(
    cluster: Scenario, own_workload: Mapping[str, Any], workload: Mapping[str, Any]
) -> list[str]:
    notes = []
    own = [*cluster.faults, *cluster.steps]
    if own:
        notes.append(f"The file's own faults and steps are left out ({len(own)}).")
    if not own_workload.get("producers"):
        (added,) = workload["producers"]
        notes.append(
            f"The file has no producers; added: {added['batches_per_second']} batches a second of "
            f"{_RECORDS} records with acks=all, to {counted(len(added['topics']), 'topic')}."
        )
    if not own_workload.get("consumers"):
        (added,) = workload["consumers"]
        notes.append(
            f"The file has no consumers; added: {_CLIENTS} that read what producers write "
            f"({counted(len(added['topics']), 'topic')})."
        )
    return notes
