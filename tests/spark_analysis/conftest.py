"""Recorded runs for Spark to look at."""

from __future__ import annotations

import pytest

from analysed_runs import crashed_run, written_story
from tidegauge.traces.run_folder import RunFolder


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return written_story(tmp_path_factory.mktemp("runs") / "story")


@pytest.fixture(scope="session")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return crashed_run(tmp_path_factory.mktemp("runs") / "crashed", acks="all")
