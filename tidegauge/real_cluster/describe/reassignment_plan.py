"""The JSON of ``kafka-reassign-partitions``, as a step of a scenario.

It is the file that ``--execute`` takes, or all that ``--generate`` prints: the current assignment
and the proposed one, each below a heading. The proposed one is the plan.
Source: ReassignPartitionsCommand.generateAssignment and executeAssignment@3.9.0.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from tidegauge.real_cluster.describe import input_file
from tidegauge.scenario.model.references import no_such
from tidegauge.scenario.model.topic_steps import Move, ReassignStep

#: The field that the tool reads and the simulator does not: the log directory of a replica.
_LOG_DIRECTORIES = "log_dirs"


class ReassignmentPlan(NamedTuple):
    """The partitions to move, each as {topic, partition, replicas}."""

    moves: list[dict[str, Any]]
    notices: input_file.Notices


def read_reassignment_plan(
    file: Path, partition_counts: Mapping[str, int], brokers: Collection[int]
) -> ReassignmentPlan:
    """The moves in a file, all of known partitions and to known brokers.

    Raises:
        InputError: it is not such JSON, or names an unknown object; with the place in the JSON.
    """
    data = _json(file)
    notices = input_file.Notices()
    if _without_log_directories(data):
        notices.add(
            "steps",
            f"{file.name}: log_dirs are ignored: a broker chooses the directory of a new replica",
        )
    if "partitions" not in data:
        raise input_file.input_error(file, None, "partitions: is missing")
    try:
        step = ReassignStep.model_validate({**data, "do": "reassign", "at": "0s"})
    except ValidationError as error:
        raise input_file.form_error(file, None, error, data) from error
    except UnicodeEncodeError as error:
        raise input_file.input_error(
            file, None, "has a name with half of a surrogate pair in it"
        ) from error
    moves = []
    for place, move in enumerate(step.partitions):
        for message in _unknown_names(move, partition_counts, brokers):
            raise input_file.input_error(file, None, f"partitions[{place}].{message}")
        replicas = list(move.replicas)
        moves.append({"topic": move.topic, "partition": move.partition, "replicas": replicas})
    return ReassignmentPlan(moves, notices)


_CURRENT = "Current partition replica assignment"
_PROPOSED = "Proposed partition reassignment configuration"


def _json(file: Path) -> dict[str, Any]:
    text = input_file.read_text(file)
    if _PROPOSED in text:
        text = text.partition(_PROPOSED)[2]
    elif _CURRENT in text:
        message = "has only the current assignment: give the JSON that --execute took"
        raise input_file.input_error(file, None, message)
    try:
        data = json.loads(text)
    except (RecursionError, ValueError) as error:
        raise input_file.json_error(file, None, error) from error
    if not isinstance(data, dict):
        message = 'must be a JSON object such as {"version": 1, "partitions": [...]}'
        raise input_file.input_error(file, None, message)
    return data


def _without_log_directories(data: dict[str, Any]) -> bool:
    """Remove the log directories of replicas, and return whether any was given."""
    moves = data.get("partitions")
    found = False
    for move in moves if isinstance(moves, list) else ():
        directories = move.pop(_LOG_DIRECTORIES, None) if isinstance(move, dict) else None
        found |= isinstance(directories, list) and set(map(str, directories)) > {"any"}
    return found


def _unknown_names(
    move: Move, partition_counts: Mapping[str, int], brokers: Collection[int]
) -> Iterator[str]:
    count = partition_counts.get(move.topic)
    if count is None:
        yield f"topic: {no_such('topic', move.topic, partition_counts)}"
    elif move.partition >= count:
        yield f"partition: the last partition of {move.topic} is {count - 1}"
    for broker in move.replicas:
        if broker not in brokers:
            yield (
                f"replicas: broker {broker} is not in the dump; if it is new, give its "
                "server.properties with --properties"
            )
