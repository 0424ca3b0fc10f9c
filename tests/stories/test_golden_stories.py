"""Golden stories: a small scenario and what `tidegauge show` tells of its run.

A file ``*.story`` has a comment that says what to look for, the scenario as changes to that of
``small_clusters.cluster_of``, a line ``---``, and the story of each subject that ``tell`` names (by
default the partition). A run of today's simulator must tell the same, word for word.

    TIDEGAUGE_REWRITE_STORIES=1 .venv/bin/python -m pytest tests/stories

writes the stories as they are told now: read the difference before it is committed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from small_clusters import cluster_of
from tidegauge.engine.simulate import simulate
from tidegauge.runs import stories
from tidegauge.runs.brokers import broker_events, broker_index
from tidegauge.runs.clients import client_events, clients_called
from tidegauge.runs.run import Run

STORIES = sorted(Path(__file__).parent.glob("*.story"))
SEPARATOR = "---\n"
REWRITES = bool(os.environ.get("TIDEGAUGE_REWRITE_STORIES"))


@pytest.mark.parametrize("file", STORIES, ids=lambda file: file.stem)
def test_a_run_tells_its_golden_story(file: Path, tmp_path: Path) -> None:
    scenario, _, expected = file.read_text().partition(SEPARATOR)
    parts = yaml.safe_load(scenario)
    subjects = parts.pop("tell", ["partition story-0"])
    run = Run(simulate(cluster_of(**{"trace": "transitions"} | parts), tmp_path / "run").path)
    told = "".join(f"{line}\n" for subject in subjects for line in story(run, subject))
    if REWRITES:
        file.write_text(f"{scenario}{SEPARATOR}{told}")
    assert told == (told if REWRITES else expected)


def story(run: Run, subject: str) -> Iterator[str]:
    """The lines of the story of ``partition story-0``, ``broker 1``, ``client shop``, ..."""
    kind, _, name = subject.partition(" ")
    yield f"{subject}:"
    if kind == "partition":
        lines = stories.partition_story(run, run.names.partitions[name])
    elif kind == "controller":
        lines = stories.controller_story(run)
    elif kind == "broker":
        events = broker_events(run, broker_index(name, run.names))
        lines = stories.story(events, run, stories.ALWAYS)
    else:
        events = client_events(run, clients_called(name, run.names))
        lines = stories.story(events, run, stories.ALWAYS)
    yield from map(str, lines)
